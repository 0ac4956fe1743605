"""``/rules``: the rules in force, and their files, which can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.mapping_files import (
    RML_TYPE,
    RULE_SET_TYPE,
    RULES_TYPE,
    STYLESHEET_TYPE,
    type_of,
)
from sensorstream.app.rulebook import OnDisk
from sensorstream.app.trials import QueryTrial
from sensorstream.app.versions import Match, Version, digest_of
from sensorstream.client.operations import Operations
from sensorstream.dotr.reader import is_rules
from sensorstream.errors import Position, QueryError, RulesError, UnknownQuery, UnknownRules
from sensorstream.server.known import AskedBody, routed
from sensorstream.server.negotiation import media_type_of, tagged
from sensorstream.server.rest.queries import QueryTriedBody, query_tried_body
from sensorstream.server.rest.versioned import (
    IF_MATCH,
    ChangedBody,
    DryRun,
    Kept,
    TriedBody,
    add_versions,
    tried_body,
    wanted,
    who,
)

_TEXT: Final[dict[str, Any]] = {
    each: {"schema": {"type": "string"}}
    for each in (RULES_TYPE, RML_TYPE, STYLESHEET_TYPE, RULE_SET_TYPE)
}


class RuleBody(BaseModel):
    """A rule; ``position`` is where its file says it, if that is kept."""

    kind: Literal["mapping", "semantic"]
    name: str = Field(examples=["face-tracker"])
    position: Position | None = None


class RuleFileBody(BaseModel):
    """A rule file in force."""

    name: str = Field(examples=["tracking.rules"])
    digest: str = Field(description="the ETag of its text")
    on_disk: OnDisk = Field(description="what the server's own file of this name has now")


class OverTimeBody(BaseModel):
    """A file with rules over time; its reports are those of the query of its name."""

    name: str = Field(examples=["fire.dotr"])
    digest: str = Field(description="the ETag of its text")
    query: str = Field(description="the name of the continuous query", examples=["fire"])


class RulesBody(BaseModel):
    """All rules, mapping rules first, in the order of their files; and these files."""

    rules: list[RuleBody]
    files: list[RuleFileBody]
    over_time: list[OverTimeBody] = Field(
        description="files with rules over time, which run as continuous queries and are put one "
        "by one"
    )
    tables: dict[str, OnDisk] = Field(
        description="files that they name (tables, and what RML joins messages with), and what "
        "the server's own file has now"
    )
    origin: str = Field(description="`settings`, or the journal's id of the change that put them")
    digest: str = Field(description="the ETag of the whole set of files")


class RuleSetBody(AskedBody):
    """A whole set of rule files, texts by name, in the order in which they are applied."""

    files: dict[str, str] = Field(examples=[{"tracking.rules": "prefix : <http://example.org/>"}])


def router(application: Application) -> APIRouter:
    """The rules resources."""
    routes = APIRouter(tags=["rules"])
    over_time = OverTime(application)

    @routed(routes, Operations.rules, summary="List the rules in force")
    def list_rules(response: Response) -> RulesBody:
        """The mapping rules and the semantic rules that run, and their files."""
        found = [RuleBody.model_validate(asdict(each)) for each in application.rules()]
        book = application.rulebook.files()
        response.headers["ETag"] = f'"{book.digest}"'
        files = [RuleFileBody.model_validate(each, from_attributes=True) for each in book.files]
        return RulesBody(
            rules=found,
            files=files,
            over_time=[
                OverTimeBody(name=name, digest=digest_of(text), query=query)
                for name, query, text in over_time.files()
            ],
            tables=dict(book.tables),
            origin=book.origin,
            digest=book.digest,
        )

    @routed(
        routes,
        Operations.put_rule_files,
        summary="Put a whole set of rule files in force",
        openapi_extra={"parameters": IF_MATCH[:1]},
    )
    def put_rules(
        body: RuleSetBody,
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> ChangedBody | TriedBody:
        """Check and swap, whole or not at all; answers when they are in force."""
        if dry_run is not None:
            return tried_body(application.rulebook.try_all(body.files))
        change = application.rulebook.put_all(body.files, who(request), match)
        return ChangedBody(change=change)

    @routed(
        routes,
        Operations.rule_file,
        summary="Read a rule file in force",
        response_class=Response,
        responses={200: {"content": _TEXT}},
    )
    def read_rule_file(name: str, request: Request) -> Response:
        """Its text: rules, RML (`.ttl`), XSLT (`.xsl`), DOTR (`.dotr`), a rule set (`.ru`)."""
        if over_time.has(name):
            return tagged(Response(over_time.text(name), media_type=RULES_TYPE), request)
        found = application.rulebook.file(name)
        return tagged(Response(found.text, media_type=type_of(name)), request)

    @routed(
        routes,
        Operations.put_rule_file,
        summary="Put a rule file in force",
        openapi_extra={
            "parameters": IF_MATCH,
            "requestBody": {"required": True, "content": _TEXT},
        },
    )
    async def put_rule_file(
        name: str,
        request: Request,
        match: Annotated[Match, Depends(wanted)],
        dry_run: DryRun = None,
    ) -> ChangedBody | TriedBody | QueryTriedBody:
        """Check and swap: a new file, or instead of the one of this name, which says its language.

        RML ends in `.ttl` or `.turtle`, XSLT in `.xsl` or `.xslt`, rule sets of the reasoner in
        `.ru`, and rules over time, which run as the continuous query of this name, in `.dotr`.
        """
        _check_type(name, request)
        content = await request.body()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RulesError(f"the text is not UTF-8: {error}") from None
        if over_time.has(name):
            if dry_run is not None:
                trial = await run_in_threadpool(over_time.try_put, name, text)
                return query_tried_body(trial, application.timeline)
            entry = await run_in_threadpool(over_time.put, name, text, who(request), match)
            return ChangedBody(change=entry)
        if dry_run is not None:
            return tried_body(await run_in_threadpool(application.rulebook.try_put, name, text))
        put = application.rulebook.put
        change = await run_in_threadpool(put, name, text, who(request), match)
        return ChangedBody(change=change)

    @routed(
        routes,
        Operations.delete_rule_file,
        summary="Take a rule file out of force",
        openapi_extra={"parameters": IF_MATCH[:1]},
    )
    def delete_rule_file(
        name: str, request: Request, match: Annotated[Match, Depends(wanted)]
    ) -> ChangedBody:
        """What its rules have done stays; they do nothing more."""
        remove = over_time.remove if over_time.has(name) else application.rulebook.remove
        change = remove(name, who(request), match)
        return ChangedBody(change=change)

    add_versions(
        routes,
        "/rules/{name}",
        "a rule file",
        over_time.with_versions_of(application.rulebook.versions),
        _name,
        "Oldest first; none while the files of the settings have always been in force.",
        "The text that a change has put.",
        {"content": _TEXT},
    )

    return routes


def _check_type(name: str, request: Request) -> None:
    """Any type will do, such as none or text/plain, but that of another language."""
    sent, expected = media_type_of(request.headers.get("content-type", "")), type_of(name)
    if sent != expected and sent in (RML_TYPE, STYLESHEET_TYPE, RULE_SET_TYPE):
        raise HTTPException(
            415,
            f"'{sent}' is not what '{name[:60]}' is by its ending: expected {expected}, or for RML "
            "a name that ends in .ttl, for XSLT in .xsl, for a rule set in .ru",
        )


def _name(name: str) -> str:
    return name


_ENDING: Final = ".dotr"


class OverTime:
    """``/rules/NAME.dotr`` is the text of the continuous query ``NAME``."""

    def __init__(self, application: Application) -> None:
        self._queries = application.queries

    def has(self, name: str) -> bool:
        """Whether a name is that of a file with rules over time."""
        return PurePath(name).suffix.lower() == _ENDING

    def files(self) -> Iterator[tuple[str, str, str]]:
        """The names of all files and queries, and their texts."""
        for each in self._queries.views():
            if is_rules(each.text) and not each.stopped:
                yield f"{each.name}{_ENDING}", each.name, each.text

    def text(self, name: str) -> str:
        """The text of a file.

        Raises:
            UnknownRules: there is none of this name.
        """
        try:
            found = self._queries.view(_query(name)).text
        except UnknownQuery:
            found = ""
        if not is_rules(found):
            there = ", ".join(name for name, _, _ in self.files()) or "none"
            raise UnknownRules(f"no rules over time are named '{name[:60]}': there are {there}")
        return found

    def put(self, name: str, text: str, by: str, match: Match) -> str:
        """As :meth:`.Queries.put`.

        Returns:
            The journal's id of the change.

        Raises:
            QueryError: the text has no rules over time.
        """
        if not is_rules(text):
            raise QueryError(f"'{name[:60]}': expected rules over time: define … from …")
        return self._queries.put(_query(name), text, by, match).entry

    def try_put(self, name: str, text: str) -> QueryTrial:
        """As :meth:`.Queries.try_put`."""
        return self._queries.try_put(_query(name), text)

    def remove(self, name: str, by: str, match: Match) -> str:
        """As :meth:`.Queries.remove`.

        Returns:
            The journal's id of the change.

        Raises:
            UnknownRules: there is none of this name.
        """
        self.text(name)
        return self._queries.remove(_query(name), by, match)

    def with_versions_of(self, others: Kept) -> Kept:
        """The versions of files with rules over time, and of all other rule files."""
        return _Versions(self, self._queries.versions, others)


@dataclass(frozen=True, slots=True)
class _Versions:
    over_time: OverTime
    queries: Kept
    others: Kept

    def all(self, name: str = "") -> Iterator[Version]:
        if self.over_time.has(name):
            return self.queries.all(_query(name))
        return self.others.all(name)

    def one(self, change: str, name: str = "") -> Version:
        if self.over_time.has(name):
            return self.queries.one(change, _query(name))
        return self.others.one(change, name)


def _query(name: str) -> str:
    return name[: -len(_ENDING)]
