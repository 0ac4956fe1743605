"""Resources with versions: conditions, trials and lists; and ``/ontology``, one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.control.versions import Match, ResourceVersions
from sensorstream.app.why.message_trials import Difference
from sensorstream.client.operations import Operations
from sensorstream.errors import Position, SensorStreamError
from sensorstream.reasoning.ontology_documents import MEDIA_TYPES
from sensorstream.server.negotiation import media_type_of, tagged, xml_of
from sensorstream.server.operation_routes import TOLD, App, body_of, routed

IF_MATCH: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": meaning,
        "schema": {"type": "string"},
    }
    for name, meaning in (
        ("If-Match", "the ETag of what is to be replaced, or *: 412 if it is not that any more"),
        ("If-None-Match", "*: 412 if there is one"),
    )
]

DryRun = Annotated[
    str | None,
    Query(alias="dry-run", description="Given, with any value: only try it, put nothing"),
]


class ChangedBody(BaseModel):
    """A change that is on disk and in force from the next message on."""

    change: str = Field(
        description="the journal's id of the change; of the last one if nothing differs",
        examples=["m17"],
    )


class FaultBody(BaseModel):
    """A fault, with its place if that is known."""

    code: str = Field(examples=["language"])
    detail: str = Field(validation_alias="message")
    position: Position | None


class TriedBody(BaseModel):
    """Nothing was put in force: what is wrong with it, or what would be different."""

    model_config = TOLD

    faults: list[FaultBody]
    messages: int = Field(description="how many recent messages were tried, at most 100")
    different: int = Field(description="how many of them would be treated in another way")
    lost_before: int = Field(description="how many were rejected, or unmatched")
    lost_after: int = Field(description="how many would be rejected, or unmatched")
    differences: list[Difference] = Field(description="the first 20 of these")


class VersionBody(BaseModel):
    """A text that was put; `digest` is its ETag, and null where it was removed."""

    change: str = Field(description="the journal's id of the change", examples=["m17"])
    at: datetime
    by: str = Field(description="who put it; `settings` for what was there before, or unknown")
    digest: Annotated[str | None, BeforeValidator(lambda digest: digest or None)]


class VersionsBody(BaseModel):
    """The versions, oldest first."""

    versions: list[VersionBody]


async def wanted(request: Request) -> Match:
    """Whether the digest of what is there fits If-Match and If-None-Match (RFC 9110, 13.1)."""
    match = request.headers.get("if-match", "").strip()
    none = request.headers.get("if-none-match", "").strip()
    if not match and not none:
        return None

    def fits(digest: str | None) -> bool:
        wants = not match or (digest is not None and _names(match, digest))
        return wants and not (none and digest is not None and _names(none, digest))

    return fits


WantedChange: TypeAlias = Annotated[Match, Depends(wanted)]


def _names(tags: str, digest: str) -> bool:
    return tags == "*" or f'"{digest}"' in [each.strip() for each in tags.split(",")]


async def _who(request: Request) -> str:
    return str(request.scope["user"])


By: TypeAlias = Annotated[str, Depends(_who)]
"""Who sends a request, as the journal names them."""


def fault_bodies(faults: Iterable[SensorStreamError]) -> list[FaultBody]:
    """The faults of what was tried."""
    return [body_of(FaultBody, each) for each in faults]


def add_versions(
    routes: APIRouter,
    path: str,
    what: str,
    versions: Callable[[Application, str], tuple[ResourceVersions, str]],
    named: Callable[..., Awaitable[str]],
    told: tuple[str, str],
    answer: dict[str, Any],
) -> None:
    """Add the operations that list the versions of a resource, and read one of them. ``what`` it
    is, such as "a query", and ``told`` about the list and about a version, stand in the
    description, and so does ``answer``, a version. ``versions`` are those of its sort, and its name
    among these; ``named`` is a dependency that gives the name of the one that is asked for.
    """

    @routes.get(f"{path}/versions", summary=f"List the versions of {what}", description=told[0])
    def list_versions(app: App, name: str = Depends(named)) -> VersionsBody:
        sort, known = versions(app, name)
        return VersionsBody(versions=[body_of(VersionBody, each) for each in sort.all(known)])

    @routes.get(
        f"{path}/versions/{{change}}",
        summary=f"Read a version of {what}",
        description=told[1],
        response_class=Response,
        responses={200: answer},
    )
    def read_version(
        app: App, change: str, request: Request, name: str = Depends(named)
    ) -> Response:
        sort, known = versions(app, name)
        found = sort.one(change, known)
        return tagged(Response(found.text, media_type=found.media_type), request)


routes = APIRouter(tags=["ontology"])
_TEXT: Final[dict[str, Any]] = {each: {"schema": {"type": "string"}} for each in MEDIA_TYPES}


@routed(
    routes, Operations.ontology, "Read the ontology in force", types=_TEXT, response_class=Response
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
    app: App, request: Request, by: By, match: WantedChange, dry_run: DryRun = None
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
        tried = await run_in_threadpool(app.ontologies.try_put, content, media_type)
        return body_of(TriedBody, tried)
    put = app.ontologies.put
    return ChangedBody(change=await run_in_threadpool(put, content, media_type, by, match))


async def _unnamed() -> str:
    return ""


add_versions(
    routes,
    "/ontology",
    "the ontology",
    lambda app, name: (app.ontologies.versions, name),
    _unnamed,
    (
        "Oldest first; none while the ontology of the settings has always been in force.",
        "The text that a change has put.",
    ),
    {"content": _TEXT},
)
