"""``/healthz``, ``/readyz`` and ``/metrics``: for operators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, ConfigDict, Field

from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.server.access import user_of
from sensorstream.server.known import routed
from sensorstream.server.problems import http_problem, respond
from sensorstream.settings_file import Given

_AT_ONCE: Final = 2


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


def router(application: Application) -> APIRouter:
    """The operators' resources."""
    routes = APIRouter(tags=["operation"])
    # Threads that no other request can take. Only those, and the event loop, may be needed here.
    own = anyio.CapacityLimiter(_AT_ONCE)

    @routed(routes, Operations.alive, summary="Is it alive?", responses={200: {"model": AliveBody}})
    async def healthz() -> JSONResponse:
        """503 means: restart me."""
        if ailment := application.health.ailment():
            return respond(http_problem(503, ailment))
        return JSONResponse({"status": "alive", "held": application.held()})

    @routed(routes, Operations.ready, summary="Can it work?", responses={200: {"model": ReadyBody}})
    async def readyz(request: Request) -> JSONResponse:
        """503 means: send me no messages now; the problem's `parts` say which part and why.

        Where keys are needed, `parts` is empty for who shows none.
        """
        states = await run_sync(application.health.parts, limiter=own)
        if not user_of(request).roles:
            if all(each.ready for each in states):
                return JSONResponse({"status": "ready", "parts": {}})
            return respond(http_problem(503, "not ready"), more={"parts": {}})
        parts = {
            each.name: {"ready": each.ready, "detail": each.detail, "age": round(each.age, 1)}
            for each in states
        }
        waiting = [each.name for each in states if not each.ready]
        if not waiting:
            return JSONResponse({"status": "ready", "parts": parts})
        told = http_problem(503, f"not ready: {', '.join(waiting)}")
        return respond(told, more={"parts": parts})

    @routed(
        routes,
        Operations.metrics,
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}},
    )
    async def metrics(request: Request) -> Response:
        """Counters, and the phases t_i, t_w, t_m, t_s as `sensorstream_phase_seconds`."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        text = await run_sync(encode, application.metrics, limiter=own)
        return Response(text, headers={"Content-Type": content_type})

    return routes


_NEWEST: Final = 2**63 - 1


class AuditedBody(BaseModel):
    """A request that was to change something."""

    model_config = ConfigDict(from_attributes=True)

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


def audit(application: Application) -> APIRouter:
    """The audit log."""
    routes = APIRouter(tags=["operation"])

    @routed(routes, Operations.audit, summary="List changes")
    def audit(
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[
            int | None, Query(ge=0, le=_NEWEST, description="`seq` of the page's last change")
        ] = None,
    ) -> AuditBody:
        """Who changed what, newest first: every request but messages, questions and reads."""
        found = application.access.changes(before, limit)
        more = len(found) == limit
        return AuditBody(
            changes=[AuditedBody.model_validate(each) for each in found],
            next=f"/audit?limit={limit}&before={found[-1].seq}" if more else None,
        )

    return routes


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


def settings(given: Sequence[Given]) -> APIRouter:
    """The settings as they were read."""
    routes = APIRouter(tags=["operation"])
    told = SettingsBody(
        settings=[
            SettingBody(name=each.name, value=each.shown(), origin=each.origin) for each in given
        ]
    )

    @routed(routes, Operations.settings, summary="List the settings")
    def settings() -> SettingsBody:
        """All settings that the server has read when it started, and where each comes from.

        None, where a program has made them without a file.
        """
        return told

    return routes
