"""``/ontology``: read the ontology in force, or replace it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sensorstream.app.versions import Match
from sensorstream.client.operations import Operations
from sensorstream.reasoning.documents import MEDIA_TYPES
from sensorstream.server.known import App, routed
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

routes = APIRouter(tags=["ontology"])
_TEXT: Final[dict[str, Any]] = {each: {"schema": {"type": "string"}} for each in MEDIA_TYPES}


@routed(
    routes,
    Operations.ontology,
    "Read the ontology in force",
    types=_TEXT,
    response_class=Response,
)
def read_ontology(app: App, request: Request) -> Response:
    """Its text; the header `SensorStream-Origin` is `settings` or the change's id."""
    found = app.ontologies.in_force()
    headers = {"SensorStream-Origin": found.origin}
    return tagged(Response(found.content, media_type=found.media_type, headers=headers), request)


@routed(
    routes,
    Operations.put_ontology,
    "Put another ontology in force",
    headers=IF_MATCH[:1],
    body=_TEXT,
)
async def put_ontology(
    app: App,
    request: Request,
    match: Annotated[Match, Depends(wanted)],
    dry_run: DryRun = None,
) -> ChangedBody | TriedBody:
    """Check, classify and swap; answers when it is in force. Messages come in meanwhile."""
    content_type = request.headers.get("content-type", "")
    media_type = media_type_of(content_type)
    if media_type not in MEDIA_TYPES:
        told = f"'{media_type}' is not an ontology: expected one of {', '.join(MEDIA_TYPES)}"
        raise HTTPException(415, told)
    content = await request.body()
    if media_type.endswith("+xml"):
        content = xml_of(content, content_type)
    if dry_run is not None:
        return tried_body(await run_in_threadpool(app.ontologies.try_put, content, media_type))
    put = app.ontologies.put
    return ChangedBody(
        change=await run_in_threadpool(put, content, media_type, who(request), match)
    )


async def _unnamed() -> str:
    return ""


add_versions(
    routes,
    "/ontology",
    "the ontology",
    lambda app: app.ontologies.versions,
    _unnamed,
    (
        "Oldest first; none while the ontology of the settings has always been in force.",
        "The text that a change has put.",
    ),
    {"content": _TEXT},
)
