"""``/messages``: takes messages in, one or a batch, and gives their outcomes."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from sensorstream.alerts.alert_formats import alert_data, plain_time
from sensorstream.alerts.alert_records import LoggedDelivery
from sensorstream.app.application import Application
from sensorstream.app.life.pipeline import failed
from sensorstream.app.questions.message_questions import MOST_INDIVIDUALS, KnownOrigin
from sensorstream.client.operations import Operations
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Busy, MessageTooLarge, Position, RepeatedMessage, SensorStreamError
from sensorstream.history.asked_records import KeptMessage, QuarantineChoice
from sensorstream.model.events import Status
from sensorstream.server.access_rules import check_source
from sensorstream.server.addresses import admitted
from sensorstream.server.batches import JSON, LINES, read_batch
from sensorstream.server.idempotency import HEADER, REPLAYED, again, origin_of
from sensorstream.server.negotiation import XML_TYPES, check_xml, xml_of
from sensorstream.server.operation_routes import (
    App,
    Moment,
    OutcomeBody,
    RaisedAlertBody,
    next_page,
    outcome_answer,
    routed,
)
from sensorstream.server.problems import ContradictionBody, ProblemBody, problem_of

routes = APIRouter(tags=["messages"])
_AT_ONCE: Final = 500
"""Messages of a batch that may wait at a time: enough that the engine never waits for them."""
_IN_A_ROW: Final = 10
"""The messages of a batch that are entered before the requests of others have a turn."""
_FULL: Final = 0.05
"""Seconds between two attempts while there is no room."""

_XML: Final = {"type": "string", "format": "xml"}
_EARLY: Final = "respond-async"
_KEY: Final = HEADER.lower().encode()
_SOURCE: Final = "rest"
_LONGEST_SOURCE: Final = 200

Source = Annotated[
    str, Query(max_length=_LONGEST_SOURCE, description="Where the message comes from.")
]

IdempotencyKey = Annotated[
    str | None,
    Header(description="The same key and message again: the same answer, and no other effect."),
]
Preference = Annotated[str | None, Header(description="`respond-async`: answer 202, and early.")]


class BatchEntryBody(BaseModel):
    """One message of a batch: its outcome or its problem."""

    outcome: OutcomeBody | None = None
    problem: ProblemBody | None = None


class BatchBody(BaseModel):
    """The outcome of a batch; ``results`` are in the order of the messages."""

    accepted: int
    failed: int
    results: list[BatchEntryBody]


@routed(
    routes,
    Operations.send,
    "Post one XML message",
    OutcomeBody,
    responses={202: {"model": OutcomeBody}},
    body={each: {"schema": _XML} for each in XML_TYPES},
)
async def post_message(
    app: App,
    request: Request,
    source: Source = _SOURCE,
    idempotency_key: IdempotencyKey = None,
    prefer: Preference = None,
) -> Response:
    """Take one XML document in; answers when its effects are on disk.

    With `Prefer: respond-async`, and where the engines run on Spark: answers 202 when the
    message is in the journal.
    """
    return await take(app, request, source)


async def take(
    app: Application, request: Request, source: str, body: bytes | None = None
) -> Response:
    """Do :func:`post_message`; of some requests the ``body`` is here already."""
    check_source(request, source)
    fields = dict(request.scope["headers"])
    content_type = fields.get(b"content-type", b"").decode("latin-1")
    check_xml(content_type)
    sender = admitted(app, request.scope)
    origin = origin_of(request) if _KEY in fields else ""
    early = b"prefer" in fields and _wants_early(request)
    content = xml_of(await request.body() if body is None else body, content_type)
    entered = app.submit(content, source, sender, origin=origin, early=early)
    headers = {"Preference-Applied": _EARLY} if early else {}
    try:
        answer = outcome_answer((await _done(entered)).result(), app.timeline)
    except RepeatedMessage:
        known = (await _known(app, [origin])).get(origin)
        answer = again(app, known, content, source, early=early)
        headers |= REPLAYED
    if answer["status"] != Status.JOURNALLED.value:
        return _json(answer, 200, headers)
    headers["Location"] = f"/messages/{answer['message_id']}"
    return _json(answer, 202, headers)


def _json(answer: Mapping[str, Any], status: int = 200, headers: Any = None) -> Response:
    """An answer as JSON, in a quarter of the time that JSONResponse takes."""
    return Response(to_json(answer), status, headers, "application/json")


@routed(
    routes,
    Operations.send_batch,
    "Post many XML messages",
    BatchBody,
    body={
        **{each: {"schema": {"type": "array", "items": _XML}} for each in (JSON, LINES)},
        XML_TYPES[0]: {"schema": _XML},
    },
)
async def post_batch(
    app: App, request: Request, source: Source = _SOURCE, idempotency_key: IdempotencyKey = None
) -> Response:
    """Take XML documents in, in order; each succeeds or fails independently.

    The body is a JSON array of strings, one JSON string a line (NDJSON), or an XML document
    `Messages` whose children are the messages. They are let in piece by piece, in turn with
    the messages of others.
    """
    check_source(request, source)
    contents = await run_in_threadpool(
        read_batch, await request.body(), request.headers.get("content-type", "")
    )
    sender = admitted(app, request.scope, len(contents))
    origins = [origin_of(request, position) for position in range(len(contents))]
    limit = app.settings.server.max_message_bytes

    def enter(position: int) -> Future[Outcome]:
        content = contents[position]
        if len(content) > limit:
            told = f"the message holds {len(content)} bytes, the limit is {limit}"
            return failed(MessageTooLarge(told))
        return app.submit(content, source, sender, origin=origins[position])

    entered = [each async for each in _in_pieces(enter, len(contents))]
    known = await _known(
        app, [o for o, each in zip(origins, entered, strict=True) if _repeated(each)]
    )

    def answer(position: int) -> Mapping[str, Any]:
        if not _repeated(entered[position]):
            return outcome_answer(entered[position].result(), app.timeline)
        return again(app, known.get(origins[position]), contents[position], source)

    def answers() -> Response:
        results = [_entry(answer, position) for position in range(len(contents))]
        refused = sum("problem" in each for each in results)
        return _json({"accepted": len(results) - refused, "failed": refused, "results": results})

    # Those of thousands of messages take a time for which all others would wait.
    return await run_in_threadpool(answers)


def _wants_early(request: Request) -> bool:
    """Whether the client asks for an answer before the message is taken in (RFC 7240, 4.1)."""
    preferences = ",".join(request.headers.getlist("prefer")).split(",")
    return _EARLY in (each.partition(";")[0].strip().lower() for each in preferences)


async def _in_pieces(
    enter: Callable[[int], Future[Outcome]], count: int
) -> AsyncIterator[Future[Outcome]]:
    """Enter messages, some at a time; their futures in order, each done.

    Raises:
        Busy: there is no room for the first; the others wait for room.
    """
    under_way: deque[Future[Outcome]] = deque()
    for position in range(count):
        while True:
            if len(under_way) >= _AT_ONCE:
                yield await _done(under_way.popleft())
            entered = enter(position)
            if not (entered.done() and isinstance(busy := entered.exception(), Busy)):
                break
            if not position:
                raise busy
            if under_way:
                yield await _done(under_way.popleft())
            else:
                await asyncio.sleep(_FULL)
        under_way.append(entered)
        if position % _IN_A_ROW == _IN_A_ROW - 1:
            # Each is parsed here; requests of other clients come in between.
            await asyncio.sleep(0)
    for each in under_way:
        yield await _done(each)


async def _done(future: Future[Outcome]) -> Future[Outcome]:
    """Wait for the end of a future; asyncio's way costs several times as much for each message."""
    if future.done():
        return future
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake(_: Future[Outcome]) -> None:
        # A server that stops waits for nobody: then the loop is closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_end, waiter)

    future.add_done_callback(wake)
    await waiter
    return future


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _repeated(entered: Future[Outcome]) -> bool:
    return isinstance(entered.exception(), RepeatedMessage)


