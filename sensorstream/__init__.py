"""Semantic stream processing: XML sensor messages become knowledge, alerts and history.

The names in ``__all__`` are the public interface (docs/use/python-api.md); all else may change.
Each is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from sensorstream.app.rdflib_graphs import from_graph, to_graph
    from sensorstream.app.recorded_engine import (
        build_engine,
        graph_of,
        map_message,
        parse_mapping,
        read_events,
        result_of,
    )
    from sensorstream.client.clients import AsyncClient, Client
    from sensorstream.client.results import QueryGraph, QueryPlan, QueryReport, Results
    from sensorstream.engine.engine import Engine
    from sensorstream.engine.outcome import Outcome
    from sensorstream.errors import SensorStreamError
    from sensorstream.model.events import Event
    from sensorstream.model.webhook_definition import Grouping, WebhookDefinition

__all__ = (
    "AsyncClient",
    "Client",
    "Engine",
    "Event",
    "Grouping",
    "Outcome",
    "QueryGraph",
    "QueryPlan",
    "QueryReport",
    "Results",
    "SensorStreamError",
    "WebhookDefinition",
    "build_engine",
    "from_graph",
    "graph_of",
    "map_message",
    "parse_mapping",
    "read_events",
    "result_of",
    "to_graph",
)

_HOMES = {
    "app.rdflib_graphs": ("from_graph", "to_graph"),
    "app.recorded_engine": (
        *("build_engine", "graph_of", "map_message", "parse_mapping", "read_events", "result_of"),
    ),
    "client.clients": ("AsyncClient", "Client"),
    "client.results": ("QueryGraph", "QueryPlan", "QueryReport", "Results"),
    "engine.engine": ("Engine",),
    "engine.outcome": ("Outcome",),
    "errors": ("SensorStreamError",),
    "model.events": ("Event",),
    "model.webhook_definition": ("Grouping", "WebhookDefinition"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version(__name__)
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Add the magics to a notebook: ``%load_ext sensorstream``."""
    magics = import_module("sensorstream.app.notebook_magics")
    shell.register_magics(magics.NotebookMagics)
