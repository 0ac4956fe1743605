"""``/healthz``, ``/readyz`` and ``/metrics``: for operators."""

from __future__ import annotations

from typing import Final, Literal

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, Field

from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.server.access import user_of
from sensorstream.server.known import routed
from sensorstream.server.problems import http_problem, respond

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
