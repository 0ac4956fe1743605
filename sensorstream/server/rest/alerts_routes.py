"""``/alerts`` and ``/silences``: raised alerts, a live stream of them, and their changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from sensorstream.alerts.alert_formats import alert_data, change_data, incident_data
from sensorstream.alerts.alert_records import (
    AlertChange,
    Incident,
    IncidentState,
    RaisedAlert,
    Silence,
    check_silence,
)
from sensorstream.alerts.feed import Subscription
from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.journal.records import message_id
from sensorstream.server.operation_routes import (
    App,
    AskedBody,
    Moment,
    RaisedAlertBody,
    next_page,
    routed,
)
from sensorstream.server.rest.versioned_routes import By

routes = APIRouter(tags=["alerts"])
_PAGE: Final = 100
_LOOK_AGAIN: Final = 30.0  # seconds; a missed notification delays an alert, it is not lost
_LARGEST = 2**63 - 1
_SEVERITY = Literal["info", "warning", "critical"]
_Alert = Annotated[str, Path(alias="id", description="the `id` of any alert of it")]


class AlertsBody(BaseModel):
    """A page of alerts, newest first; ``next`` is the path of the page before, if any."""

    alerts: list[RaisedAlertBody]
    next: str | None


class BehindBody(BaseModel):
    """A message behind an alert; ``dropped``: retention has deleted it from the journal."""

    seq: int
    message_id: str
    dropped: bool
    source: str | None
    received_at: datetime | None
    content: str | None


class BehindAlertBody(BaseModel):
    """An alert and a page of the messages behind it, oldest first; ``next``: the next page."""

    alert: RaisedAlertBody
    messages: list[BehindBody]
    next: str | None


class IncidentBody(BaseModel):
    """All alerts of one rule and key, from the first until it is cleared.

    `id` is that of the first; `severity` and `text` are those of the last.
    """

    id: str
    seq: int
    rule: str
    kind: str
    key: str
    severity: str
    text: str
    state: IncidentState
    count: int = Field(description="how many alerts there were")
    first_time: int | str = Field(description="application time")
    last_time: int | str
    first_at: datetime = Field(description="wall time")
    last_at: datetime
    last_alert: str = Field(description="the `id` of the last alert")
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    assignee: str | None
    cleared_at: datetime | None
    escalated: str | None = Field(description="the severity that nobody's answer has given it")
    reminders: int
    silenced: bool = Field(description="receivers are not told of it now")
    flapping: bool = Field(description="it comes and goes too often to be told each time")


class IncidentsBody(BaseModel):
    """A page of incidents, the last opened first; ``next`` is the path of the page before."""

    alerts: list[IncidentBody]
    next: str | None


class ChangeBody(BaseModel):
    """A change of an incident; `by` is empty where the server made it."""

    seq: int
    id: str
    change: str
    rule: str
    kind: str
    severity: str
    key: str
    count: int
    by: str
    text: str
    time: int | str | None
    at: datetime
    first_at: datetime


class ChangesBody(BaseModel):
    """A page of changes, oldest first; ``next`` is the path of the next page, if any."""

    changes: list[ChangeBody]
    next: str | None


class SaidBody(AskedBody):
    """Why, for those who read the history."""

    text: str = Field(default="", max_length=2000)


class CommentBody(AskedBody):
    """A comment on an alert."""

    text: str = Field(min_length=1, max_length=2000)


class AssigneeBody(AskedBody):
    """The person who takes care of an alert; empty: nobody in particular."""

    to: str = Field(max_length=200)


class NewSilenceBody(AskedBody):
    """Alerts that no receiver gets: at least one of rule, key and severity."""

    rule: str | None = Field(
        default=None,
        max_length=500,
        description="or the kind, of an alert of the system; `*` for any signs",
    )
    key: str | None = Field(default=None, max_length=2000, description="`*` for any signs")
    severity: _SEVERITY | None = None
    starts_at: Moment | None = Field(default=None, description="or now")
    ends_at: Moment
    comment: str = Field(default="", max_length=2000)


class SilencesBody(BaseModel):
    """The silences that have not ended."""

    silences: list[Silence]


@routed(routes, Operations.alerts, "List alerts", AlertsBody | IncidentsBody)
def list_alerts(
    app: App,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    before: Annotated[
        int | None, Query(ge=-(2**63), le=_LARGEST, description="`seq` of the page's last alert")
    ] = None,
    state: Annotated[
        IncidentState | None,
        Query(description="given: not each alert, but what is in this state, with its repeats"),
    ] = None,
) -> JSONResponse:
    """Kept alerts, newest first; or, by state, all alerts of one rule and key together."""
    found: Any
    if state is not None:
        found = app.incidents.list(state, limit, before, app.clock.now())
        data = [incident_data(each, app.timeline) for each in found]
    else:
        found = app.reader.alerts_before(limit, before)
        data = [_raised(app, each) for each in found]
    last = found[-1].seq if found else None
    following = next_page("/alerts", found, limit, state=state, limit=limit, before=last)
    return JSONResponse({"alerts": data, "next": following})


@routed(routes, Operations.alert_messages, "The messages that led to an alert", BehindAlertBody)
def messages_behind(
    app: App,
    id_: Annotated[str, Path(alias="id", description="the alert's `id`")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, description="`seq` of the page's last message")] = 0,
) -> JSONResponse:
    """The messages that said, or caused to be inferred, what the alert's rule matched."""
    raised, found = app.reader.messages_behind(id_, limit, after)
    messages = [
        {
            "seq": each.seq,
            "message_id": message_id(each.seq),
            "dropped": each.dropped,
            "source": each.source,
            "received_at": each.received_at and each.received_at.isoformat(),
            "content": each.content and each.content.decode(errors="replace"),
        }
        for each in found
    ]
    path, last = f"/alerts/{quote(id_, safe='')}/messages", found[-1].seq if found else None
    following = next_page(path, found, limit, limit=limit, after=last)
    return JSONResponse({"alert": _raised(app, raised), "messages": messages, "next": following})


