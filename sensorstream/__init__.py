"""Semantic stream processing: XML sensor messages become knowledge, alerts and history.

The names in ``__all__`` are the public interface (docs/use/python-api.md); all else may change.
Each is imported when it is first asked for.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from sensorstream.app.recorded_engine import (
        build_engine,
        map_message,
        parse_mapping,
        read_events,
        result_of,
    )
    from sensorstream.client.clients import AsyncClient, Client
    from sensorstream.client.results import QueryReport, Results
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
    "QueryReport",
    "Results",
    "SensorStreamError",
    "WebhookDefinition",
    "build_engine",
    "map_message",
    "parse_mapping",
    "read_events",
    "result_of",
)

_HOMES = {
    "AsyncClient": "sensorstream.client.clients",
    "Client": "sensorstream.client.clients",
    "Engine": "sensorstream.engine.engine",
    "Event": "sensorstream.model.events",
    "Grouping": "sensorstream.model.webhook_definition",
    "Outcome": "sensorstream.engine.outcome",
    "QueryReport": "sensorstream.client.results",
    "Results": "sensorstream.client.results",
    "SensorStreamError": "sensorstream.errors",
    "WebhookDefinition": "sensorstream.model.webhook_definition",
    "build_engine": "sensorstream.app.recorded_engine",
    "map_message": "sensorstream.app.recorded_engine",
    "parse_mapping": "sensorstream.app.recorded_engine",
    "read_events": "sensorstream.app.recorded_engine",
    "result_of": "sensorstream.app.recorded_engine",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version(__name__)
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
