"""``/healthz``, ``/readyz``, ``/metrics``, ``/audit`` and ``/settings``: for operators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, Field

from sensorstream.client.operations import Operations
from sensorstream.server.access_rules import user_of
from sensorstream.server.operation_routes import App, body_of, next_page, routed
from sensorstream.server.problems import http_problem, respond

routes = APIRouter(tags=["operation"])
_NEWEST: Final = 2**63 - 1


class PartBody(BaseModel):
    """One part of the system."""

    ready: bool
    detail: str
    age: float = Field(description="seconds since that was found out")


class ReadyBody(BaseModel):
    """Every part can do its work."""

    status: Literal["ready"]
    parts: dict[str, PartBody]


class AliveBody(BaseModel):
    """The pipeline runs; ``held`` messages wait for earlier ones."""

    status: Literal["alive"]
    held: int


class AuditedBody(BaseModel):
    """A request that was to change something."""

    seq: int
    at: datetime
    kind: str = Field(description="what `who` is: anonymous, key, token or command")
    who: str = Field(description="the name of a key, the subject of a token")
    address: str = Field(description="the client's address")
    method: str
    path: str
    status: int = Field(description="of the answer; 0: of a command, or of more than one request")


class AuditBody(BaseModel):
    """A page of changes, newest first; ``next`` is the path of the page before, if any."""

    changes: list[AuditedBody]
    next: str | None


class SettingBody(BaseModel):
    """A setting: `section.name`, its value, and where that comes from."""

    name: str = Field(examples=["window.size"])
    value: bool | int | float | str | list[str] | None = Field(
        description="files are absolute paths; passwords are shown as ***"
    )
    origin: str = Field(description="`FILE:LINE`, a variable of the environment, or `default`")


class SettingsBody(BaseModel):
    """All settings, section by section."""

    settings: list[SettingBody]


@routed(routes, Operations.alive, "Is it alive?", AliveBody)
async def healthz(app: App) -> JSONResponse:
    """503 means: restart me."""
    if ailment := app.health.ailment():
        return respond(http_problem(503, ailment))
    return JSONResponse({"status": "alive", "held": app.held()})


@routed(routes, Operations.ready, "Can it work?", ReadyBody)
async def readyz(app: App, request: Request) -> JSONResponse:
    """503 means: send me no messages now; the problem's `parts` say which part and why.

    Where keys are needed, `parts` is empty for who shows none.
    """
    states = await run_sync(app.health.parts, limiter=request.app.state.threads)
    shown = states if user_of(request).roles else ()
    parts = {
        each.name: {"ready": each.ready, "detail": each.detail, "age": round(each.age, 1)}
        for each in shown
    }
    if all(each.ready for each in states):
        return JSONResponse({"status": "ready", "parts": parts})
    waiting = ", ".join(each.name for each in shown if not each.ready)
    told = http_problem(503, f"not ready: {waiting}" if waiting else "not ready")
    return respond(told, more={"parts": parts})


@routed(
    routes,
    Operations.metrics,
    "Metrics for Prometheus",
    types=("text/plain", "application/openmetrics-text"),
    response_class=Response,
)
async def metrics(app: App, request: Request) -> Response:
    """Counters, and the phases t_i, t_w, t_m, t_s as `sensorstream_phase_seconds`.

    In the OpenMetrics format, where it is accepted, they name traces, if there are any.
    """
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    text = await run_sync(encode, app.metrics, limiter=request.app.state.threads)
    return Response(text, headers={"Content-Type": content_type})


@routed(routes, Operations.audit, "List changes")
def audit(
    app: App,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[
        int | None, Query(ge=0, le=_NEWEST, description="`seq` of the page's last change")
    ] = None,
) -> AuditBody:
    """List the changes and who made them, newest first: no messages, questions or reads."""
    found = app.access.changes(before, limit)
    last = found[-1].seq if found else None
    return AuditBody(
        changes=[body_of(AuditedBody, each) for each in found],
        next=next_page("/audit", found, limit, limit=limit, before=last),
    )


@routed(routes, Operations.settings, "List the settings")
def settings(app: App, request: Request) -> SettingsBody:
    """All settings that the server has read when it started, and where each comes from.

    None, where a program has made them without a file.
    """
    given = request.app.state.given
    return SettingsBody(
        settings=[
            SettingBody(name=each.name, value=each.shown(), origin=each.origin) for each in given
        ]
    )
