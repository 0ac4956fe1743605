"""``/rules`` and ``/trials``: the rules in force, and their files, changed and tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, Field
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.control.mapping_files import (
    RML_TYPE,
    RULE_SET_TYPE,
    RULES_TYPE,
    STYLESHEET_TYPE,
    type_of,
)
from sensorstream.app.control.rulebook import OnDisk
from sensorstream.app.control.versions import Match, ResourceVersions, digest_of
from sensorstream.app.why.message_trials import MOST_MESSAGES, MOST_STATEMENTS
from sensorstream.client.operations import Operations
from sensorstream.errors import (
    MalformedMessage,
    Position,
    QueryError,
    RulesError,
    UnknownQuery,
    UnknownRules,
)
from sensorstream.mapping.rule_report import Explanation
from sensorstream.model.terms import statement_text
from sensorstream.server.negotiation import media_type_of, tagged
from sensorstream.server.operation_routes import TOLD, App, AskedBody, body_of, routed
from sensorstream.server.rest.queries_routes import QueryTriedBody
from sensorstream.server.rest.versioned_routes import (
    IF_MATCH,
    By,
    ChangedBody,
    DryRun,
    FaultBody,
    TriedBody,
    WantedChange,
    add_versions,
    fault_bodies,
)
from sensorstream.sparql.dotr.dotr_reader import is_rules

routes = APIRouter(tags=["rules"])
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


@routed(routes, Operations.rules, "List the rules in force")
def list_rules(app: App, response: Response) -> RulesBody:
    """The mapping rules and the semantic rules that run, and their files."""
    book = app.rulebook.files()
    response.headers["ETag"] = f'"{book.digest}"'
    return RulesBody(
        rules=[body_of(RuleBody, each) for each in app.rules()],
        files=[body_of(RuleFileBody, each) for each in book.files],
        over_time=[
            OverTimeBody(name=name, digest=digest_of(text), query=query)
            for name, query, text in OverTime(app).files()
        ],
        tables=dict(book.tables),
        origin=book.origin,
        digest=book.digest,
    )


@routed(
    routes,
    Operations.put_rule_files,
    "Put a whole set of rule files in force",
    headers=IF_MATCH[:1],
)
def put_rules(
    app: App, body: RuleSetBody, by: By, match: WantedChange, dry_run: DryRun = None
) -> ChangedBody | TriedBody:
    """Check and swap, whole or not at all; answers when they are in force."""
    if dry_run is not None:
        return body_of(TriedBody, app.rulebook.try_all(body.files))
    return ChangedBody(change=app.rulebook.put_all(body.files, by, match))


@routed(
    routes, Operations.rule_file, "Read a rule file in force", types=_TEXT, response_class=Response
)
def read_rule_file(app: App, name: str, request: Request) -> Response:
    """Its text: rules, RML (`.ttl`), XSLT (`.xsl`), DOTR (`.dotr`), a rule set (`.ru`)."""
    over_time = is_over_time(name)
    text = OverTime(app).text(name) if over_time else app.rulebook.file(name).text
    media_type = RULES_TYPE if over_time else type_of(name)
    return tagged(Response(text, media_type=media_type), request)


@routed(routes, Operations.put_rule_file, "Put a rule file in force", headers=IF_MATCH, body=_TEXT)
async def put_rule_file(
    app: App, name: str, request: Request, by: By, match: WantedChange, dry_run: DryRun = None
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
    if dry_run is None:
        put = OverTime(app).put if is_over_time(name) else app.rulebook.put
        return ChangedBody(change=await run_in_threadpool(put, name, text, by, match))
    if is_over_time(name):
        trial = await run_in_threadpool(app.queries.try_put, _query(name), text)
        return body_of(QueryTriedBody, trial, app.timeline)
    return body_of(TriedBody, await run_in_threadpool(app.rulebook.try_put, name, text))


@routed(routes, Operations.delete_rule_file, "Take a rule file out of force", headers=IF_MATCH[:1])
def delete_rule_file(app: App, name: str, by: By, match: WantedChange) -> ChangedBody:
    """Delete a file of rules. Effects of its rules stay."""
    remove = OverTime(app).remove if is_over_time(name) else app.rulebook.remove
    return ChangedBody(change=remove(name, by, match))


def _check_type(name: str, request: Request) -> None:
    """Refuse the media type of another language; any other, or none, is accepted."""
    sent, expected = media_type_of(request.headers.get("content-type", "")), type_of(name)
    if sent != expected and sent in (RML_TYPE, STYLESHEET_TYPE, RULE_SET_TYPE):
        raise HTTPException(
            415,
            f"'{sent}' is not what '{name[:60]}' is by its ending: expected {expected}, or for RML "
            "a name that ends in .ttl, for XSLT in .xsl, for a rule set in .ru",
        )


_ENDING: Final = ".dotr"


def is_over_time(name: str) -> bool:
    """Whether a name is that of a file with rules over time."""
    return PurePath(name).suffix.lower() == _ENDING


def _query(name: str) -> str:
    return name[: -len(_ENDING)]


class OverTime:
    """``/rules/NAME.dotr`` is the text of the continuous query ``NAME``."""

    def __init__(self, app: Application) -> None:
        self._queries = app.queries

    def files(self) -> Iterator[tuple[str, str, str]]:
        """The names of all files and queries, and their texts."""
        for each in self._queries.views():
            if is_rules(each.text) and not each.stopped and not each.stage:
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
        """Put one in force, see :meth:`.Queries.put`; returns the journal's id of the change.

        Raises:
            QueryError: the text has no rules over time.
        """
        if not is_rules(text):
            raise QueryError(f"'{name[:60]}': expected rules over time: define … from …")
        return self._queries.put(_query(name), text, by, match).entry

    def remove(self, name: str, by: str, match: Match) -> str:
        """Take one out of force, see :meth:`.Queries.remove`; returns the journal's id of the
        change.

        Raises:
            UnknownRules: there is none of this name.
        """
        self.text(name)
        return self._queries.remove(_query(name), by, match)


def _versions(app: Application, name: str) -> tuple[ResourceVersions, str]:
    if is_over_time(name):
        return app.queries.versions, _query(name)
    return app.rulebook.versions, name


async def _name(name: str) -> str:
    return name


add_versions(
    routes,
    "/rules/{name}",
    "a rule file",
    _versions,
    _name,
    (
        "Oldest first; none while the files of the settings have always been in force.",
        "The text that a change has put.",
    ),
    {"content": _TEXT},
)


_ENCODING: Final = re.compile(r"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")


_Lines: TypeAlias = Annotated[
    list[str], BeforeValidator(lambda triples: list(map(statement_text, triples[:MOST_STATEMENTS])))
]


class MessageTrialBody(AskedBody):
    """A message, and texts of rule files by name that count instead of those in force."""

    message: str = Field(examples=["<Message/>"])
    source: str = Field(default="rest", max_length=200)
    files: dict[str, str] = Field(default={}, examples=[{"tracking.rules": "prefix : <urn:x:>"}])
    after: int = Field(
        default=0, ge=0, le=MOST_MESSAGES, description="so many of the last messages come first"
    )


class AlertTriedBody(BaseModel):
    """An alert that would be raised."""

    severity: str
    rule: str = Field(description="or the kind of an alert of the system")
    text: str


class MessageTriedBody(BaseModel):
    """Nothing was taken in: what is wrong with the rules, or what they make of the message."""

    model_config = TOLD

    faults: list[FaultBody]
    status: str = Field(description="that the message would have; empty: nothing was tried")
    reason: str
    matched: list[str]
    warnings: list[str]
    explanations: list[Explanation]
    unexplained: str = Field(description="why there are no explanations; empty if there are")
    statements: _Lines = Field(description="what mapping rules make of it, as N-Triples")
    added: _Lines = Field(description="what semantic rules insert")
    inferred: _Lines = Field(description="what follows, by the profile `reasoner`")
    reasoner: str = Field(description="the profile of the deployment, which has inferred")
    left_out: int = Field(description=f"statements beyond the first {MOST_STATEMENTS} of a sort")
    alerts: list[AlertTriedBody]
    preceding: int = Field(description="messages that were taken in first")


@routed(routes, Operations.try_message, "Try a message")
def try_message(app: App, body: MessageTrialBody) -> MessageTriedBody:
    """Try a message on the rules, or on others: nothing is taken in or put.

    An engine of its own takes the message in: it holds nothing else, or the last messages.
    """
    content = _content(body.message)
    trial = app.rulebook.try_message(content, body.source, body.files, body.after)
    sorts = (trial.statements, trial.added, trial.inferred)
    told = {each.name: getattr(trial, each.name) for each in fields(trial)}
    told["faults"] = fault_bodies(trial.faults)
    told["alerts"] = [
        AlertTriedBody(severity=each.severity, rule=each.rule or each.kind, text=each.text)
        for each in trial.alerts
    ]
    told["left_out"] = sum(max(0, len(each) - MOST_STATEMENTS) for each in sorts)
    return MessageTriedBody(**told)


def _content(message: str) -> bytes:
    """The bytes of a message, in the encoding that it declares."""
    declared = _ENCODING.match(message)
    encoding = "utf-8" if declared is None else declared.group(1)
    try:
        return message.encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise MalformedMessage(f"the message is not text in {encoding}: {error}") from None
