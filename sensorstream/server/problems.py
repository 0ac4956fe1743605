"""The one shape of errors: every failed request is answered by a problem document (RFC 9457)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sensorstream import errors
from sensorstream.errors import (
    MOST,
    Contradiction,
    Position,
    SensorStreamError,
    address_of,
    shortened,
)
from sensorstream.model.frozen import asdict, frozen, settle
from sensorstream.server.negotiation import media_type_of

MEDIA_TYPE: Final = "application/problem+json"
_TYPE: Final = "urn:sensorstream:error:"

# The nearest class in this table, by inheritance, gives status and title.
_KINDS: Final[Mapping[type[SensorStreamError], tuple[int, str]]] = {
    errors.SensorStreamError: (500, "SensorStream could not do this"),
    errors.SettingsError: (422, "The settings do not fit"),
    errors.OntologyError: (422, "The ontology cannot be used"),
    errors.OntologyConflict: (409, "The ontology cannot be put in force now"),
    errors.LanguageError: (422, "A rule does not fit"),
    errors.RulesError: (422, "The rule files cannot be changed in this way"),
    errors.UnknownRules: (404, "There is no such rule file"),
    errors.ChangedMeanwhile: (412, "It has changed meanwhile"),
    errors.UnknownVersion: (404, "There is no such version"),
    errors.TermError: (400, "Not a valid value"),
    errors.MessageError: (422, "The message cannot be taken in"),
    errors.MalformedMessage: (400, "The message is not acceptable XML"),
    errors.MessageTooLarge: (413, "The message is too large"),
    errors.RepeatedMessage: (409, "The message is in the journal already"),
    errors.ReusedKey: (422, "The key belongs to another message"),
    errors.InvalidMessage: (422, "The message is not valid against its schema"),
    errors.ViolatedShapes: (422, "The message violates shapes"),
    errors.MappingError: (422, "A mapping rule matched, but a value is missing or invalid"),
    errors.InvalidTerm: (422, "A statement is not RDF"),
    errors.Inconsistent: (422, "The message contradicts the ontology"),
    errors.RuleError: (422, "A semantic rule's action cannot be carried out"),
    errors.RuleCycle: (422, "The semantic rules did not stop changing the knowledge base"),
    errors.QueryError: (400, "The query cannot be run"),
    errors.QueryConflict: (409, "The query cannot be registered now"),
    errors.UnknownAlert: (404, "There is no such alert"),
    errors.AlertError: (409, "The alert cannot be changed in this way"),
    errors.UnknownSilence: (404, "There is no such silence"),
    errors.UnknownIndividual: (404, "There is no such individual"),
    errors.UnknownMessage: (404, "There is no such message"),
    errors.UnknownQuery: (404, "There is no such query"),
    errors.UnsupportedQuery: (422, "The query has a part that cannot be answered here"),
    errors.AccessError: (403, "Not allowed"),
    errors.Unauthenticated: (401, "A valid key is needed"),
    errors.Forbidden: (403, "The key may not do this"),
    errors.UnknownKey: (404, "There is no such key"),
    errors.WebhookError: (422, "The webhook cannot be registered"),
    errors.UnknownWebhook: (404, "There is no such webhook"),
    errors.UnknownDelivery: (404, "There is no such delivery"),
    errors.ReasonerError: (503, "The reasoner failed"),
    errors.HistoryError: (503, "The persistent knowledge base failed"),
    errors.Unstorable: (422, "The history cannot hold a value"),
    errors.ArchiveError: (503, "The archive failed"),
    errors.JournalError: (409, "The entry of the journal cannot be skipped"),
    errors.Unavailable: (503, "Not now"),
    errors.Busy: (503, "Too much waits already"),
    errors.TooFast: (429, "Too many messages"),
    errors.Overrun: (422, "It took more than a limit allows"),
    errors.InternalFault: (500, "A fault of the server"),
    errors.NotIncremental: (422, "The query cannot run continuously"),
    errors.SparkError: (503, "Spark failed"),
    errors.JobError: (409, "The job cannot go on"),
    errors.UnknownJob: (404, "There is no such job"),
    errors.TooManyJobs: (429, "Too many jobs wait"),
    errors.UnfinishedJob: (409, "The job has no result yet"),
    errors.JobCancelled: (409, "The job was cancelled"),
    errors.LostJob: (503, "The job was lost"),
    errors.RunsOnSpark: (409, "The engines run on Spark"),
    errors.MissingExtra: (501, "This server lacks an optional part"),
}

_CONTRADICTIONS: Final = (errors.Inconsistent, errors.OntologyConflict)

# Errors of HTTP itself, by status.
_HTTP_CODES: Final[Mapping[int, str]] = {
    400: "bad-request",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "request-timeout",
    413: errors.MessageTooLarge.code,
    415: "unsupported-media-type",
    421: "misdirected-request",
    422: "invalid-request",
    431: "header-too-large",
    500: "internal",
    501: "not-implemented",
    503: "unavailable",
}


class ContradictionBody(BaseModel):
    """A contradiction: a minimal set of statements, unless `limits` says otherwise."""

    triples: list[str] = Field(description="assertions in N-Triples")
    axioms: list[str] = Field(description="the ontology's axioms in Manchester syntax")
    limits: str = Field(description="what is left open and why; empty when nothing is")


class ProblemBody(BaseModel):
    """The answer to a failed request (RFC 9457)."""

    type: str = Field(examples=["urn:sensorstream:error:malformed-message"])
    title: str
    status: int
    detail: str
    position: Position | None = None
    message_id: str | None = Field(
        default=None, description="the journalled message that could not be taken in"
    )
    contradiction: ContradictionBody | None = Field(
        default=None, description="what clashes, where that is the problem"
    )
    see: str = Field(
        examples=["docs/use/mapping-rules.html#schemas"],
        description="the page of the documents that says more, in the site of `sensorstream docs`",
    )


@frozen
class Problem:
    """The fields that REST bodies and SOAP faults are made from."""

    code: str
    title: str
    status: int
    detail: str
    position: Position | None = None
    message_id: str | None = None
    contradiction: Contradiction | None = None
    see: str = address_of(errors.RequestRefused.page)

    def __post_init__(self) -> None:
        settle(self, "detail", shortened(self.detail))

    @property
    def type(self) -> str:
        return _TYPE + self.code

    def document(self) -> dict[str, Any]:
        told = {name: each for name, each in asdict(self).items() if each is not None}
        del told["code"]
        return {"type": self.type, **told}


def problem_of(error: SensorStreamError) -> Problem:
    """The problem document of an error."""
    kind = next(each for each in type(error).__mro__ if each in _KINDS)
    status, title = _KINDS[kind]
    found = error.contradiction if isinstance(error, _CONTRADICTIONS) else None
    told = error.message, error.position, error.message_id
    return Problem(error.code, title, status, *told, found, address_of(error.page))


def http_problem(status: int, detail: str = "") -> Problem:
    """The problem document of an HTTP error."""
    title = HTTPStatus(status).phrase
    return Problem(_HTTP_CODES.get(status, "http"), title, status, detail or title)


def unexpected() -> Problem:
    """The problem document of a defect; it contains no internal details."""
    return http_problem(500, "An unexpected error happened; the server's log has the details.")


class _ProblemResponse(JSONResponse):
    def render(self, content: Any) -> bytes:
        # It may quote a client's text, also half a character (a lone surrogate).
        return json.dumps(content, ensure_ascii=False).encode(errors="backslashreplace")


def respond(
    problem: Problem,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """A problem as a response; ``more`` are extension members (RFC 9457, section 3.2)."""
    return _ProblemResponse(
        {**problem.document(), **(more or {})},
        status_code=problem.status,
        headers=headers,
        media_type=MEDIA_TYPE,
    )


def refusal(error: SensorStreamError | HTTPException) -> JSONResponse:
    """The answer to a request that met an error, and how to go on (RFC 6750, section 3)."""
    if isinstance(error, HTTPException):
        return respond(http_problem(error.status_code, error.detail), error.headers)
    problem = problem_of(error)
    headers = {}
    if later := _later(error, problem):
        headers["Retry-After"] = later
    if isinstance(error, errors.AccessError):
        insufficient = isinstance(error, errors.Forbidden)
        more = ', error="insufficient_scope"' if insufficient else ""
        headers["WWW-Authenticate"] = f'Bearer realm="sensorstream"{more}'
    return respond(problem, headers)


def _later(error: SensorStreamError, problem: Problem) -> str:
    """The seconds after which a request may be sent again; "": it need not be."""
    if isinstance(error, errors.Busy | errors.TooFast):
        return str(max(1, math.ceil(error.retry_after)))
    return "1" if problem.status in (429, 503) else ""


def _said(fault: Mapping[str, Any]) -> str:
    # Pydantic says the same of a dataclass in the words of Python.
    unknown = fault["type"] == "unexpected_keyword_argument"
    return "Extra inputs are not permitted" if unknown else str(fault["msg"])


def install(app: FastAPI, refused_method: Callable[[str], Response]) -> None:
    """Answer every error of ``app`` by a problem document; ``refused_method`` has that of a path to
    a method that it has not.
    """

    @app.exception_handler(SensorStreamError)
    async def own(_request: Request, error: SensorStreamError) -> JSONResponse:
        return refusal(error)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            return refused_method(request.scope["path"])
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        media_type = media_type_of(request.headers.get("content-type", ""))
        if media_type != "application/json" and any(e["loc"] == ("body",) for e in error.errors()):
            return respond(http_problem(415, f"expected application/json, not '{media_type}'"))
        places = [
            {"where": ".".join(map(str, each["loc"])), "message": _said(each)}
            for each in error.errors()[:MOST]
        ]
        detail = "; ".join(f"{each['where']}: {each['message']}" for each in places)
        return respond(http_problem(422, detail), more={"errors": places})

    @app.exception_handler(ClientDisconnect)
    async def away(_request: Request, _error: ClientDisconnect) -> JSONResponse:
        # This answer is not sent: the client left, or was too slow, before its body was here.
        return respond(http_problem(408))

    @app.exception_handler(Exception)
    async def defect(_request: Request, _error: Exception) -> JSONResponse:
        # Starlette raises the error again after this answer; uvicorn logs it and closes.
        return respond(unexpected(), {"Connection": "close"})
