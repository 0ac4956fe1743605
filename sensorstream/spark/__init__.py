"""Bulk queries over the same history on Spark; the import starts nothing.

``session``, ``Session`` and ``register`` are public (docs/use/python-api.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sensorstream.spark.history_source import register
    from sensorstream.spark.spark_sessions import Session, session

__all__ = ("Session", "register", "session")


def __getattr__(name: str) -> Any:
    # Spark's workers import parts of this package and should load no more than these.
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module = "history_source" if name == "register" else "spark_sessions"
    return getattr(import_module(f"sensorstream.spark.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
