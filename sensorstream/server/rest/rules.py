"""``/rules``: the rules in force, and their files, which can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from sensorstream.app.application import Application
from sensorstream.app.rule_trial import RuleTrial
from sensorstream.app.rulebook import OnDisk
from sensorstream.errors import RulesError
from sensorstream.server.negotiation import tagged
from sensorstream.server.problems import PositionBody

_TEXT: Final[dict[str, Any]] = {"text/plain": {"schema": {"type": "string"}}}
_IF_MATCH: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": meaning,
        "schema": {"type": "string"},
    }
    for name, meaning in (
        ("If-Match", "the ETag of what is to be replaced, or *: 412 if it is not that any more"),
        ("If-None-Match", "*: 412 if there is such a file"),
    )
]

Match = Callable[[str | None], bool] | None


class RuleBody(BaseModel):
    """A rule; ``position`` is where its file says it, if that is kept."""

    kind: Literal["mapping", "semantic"]
    name: str = Field(examples=["face-tracker"])
    position: PositionBody | None = None


class RuleFileBody(BaseModel):
    """A rule file in force."""

    name: str = Field(examples=["tracking.rules"])
    digest: str = Field(description="the ETag of its text")
    on_disk: OnDisk = Field(description="what the server's own file of this name has now")


class RulesBody(BaseModel):
    """All rules, mapping rules first, in the order of their files; and these files."""

    rules: list[RuleBody]
    files: list[RuleFileBody]
    origin: str = Field(description="`settings`, or the journal's id of the change that put them")
    digest: str = Field(description="the ETag of the whole set of files")


class RuleSetBody(BaseModel):
    """A whole set of rule files, texts by name, in the order in which they are applied."""

    files: dict[str, str] = Field(examples=[{"tracking.rules": "prefix : <http://example.org/>"}])


class RulesChangedBody(BaseModel):
    """The rules are in force, from the next message on, and on disk."""

    change: str = Field(
        description="the journal's id of the change; of the last one if nothing differs",
        examples=["m17"],
    )


class FaultBody(BaseModel):
    """What is wrong, and where if that is known."""

    code: str = Field(examples=["language"])
    detail: str
    position: PositionBody | None


class EffectBody(BaseModel):
    """What became of a message; `statements` are only those that the other side does not make."""

    status: str
    reason: str
    matched: list[str]
    statements: list[str]
    alerts: list[str]


class DifferenceBody(BaseModel):
    """A message that would be treated in another way."""

    message: str
    before: EffectBody
    after: EffectBody


class RulesTriedBody(BaseModel):
    """Nothing was put in force: what is wrong with the rules, or what would be different."""

    faults: list[FaultBody]
    messages: int = Field(description="how many recent messages were tried, at most 100")
    different: int = Field(description="how many of them would be treated in another way")
    differences: list[DifferenceBody] = Field(description="the first 20 of these")


class RuleVersionBody(BaseModel):
    """A text that a rule file has had; null from the time on when it was removed."""

    change: str
    at: datetime
    by: str = Field(description="who put it; `settings` for what was there before")
    digest: str
    text: str | None


class RuleVersionsBody(BaseModel):
    """The versions of a rule file, oldest first."""

    versions: list[RuleVersionBody]


def wanted(request: Request) -> Match:
    """Whether the digest of what is there fits If-Match and If-None-Match (RFC 9110, 13.1)."""
    match = request.headers.get("if-match", "").strip()
    none = request.headers.get("if-none-match", "").strip()
    if not match and not none:
        return None

    def fits(digest: str | None) -> bool:
        wants = not match or (digest is not None and _names(match, digest))
        return wants and not (none and digest is not None and _names(none, digest))

    return fits


def _names(tags: str, digest: str) -> bool:
    return tags == "*" or f'"{digest}"' in [each.strip() for each in tags.split(",")]


DryRun = Annotated[
    str | None,
    Query(alias="dry-run", description="Given, with any value: only try them, put nothing"),
]


def _tried(trial: RuleTrial) -> RulesTriedBody:
    return RulesTriedBody(
        faults=[
            FaultBody(
                code=each.code,
                detail=each.message,
                position=None
                if each.position is None
                else PositionBody.model_validate(asdict(each.position)),
            )
            for each in trial.faults
        ],
        messages=trial.messages,
        different=trial.different,
        differences=[DifferenceBody.model_validate(asdict(each)) for each in trial.differences],
    )


def _who(request: Request) -> str:
    return str(request.scope["user"])


def router(application: Application) -> APIRouter:
    """The rules resources."""
    routes = APIRouter(tags=["rules"])

    @routes.get("/rules", summary="List the rules in force")
    def list_rules(response: Response) -> RulesBody:
        """The mapping rules and the semantic rules that run, and their files."""
        found = [RuleBody.model_validate(asdict(each)) for each in application.rules()]
        book = application.rulebook.files()
        response.headers["ETag"] = f'"{book.digest}"'
        files = [
            RuleFileBody(name=each.name, digest=each.digest, on_disk=each.on_disk)
            for each in book.files
        ]
        return RulesBody(rules=found, files=files, origin=book.origin, digest=book.digest)

    @routes.put(
        "/rules",
        summary="Put a whole set of rule files in force",
        openapi_extra={"parameters": _IF_MATCH[:1]},
    )
    def put_rules(
        body: RuleSetBody,
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> RulesChangedBody | RulesTriedBody:
        """Check and swap, whole or not at all; answers when they are in force."""
        if dry_run is not None:
            return _tried(application.rulebook.try_all(body.files))
        change = application.rulebook.put_all(body.files, _who(request), match)
        return RulesChangedBody(change=change)

    @routes.get(
        "/rules/{name}",
        summary="Read a rule file in force",
        response_class=Response,
        responses={200: {"content": _TEXT}},
    )
    def read_rule_file(name: str, request: Request) -> Response:
        """Its text."""
        found = application.rulebook.file(name)
        return tagged(Response(found.text, media_type="text/plain"), request)

    @routes.put(
        "/rules/{name}",
        summary="Put a rule file in force",
        openapi_extra={
            "parameters": _IF_MATCH,
            "requestBody": {"required": True, "content": _TEXT},
        },
    )
    async def put_rule_file(
        name: str,
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> RulesChangedBody | RulesTriedBody:
        """Check and swap: a new file, or instead of the one of this name."""
        content = await request.body()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RulesError(f"the text is not UTF-8: {error}") from None
        if dry_run is not None:
            return _tried(await run_in_threadpool(application.rulebook.try_put, name, text))
        put = application.rulebook.put
        change = await run_in_threadpool(put, name, text, _who(request), match)
        return RulesChangedBody(change=change)

    @routes.delete(
        "/rules/{name}",
        summary="Take a rule file out of force",
        openapi_extra={"parameters": _IF_MATCH[:1]},
    )
    def delete_rule_file(
        name: str, request: Request, match: Annotated[Match, Depends(wanted)]
    ) -> RulesChangedBody:
        """What its rules have done stays; they do nothing more."""
        change = application.rulebook.remove(name, _who(request), match)
        return RulesChangedBody(change=change)

    @routes.get("/rules/{name}/versions", summary="List the versions of a rule file")
    def list_versions(name: str) -> RuleVersionsBody:
        """Oldest first; none while the files of the settings have always been in force."""
        found = application.rulebook.versions(name)
        return RuleVersionsBody(
            versions=[RuleVersionBody.model_validate(asdict(each)) for each in found]
        )

    return routes