async def _subscribed(app: App) -> AsyncIterator[Subscription]:
    # A dependency ends with its request; the generator of a client that leaves ends only when
    # the garbage collector finds it.
    with app.alert_feed.subscribe() as subscription:
        yield subscription


@routed(
    routes,
    "GET /alerts/stream",
    "Follow alerts",
    types=("text/event-stream",),
    response_class=EventSourceResponse,
)
async def follow_alerts(
    app: App,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
    after: Annotated[int | None, Query(ge=0, description="as Last-Event-ID")] = None,
    changes: Annotated[
        bool, Query(description="not each alert, but what becomes of open ones")
    ] = False,
    subscription: Subscription = Depends(_subscribed),  # noqa: B008 - FastAPI's way
) -> AsyncIterator[ServerSentEvent]:
    """Alerts as server-sent events of type `alert`, or their changes (`change`), from now on.

    The id of an event is the `seq` of the alert, or of the change: a client that reconnects
    with `Last-Event-ID` (browsers do so by themselves), or asks with `after`, gets what it
    missed first.
    """
    cursor = last_event_id if last_event_id is not None else after
    kind = "change" if changes else "alert"
    if cursor is None:
        cursor = await run_in_threadpool(_last, app, kind)
    yield ServerSentEvent(comment="listening", retry=2000)
    while not app.alert_feed.closed:
        found = await run_in_threadpool(_after, app, kind, cursor)
        for each in found:
            cursor = each["seq"]
            yield ServerSentEvent(event=kind, id=str(cursor), data=each)
        if len(found) < _PAGE:
            await subscription.wait(_LOOK_AGAIN)


@routed(routes, Operations.alert, "Look up an alert", IncidentBody)
def get_alert(app: App, id_: _Alert) -> JSONResponse:
    """The incident that an alert belongs to: its state, and how often it was raised."""
    return JSONResponse(incident_data(app.incidents.one(id_, app.clock.now()), app.timeline))


