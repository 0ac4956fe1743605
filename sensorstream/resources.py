"""Files that come with SensorStream: ontologies, rules, migrations, examples.

They are at the top of the source tree; a built wheel has them inside the package.
"""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """The folder ``name``: ontologies, mapping_rules, examples, alembic or persistent."""
    package = Path(__file__).parent
    inside = package / "bundled" / name
    return inside if inside.exists() else package.parent / name
