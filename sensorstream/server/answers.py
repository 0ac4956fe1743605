"""The outcome of a message for clients: the same fields in REST and SOAP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo

from sensorstream.alerts.formats import plain_alert, plain_time
from sensorstream.engine.outcome import Outcome
from sensorstream.model.timeline import Timeline
from sensorstream.quoting import few

Body = TypeVar("Body", bound=BaseModel)


def body_of(kind: type[Body], value: object, line: Timeline | None = None) -> Body:
    """The JSON of a value: its members are attributes, its times are of a time line."""
    return kind.model_validate(value, from_attributes=True, context=line)


def _plain(time: int | None, info: ValidationInfo) -> int | str | None:
    line: Any = info.context
    return None if time is None else plain_time(time, line)


Time: TypeAlias = Annotated[int | str, BeforeValidator(_plain)]
"""Application time: a number, or ISO 8601 on the dateTime line; see :func:`body_of`."""


class AlertBody(BaseModel):
    """An alert. ``time`` is application time: a number, or ISO 8601 on the dateTime line."""

    id: str = Field(examples=["m42-1"])
    rule: str
    kind: str = Field(description="rule, or the name of a condition of the system")
    severity: str
    text: str
    key: str
    time: int | str
    message_id: str


class RaisedAlertBody(AlertBody):
    """A kept alert; ``raised_at`` is wall time and ``seq`` the cursor of paging."""

    raised_at: datetime
    seq: int


class TimingsBody(BaseModel):
    """Seconds a message took, by phase (SensorStream paper, eq. 10)."""

    t_i: float = Field(description="reasoning on what changed")
    t_w: float = Field(description="the window and its indexes")
    t_m: float = Field(description="reading the message and applying the mapping rules")
    t_s: float = Field(description="the semantic rules")


class OutcomeBody(BaseModel):
    """What became of one message."""

    message_id: str = Field(examples=["m42"])
    status: str = Field(
        description="accepted, partial (of a document of several messages some were left out), "
        "unmatched, held (it waits for earlier ones), late (for the window) or journalled (the "
        "engines run on Spark, and will take it)"
    )
    matched: list[str] = Field(description="names of the mapping rules that matched")
    individuals: list[str] = Field(description="IRIs of the individuals inserted or updated")
    alerts: list[AlertBody]
    expired: int = Field(description="individuals that left the window for history")
    filtered: list[str] = Field(description="IRIs of individuals that filters kept out")
    shed: list[str] = Field(description="IRIs of individuals that load shedding kept out")
    timings: TimingsBody
    replies: list[str] = Field(description="commands of semantic rules to the sender")
    warnings: list[str] = Field(description="such as the likely cause when no rule matched")


def outcome_answer(outcome: Outcome, timeline: Timeline) -> Mapping[str, Any]:
    """The fields of :class:`OutcomeBody`, without a model object, for speed."""
    return {
        "message_id": outcome.message.id,
        "status": outcome.status.value,
        "matched": list(outcome.matched),
        "individuals": list(outcome.individuals),
        "alerts": [plain_alert(each, timeline) for each in outcome.alerts],
        "expired": len(outcome.departures),
        "filtered": [each.name for each in outcome.filtered],
        "shed": [each.name for each in outcome.shed],
        "timings": dict(outcome.timings),
        "replies": list(outcome.replies),
        "warnings": list(few(outcome.warnings)),
    }
