"""``/ontology``: read the ontology in force, or replace it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.versions import Match
from sensorstream.client.operations import Operations
from sensorstream.reasoning.documents import MEDIA_TYPES
from sensorstream.server.known import routed
from sensorstream.server.negotiation import media_type_of, tagged, xml_of
from sensorstream.server.rest.versioned import (
    IF_MATCH,
    ChangedBody,
    DryRun,
    TriedBody,
    add_versions,
    tried_body,
    wanted,
    who,
)

_TEXT: Final[dict[str, Any]] = {each: {"schema": {"type": "string"}} for each in MEDIA_TYPES}


def router(application: Application) -> APIRouter:
    """The ontology resource."""
    routes = APIRouter(tags=["ontology"])

    @routed(
        routes,
        Operations.ontology,
        summary="Read the ontology in force",
        response_class=Response,
        responses={200: {"content": _TEXT}},
    )
    def read_ontology(request: Request) -> Response:
        """Its text; the header `SensorStream-Origin` is `settings` or the change's id."""
        found = application.ontologies.in_force()
        answer = Response(
            found.content,
            media_type=found.media_type,
            headers={"SensorStream-Origin": found.origin},
        )
        return tagged(answer, request)

    @routed(
        routes,
        Operations.put_ontology,
        summary="Put another ontology in force",
        openapi_extra={
            "parameters": IF_MATCH[:1],
            "requestBody": {"required": True, "content": _TEXT},
        },
    )
    async def put_ontology(
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> ChangedBody | TriedBody:
        """Check, classify and swap; answers when it is in force. Messages come in meanwhile."""
        content_type = request.headers.get("content-type", "")
        media_type = media_type_of(content_type)
        if media_type not in MEDIA_TYPES:
            raise HTTPException(
                415,
                f"'{media_type}' is not an ontology: expected one of {', '.join(MEDIA_TYPES)}",
            )
        content = await request.body()
        if media_type.endswith("+xml"):
            content = xml_of(content, content_type)
        ontologies = application.ontologies
        if dry_run is not None:
            return tried_body(await run_in_threadpool(ontologies.try_put, content, media_type))
        change = await run_in_threadpool(ontologies.put, content, media_type, who(request), match)
        return ChangedBody(change=change)

    add_versions(
        routes,
        "/ontology",
        "the ontology",
        application.ontologies.versions,
        _unnamed,
        "Oldest first; none while the ontology of the settings has always been in force.",
        "The text that a change has put.",
        {"content": _TEXT},
    )

    return routes


def _unnamed() -> str:
    return ""
