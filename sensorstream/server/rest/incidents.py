"""``/alerts/{id}``, what people do with it, and ``/silences``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from sensorstream.alerts.cloudevents import change_data, incident_data
from sensorstream.alerts.incidents import Incident, IncidentState
from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.server.known import AskedBody, Moment, routed
from sensorstream.server.rest.versioned import who

_LARGEST = 2**63 - 1
_SEVERITY = Literal["info", "warning", "critical"]
_Alert = Annotated[str, Path(alias="id", description="the `id` of any alert of it")]


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
    """What is to be remembered."""

    text: str = Field(min_length=1, max_length=2000)


class AssigneeBody(AskedBody):
    """Who is to see to it; empty: nobody in particular."""

    to: str = Field(max_length=200)


class NewSilenceBody(AskedBody):
    """What receivers are not told of: at least one of rule, key and severity."""

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


class SilenceBody(BaseModel):
    """A silence, and who made it."""

    id: int
    rule: str | None
    key: str | None
    severity: str | None
    starts_at: datetime
    ends_at: datetime
    by: str
    comment: str


class SilencesBody(BaseModel):
    """The silences that have not ended."""

    silences: list[SilenceBody]


def router(application: Application) -> APIRouter:
    """What becomes of alerts once they are raised."""
    routes = APIRouter(tags=["alerts"])

    def told(incident: Incident) -> JSONResponse:
        return JSONResponse(incident_data(incident, application.timeline))

    answers: Any = {"responses": {200: {"model": IncidentBody}}}

    @routed(routes, Operations.alert, summary="Look up an alert", **answers)
    def get_alert(id_: _Alert) -> JSONResponse:
        """The incident that an alert belongs to: its state, and how often it was raised."""
        return told(application.incidents.one(id_))

    @routed(
        routes,
        Operations.alert_history,
        summary="What became of an alert",
        responses={200: {"model": ChangesBody}},
    )
    def get_history(
        id_: _Alert,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        after: Annotated[
            int, Query(ge=0, le=_LARGEST, description="`seq` of the page's last change")
        ] = 0,
    ) -> JSONResponse:
        """Its changes: raised, acknowledged, cleared and so on; repeats are only counted."""
        found = application.incidents.history(id_, limit, after)
        following = None
        if len(found) == limit:
            path = f"/alerts/{quote(id_, safe='')}/history"
            following = f"{path}?limit={limit}&after={found[-1].seq}"
        changes = [{"seq": each.seq, **change_data(each, application.timeline)} for each in found]
        return JSONResponse({"changes": changes, "next": following})

    @routed(routes, Operations.acknowledge, summary="Acknowledge an alert", **answers)
    def acknowledge(id_: _Alert, request: Request, body: SaidBody | None = None) -> JSONResponse:
        """Somebody sees to it: no more reminders, no escalation."""
        text = "" if body is None else body.text
        return told(application.incidents.acknowledge(id_, who(request), text))

    @routed(routes, Operations.clear_alert, summary="Clear an alert", **answers)
    def clear(id_: _Alert, request: Request, body: SaidBody | None = None) -> JSONResponse:
        """It has ended: the next alert of its rule and key opens another."""
        text = "" if body is None else body.text
        return told(application.incidents.clear(id_, who(request), text))

    @routed(routes, Operations.comment, summary="Comment on an alert", **answers)
    def comment(id_: _Alert, body: CommentBody, request: Request) -> JSONResponse:
        """Add a text to the history of an alert."""
        return told(application.incidents.comment(id_, who(request), body.text))

    @routed(routes, Operations.assign, summary="Assign an alert", **answers)
    def assign(id_: _Alert, body: AssigneeBody, request: Request) -> JSONResponse:
        """Say who is to see to it."""
        return told(application.incidents.assign(id_, who(request), body.to))

    @routed(routes, Operations.silences, summary="List silences")
    def list_silences() -> SilencesBody:
        """The silences that have not ended."""
        found = application.incidents.silences()
        return SilencesBody(silences=[SilenceBody(**asdict(each)) for each in found])

    @routed(routes, Operations.silence, summary="Begin a silence", status_code=201)
    def begin_silence(body: NewSilenceBody, request: Request) -> SilenceBody:
        """Do not tell receivers of alerts that match, for a while; they are kept all the same."""
        made = application.incidents.silence(
            body.rule,
            body.key,
            body.severity,
            body.ends_at,
            who(request),
            body.comment,
            body.starts_at,
        )
        return SilenceBody(**asdict(made))

    @routed(routes, Operations.end_silence, summary="End a silence", status_code=204)
    def end_silence(silence_id: Annotated[int, Path(ge=0, le=_LARGEST)]) -> Response:
        """Tell receivers again of what it matched."""
        application.incidents.end_silence(silence_id)
        return Response(status_code=204)

    return routes