@routed(routes, Operations.alert_history, "What became of an alert", ChangesBody)
def get_history(
    app: App,
    id_: _Alert,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[
        int, Query(ge=0, le=_LARGEST, description="`seq` of the page's last change")
    ] = 0,
) -> JSONResponse:
    """Its changes: raised, acknowledged, cleared and so on; repeats are only counted."""
    found = app.incidents.history(id_, limit, after, app.clock.now())
    path, last = f"/alerts/{quote(id_, safe='')}/history", found[-1].seq if found else None
    following = next_page(path, found, limit, limit=limit, after=last)
    return JSONResponse({"changes": [_changed(app, e) for e in found], "next": following})


@routed(routes, Operations.acknowledge, "Acknowledge an alert", IncidentBody)
def acknowledge(app: App, id_: _Alert, by: By, body: SaidBody | None = None) -> JSONResponse:
    """Somebody sees to it: no more reminders, no escalation."""
    text = "" if body is None else body.text
    return _done(app, app.incidents.acknowledge(id_, by, text, app.clock.now()))


@routed(routes, Operations.clear_alert, "Clear an alert", IncidentBody)
def clear(app: App, id_: _Alert, by: By, body: SaidBody | None = None) -> JSONResponse:
    """End an alert: the next one of its rule and key opens another."""
    text = "" if body is None else body.text
    return _done(app, app.incidents.clear(id_, by, text, app.clock.now()))


@routed(routes, Operations.comment, "Comment on an alert", IncidentBody)
def comment(app: App, id_: _Alert, body: CommentBody, by: By) -> JSONResponse:
    """Add a text to the history of an alert."""
    return _done(app, app.incidents.comment(id_, by, body.text, app.clock.now()))


@routed(routes, Operations.assign, "Assign an alert", IncidentBody)
def assign(app: App, id_: _Alert, body: AssigneeBody, by: By) -> JSONResponse:
    """Say who is to see to it."""
    return _done(app, app.incidents.assign(id_, by, body.to, app.clock.now()))


@routed(routes, Operations.silences, "List silences")
def list_silences(app: App) -> SilencesBody:
    """The silences that have not ended."""
    return SilencesBody(silences=list(app.incidents.silences(app.clock.now())))


@routed(routes, Operations.silence, "Begin a silence", status_code=201)
def begin_silence(app: App, body: NewSilenceBody, by: By) -> Silence:
    """Do not tell receivers of alerts that match, for a while; they are kept all the same."""
    now, asked = app.clock.now(), body.model_dump()
    wanted = Silence(**{**asked, "id": 0, "starts_at": body.starts_at or now, "by": by})
    check_silence(wanted, now)
    return app.incidents.silence(wanted, now)


@routed(routes, Operations.end_silence, "End a silence", status_code=204)
def end_silence(app: App, silence_id: Annotated[int, Path(ge=0, le=_LARGEST)]) -> None:
    """Tell receivers again of what it matched."""
    app.incidents.end_silence(silence_id, app.clock.now())
    app.announce()


def _raised(app: Application, raised: RaisedAlert) -> dict[str, Any]:
    return {**alert_data(raised, app.timeline), "seq": raised.seq}


def _done(app: Application, incident: Incident) -> JSONResponse:
    """Tell receivers of the change of an alert, and answer with its state."""
    app.announce()
    return JSONResponse(incident_data(incident, app.timeline))


def _changed(app: Application, change: AlertChange) -> dict[str, Any]:
    return {"seq": change.seq, **change_data(change, app.timeline)}


def _last(app: Application, kind: str) -> int:
    if kind == "change":
        return app.incidents.last_change()
    newest = app.reader.alerts_before(1)
    return newest[0].seq if newest else 0


def _after(app: Application, kind: str, seq: int) -> list[dict[str, Any]]:
    if kind == "change":
        return [_changed(app, each) for each in app.incidents.changes_after(seq, _PAGE)]
    return [_raised(app, each) for each in app.reader.alerts_after(_PAGE, seq)]