async def _known(application: Application, origins: Collection[str]) -> Mapping[str, KnownOrigin]:
    return await run_in_threadpool(application.messages.of_origins, origins) if origins else {}


def _entry(answer: Callable[[int], Mapping[str, Any]], position: int) -> dict[str, Any]:
    try:
        return {"outcome": answer(position)}
    except SensorStreamError as error:
        return {"problem": problem_of(error).document()}


Id = Annotated[str, Path(alias="id", description="the `message_id`, such as m42")]


class MessageBody(BaseModel):
    """A message in the journal. ``journalled``: it is not taken in yet."""

    seq: int
    message_id: str
    source: str
    received_at: datetime
    bytes: int
    status: Status
    reason: str


class MessagesBody(BaseModel):
    """A page of messages, newest first; ``next`` is the path of the page before, if any."""

    messages: list[MessageBody]
    next: str | None


class CountedBody(BaseModel):
    """The number of messages of each status that arrived from ``at`` on, for some seconds."""

    at: datetime
    counts: dict[Status, int]


class CountsBody(BaseModel):
    """The numbers of messages over time; a part without messages is left out."""

    seconds: int = Field(description="the length of each part")
    parts: list[CountedBody]
    oldest: datetime | None = Field(
        description="when the oldest message that was looked at arrived; null: all chosen ones were"
    )


