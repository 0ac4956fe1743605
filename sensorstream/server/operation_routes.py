"""Routes of the table of operations: their parameters and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from sensorstream.alerts.alert_formats import plain_alert, plain_time
from sensorstream.app.application import Application
from sensorstream.client.operation import Operation, given
from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry_effects import facts_of
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Timeline

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

# Whose clients add parameters of their own: SPARQL's (format, output, ...), and those that ask
# for health and numbers; SensorThings refuses others in its own words.
_OPEN: Final = frozenset(
    {"/sparql", "/soap", "/healthz", "/readyz", "/metrics", "/sensorthings/v1.1/{path:path}"}
)


Key: TypeAlias = Annotated[
    str | None,
    Query(description="on Spark: the key whose engine answers; else all do, or the only one"),
]


def routed(
    routes: APIRouter,
    operation: Operation[..., Any] | str,
    summary: str,
    answer: Any = None,
    *,
    types: Iterable[str] | Mapping[str, Any] = (),
    body: Mapping[str, Any] | None = None,
    headers: Sequence[Mapping[str, Any]] = (),
    **told: Any,
) -> Callable[[Endpoint], Endpoint]:
    """Make the function answer an operation of the table, or one written as its method and path.
    ``answer`` is the model of the JSON that it makes itself, and ``types`` are the media types of
    its answer; what it reads itself of the body and the header, OpenAPI describes by ``body`` and
    ``headers``. ``told`` are further arguments of FastAPI.
    """
    named = operation if isinstance(operation, str) else f"{operation.method} {operation.path}"
    method, path = named.split(" ")
    described = {} if answer is None else {"model": answer}
    if types:
        described["content"] = types if isinstance(types, Mapping) else {e: {} for e in types}
    if described:
        own = {told.get("status_code", 200): described}
        told["responses"] = {**own, **told.get("responses", {})}
    if headers:
        told["openapi_extra"] = {"parameters": list(headers)}
    if body is not None:
        sent = {"requestBody": {"required": True, "content": body}}
        told["openapi_extra"] = {**told.get("openapi_extra", {}), **sent}
    return routes.api_route(path, methods=[method], summary=summary, **told)


async def _application(request: Request) -> Application:
    if request.scope["query_string"]:
        check_known(request)
    found: Application = request.app.state.application
    return found


App: TypeAlias = Annotated[Application, Depends(_application)]
"""The application that a route asks, of a request with known parameters only."""


def next_page(path: str, page: Sequence[object], limit: int, /, **asked: object) -> str | None:
    """The path of the page after one, with what was asked; None: that was the last."""
    return f"{path}?{urlencode(given(**asked))}" if len(page) == limit else None


def _in_utc(time: datetime) -> datetime:
    """Convert a time to UTC: PostgreSQL takes no zone beyond 15:59, which RFC 3339 allows."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is before the year 1 or after 9999 in UTC") from None


Moment: TypeAlias = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time of the calendar that a request asks for."""


ASKED: Final = ConfigDict(extra="forbid")
"""The JSON of a request has no other members."""
TOLD: Final = ConfigDict(json_schema_serialization_defaults_required=True)
"""The JSON of an answer has all members of its values."""


def storable(value: Any) -> Any:
    """A value itself; refuses a text with a character that PostgreSQL cannot hold."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("the character U+0000 cannot be stored")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("half a character (a lone surrogate) cannot be stored") from None
    return value


class AskedBody(BaseModel):
    """The JSON of a request: no other members, and no character that PostgreSQL cannot hold."""

    model_config = ASKED
    _storable = field_validator("*")(storable)


def check_known(request: Request) -> None:
    """Check that the query of a request has no other parameters than those described. A slip in a
    name must not change the effect: ``DELETE /quarantine?stauts=…`` would dismiss everything, and
    ``PUT /rules?dryrun`` put the rules in force.

    Raises:
        RequestValidationError: for the first parameter that is unknown.
    """
    route = request.scope["route"]
    if route.path in _OPEN:
        return
    operation = request.app.openapi()["paths"][route.path_format][request.method.lower()]
    known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    for name in request.query_params:
        if name not in known:
            expected = ", ".join(sorted(known)) if known else "none"
            message = f"this operation has no such parameter: expected {expected}"
            raise RequestValidationError(
                [{"type": "unknown", "loc": ("query", name), "msg": message}]
            )


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
    """The outcome of a message."""

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


_OF_FACTS: Final = tuple(name for name in OutcomeBody.model_fields if name != "message_id")


def outcome_answer(outcome: Outcome, timeline: Timeline) -> Mapping[str, Any]:
    """The fields of :class:`OutcomeBody`, without a model object, for speed."""
    return facts_answer(outcome.message.id, facts_of(outcome), outcome.alerts, timeline)


def facts_answer(
    message_id: str, facts: Mapping[str, Any], alerts: Sequence[Alert], timeline: Timeline
) -> Mapping[str, Any]:
    """The same of the facts of an outcome (:func:`.facts_of`), and of its alerts."""
    return {
        "message_id": message_id,
        **{name: facts[name] for name in _OF_FACTS},
        "alerts": [plain_alert(each, timeline) for each in alerts],
    }
