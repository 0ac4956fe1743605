"""The definition of a webhook: in a request's body, in a file, in the journal and in its table.

Source of groups: Prometheus, documentation of Alertmanager, "Configuration", <route>: ``group_by``,
``group_wait`` and ``group_interval``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, get_args

from sensorstream.errors import WebhookError

Format: TypeAlias = Literal["cloudevents", "alertmanager", "ndjson", "csv", "jsonld", "trig"]
"""The formats of a webhook: CloudEvents, the one of an Alertmanager, or CloudEvents whose reports
are in a format of their own.
"""
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
CLOUD_EVENTS: Final = "cloudevents"
ALERTMANAGER: Final = "alertmanager"
Label: TypeAlias = Literal["rule", "kind", "severity", "key"]
LABELS: Final[tuple[Label, ...]] = get_args(Label)
"""The labels by which alerts may be grouped."""
LONGEST_WAIT: Final = 3600.0
LONGEST_INTERVAL: Final = 604_800.0

# The metadata of fields are their descriptions in the API's description.


@dataclass(frozen=True, slots=True)
class Grouping:
    """Alerts that are alike in these labels are told together; times are seconds."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    by: tuple[Label, ...] = field(metadata={"max_length": len(LABELS)})
    wait: float = field(
        default=30,
        metadata={"ge": 0, "le": LONGEST_WAIT, "description": "for others, when a group is new"},
    )
    interval: float = field(
        default=300,
        metadata={"ge": 1, "le": LONGEST_INTERVAL, "description": "between two times it is told"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", tuple(each for each in LABELS if each in self.by))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookContent:
    """The content that a receiver gets, and its form."""

    format: Format = field(
        default=CLOUD_EVENTS,
        metadata={
            "description": "CloudEvents 1.0, or what an Alertmanager sends (version 4): alerts "
            "only; or the format of the reports in CloudEvents"
        },
    )
    changes: bool = field(
        default=False, metadata={"description": "told of what becomes of open alerts, too"}
    )
    group: Grouping | None = field(
        default=None, metadata={"description": "told of groups, not of each alert"}
    )
    escalated: bool = field(
        default=False, metadata={"description": "told of alerts that have escalated alone"}
    )


@dataclass(frozen=True, slots=True)
class WebhookDefinition(WebhookContent):
    """The definition of a webhook, without its id and its secret."""

    url: str = field(
        metadata={"max_length": 2000, "examples": ["https://hooks.example.org/sensorstream"]}
    )
    queries: tuple[str, ...] = field(
        default=(),
        metadata={
            "max_length": 1000,
            "description": "names of continuous queries whose reports are delivered too",
        },
    )

    @classmethod
    def of(cls, webhook: object) -> Self:
        """The definition in an object that has all its fields."""
        return cls(**{each.name: getattr(webhook, each.name) for each in fields(WebhookDefinition)})

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Self:
        """The definition in JSON or TOML; other fields are ignored.

        Raises:
            WebhookError: its group is not valid.
        """
        known = [each.name for each in fields(WebhookDefinition)]
        given = {name: told[name] for name in known if told.get(name) is not None}
        queries, group = tuple(told.get("queries", ())), read_grouping(told.get("group"))
        return cls(**{**given, "queries": queries, "group": group})

    def data(self) -> dict[str, object]:
        """The definition as JSON without defaults: so a new field does not change earlier texts."""
        told = {
            each.name: getattr(self, each.name)
            for each in fields(WebhookContent)
            if getattr(self, each.name) != each.default
        }
        if self.group is not None:
            told["group"] = grouping_data(self.group)
        return {"url": self.url, "queries": list(self.queries), "format": self.format, **told}

    def text(self) -> str:
        """The text of its version."""
        return json.dumps(self.data(), ensure_ascii=False, indent=2) + "\n"


def read_grouping(told: object) -> Grouping | None:
    """The grouping in JSON or TOML; None: there is none.

    Raises:
        WebhookError: it is not valid.
    """
    if told is None:
        return None
    if not isinstance(told, Mapping):
        raise WebhookError("a group of a webhook: expected by, and maybe wait and interval")
    if unknown := told.keys() - {"by", "wait", "interval"}:
        raise WebhookError(
            f"a group of a webhook has no '{sorted(map(str, unknown))[0]}': expected by, wait and "
            "interval"
        )
    by = told.get("by")
    if not isinstance(by, list | tuple) or any(each not in LABELS for each in by):
        raise WebhookError(f"a group's 'by': expected a list of some of {', '.join(LABELS)}")
    _, *times = fields(Grouping)
    return Grouping(tuple(by), *(_seconds(told, each) for each in times))


def grouping_data(grouping: Grouping | None) -> dict[str, object] | None:
    """A grouping as JSON; :func:`read_grouping` reads it."""
    if grouping is None:
        return None
    return {"by": list(grouping.by), "wait": grouping.wait, "interval": grouping.interval}


def _seconds(told: Mapping[str, Any], of: Field[float]) -> float:
    given, least, most = told.get(of.name, of.default), of.metadata["ge"], of.metadata["le"]
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise WebhookError(f"a group's '{of.name}': expected {least:g} to {most:g} seconds")
    return float(given)