class ErrorBody(BaseModel):
    """Why a message was not taken in."""

    code: str
    message: str
    position: Position | None


class StatementsBody(BaseModel):
    """Statements that a message said (asserted) and caused (inferred)."""

    asserted: int
    inferred: int


class LifeBody(MessageBody):
    """The effects of a message up to now. A null is not known."""

    time: int | str | None = Field(description="application time at which it was taken in")
    error: ErrorBody | None = Field(description="why it was rejected")
    contradiction: ContradictionBody | None
    matched: list[str] | None = Field(
        description="names of the mapping rules that matched; null: it is not taken in yet, or was "
        "by a version that did not keep it"
    )
    individuals: list[str] | None
    filtered: list[str] | None
    shed: list[str] | None
    replies: list[str] | None
    warnings: list[str] | None
    alerts: list[RaisedAlertBody] | None
    deliveries: list[LoggedDelivery] | None = Field(description="of these alerts to webhooks")
    replay_of: str | None = Field(description="the quarantined message that it came instead of")
    replay: str | None = Field(description="the message that came instead of it")
    dismissed_at: datetime | None = Field(description="when it was taken out of quarantine")
    in_window: StatementsBody = Field(description=f"about its first {MOST_INDIVIDUALS} individuals")
    in_history: StatementsBody = Field(
        description=f"about its first {MOST_INDIVIDUALS} individuals"
    )
    left_at: int | str | None = Field(
        description="application time at which the last of them left for history"
    )


_QUOTED: Final = re.compile(r'"([^"]+)"|(\S+)')
_MOST_WORDS: Final = 8


def _words(text: str) -> str:
    if not 0 < len(_QUOTED.findall(text)) <= _MOST_WORDS:
        raise ValueError(f"expected 1 to {_MOST_WORDS} words")
    return text


async def _chosen(
    status: Annotated[Status | None, Query(description="only those that are so now")] = None,
    source: Annotated[str | None, Query(description="only those of this source")] = None,
    since: Annotated[Moment | None, Query(description="only those received then or later")] = None,
    until: Annotated[Moment | None, Query(description="only those received before")] = None,
    text: Annotated[
        Annotated[str, AfterValidator(_words)] | None,
        Query(max_length=200, description='only those with all these words; `"…"` is one word'),
    ] = None,
) -> dict[str, Any]:
    state = None if status is None else status.value
    return {"status": state, "source": source, "since": since, "until": until, "text": text}


_Choosing = Annotated[dict[str, Any], Depends(_chosen)]


