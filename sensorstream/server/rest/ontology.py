"""``/ontology``: read the ontology in force, or replace it."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.reasoning.ontology import MEDIA_TYPES
from sensorstream.server.negotiation import media_type_of, tagged

_TEXT: Final[dict[str, Any]] = {each: {"schema": {"type": "string"}} for each in MEDIA_TYPES}


class ChangedBody(BaseModel):
    """The ontology is in force, from the next message on, and on disk."""

    change: str = Field(description="the journal's id of the change", examples=["m17"])


def router(application: Application) -> APIRouter:
    """The ontology resource."""
    routes = APIRouter(tags=["ontology"])

    @routes.get(
        "/ontology",
        summary="Read the ontology in force",
        response_class=Response,
        responses={200: {"content": _TEXT}},
    )
    def read_ontology(request: Request) -> Response:
        """Its text; the header `SensorStream-Origin` is `settings` or the change's id."""
        found = application.ontology()
        answer = Response(
            found.content,
            media_type=found.media_type,
            headers={"SensorStream-Origin": found.origin},
        )
        return tagged(answer, request)

    @routes.put(
        "/ontology",
        summary="Put another ontology in force",
        openapi_extra={"requestBody": {"required": True, "content": _TEXT}},
    )
    async def put_ontology(request: Request) -> ChangedBody:
        """Check, classify and swap; answers when it is in force. Messages come in meanwhile."""
        media_type = media_type_of(request.headers.get("content-type", ""))
        if media_type not in MEDIA_TYPES:
            raise HTTPException(
                415,
                f"'{media_type}' is not an ontology: expected one of {', '.join(MEDIA_TYPES)}",
            )
        content = await request.body()
        change = await run_in_threadpool(application.put_ontology, content, media_type)
        return ChangedBody(change=change)

    return routes