def _choice(asked: Mapping[str, Any], before: int | None = None) -> QuarantineChoice:
    told = dict(asked)
    found = _QUOTED.findall(told.pop("text") or "")
    words = tuple(quoted or plain for quoted, plain in found)
    return QuarantineChoice(**told, before=before, words=words or None)


@routed(routes, Operations.messages, "List messages", MessagesBody)
def list_messages(
    app: App,
    asked: _Choosing,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(description="`seq` of the page's last one")] = None,
) -> JSONResponse:
    """The messages in the journal, newest first, and what became of each.

    For words it looks at the newest 20,000 messages, or 64 MiB, of those chosen otherwise; `next`
    goes on with older ones.
    """
    found, rest = app.reader.kept_messages(_choice(asked, before), limit)
    following = None
    if rest is not None:
        following = next_page("/messages", (), 0, **asked, limit=limit, before=rest)
    return JSONResponse({"messages": [_summary(each) for each in found], "next": following})


@routed(routes, Operations.message_counts, "Count messages over time", CountsBody)
def count_messages(
    app: App,
    asked: _Choosing,
    parts: Annotated[int, Query(ge=1, le=500, description="about so many parts")] = 60,
) -> JSONResponse:
    """The numbers of messages by time of arrival and status: of the newest 100,000 chosen ones, for
    words of as many as a list looks at.
    """
    told = app.reader.count_messages(_choice(asked), parts)
    found: dict[int, dict[str, int]] = {}
    for part, status, count in told.counts:
        found.setdefault(part, {})[(status or Status.JOURNALLED).value] = count
    return JSONResponse(
        {
            "seconds": told.seconds,
            "parts": [
                {
                    "at": datetime.fromtimestamp(part * told.seconds, UTC).isoformat(),
                    "counts": counts,
                }
                for part, counts in found.items()
            ],
            "oldest": told.oldest and told.oldest.isoformat(),
        }
    )


@routed(routes, Operations.message, "What became of a message", LifeBody)
def show_message(app: App, id_: Id) -> JSONResponse:
    """Show the effects of a message up to now, in the window, in history and in deliveries."""
    life = app.messages.life(id_)
    line, known, facts = app.timeline, life.facts is not None, life.facts or {}

    def instant(value: int | None) -> int | str | None:
        return None if value is None else plain_time(value, line)

    contradiction, dismissed = life.message.contradiction, life.message.dismissed_at
    lists = ("matched", "individuals", "filtered", "shed", "replies", "warnings")
    alerts = [{**alert_data(each, line), "seq": each.seq} for each in life.alerts]
    return JSONResponse(
        {
            **_summary(life.message),
            "time": instant(facts.get("time")),
            "error": facts.get("error"),
            "contradiction": None if contradiction is None else asdict(contradiction),
            **{name: facts.get(name) for name in lists},
            "alerts": alerts if known else None,
            "deliveries": jsonable_encoder(life.deliveries) if known else None,
            "replay_of": life.message.replay_of or None,
            "replay": life.replay,
            "dismissed_at": dismissed and dismissed.isoformat(),
            "in_window": _counts(*life.live),
            "in_history": _counts(life.left.asserted, life.left.inferred),
            "left_at": instant(life.left.at),
        }
    )


@routed(
    routes,
    Operations.message_content,
    "The content of a message",
    types={"application/xml": {"schema": {"type": "string"}}},
    response_class=Response,
)
def show_content(app: App, id_: Id) -> Response:
    """The message as it came, byte by byte."""
    # It may be a page with scripts: no browser may take it for one of the server's own.
    headers = {"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"}
    content = app.reader.content_of_message(id_)
    return Response(content, media_type="application/xml", headers=headers)


def _summary(message: KeptMessage) -> dict[str, Any]:
    return {
        "seq": message.seq,
        "message_id": message.id,
        "source": message.source,
        "received_at": message.received_at.isoformat(),
        "bytes": message.size,
        "status": (message.status or Status.JOURNALLED).value,
        "reason": message.reason,
    }


def _counts(asserted: int, inferred: int) -> dict[str, int]:
    return {"asserted": asserted, "inferred": inferred}
