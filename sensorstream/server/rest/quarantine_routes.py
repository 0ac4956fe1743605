"""``/quarantine``: messages that were kept but not taken in."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, BeforeValidator, Field
from starlette.concurrency import run_in_threadpool

from sensorstream.app.application import Application
from sensorstream.app.questions.message_questions import MOST, Replayed
from sensorstream.client.operations import Operations
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import RepeatedMessage
from sensorstream.history.asked_records import QuarantineChoice
from sensorstream.model.events import Status
from sensorstream.server.addresses import admitted
from sensorstream.server.negotiation import xml_of
from sensorstream.server.operation_routes import (
    App,
    Moment,
    OutcomeBody,
    body_of,
    next_page,
    outcome_answer,
    routed,
)
from sensorstream.server.problems import ContradictionBody, ProblemBody, problem_of

routes = APIRouter(tags=["messages"])
_Kind = Literal["unmatched", "partial", "rejected", "skipped"]
_Id = Annotated[str, Path(alias="id", description="the `message_id`, such as m42")]
_Seq = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


class QuarantinedBody(BaseModel):
    """A message that was not taken in, or not all of it, and why."""

    seq: int
    message_id: str = Field(validation_alias="id")
    source: str
    received_at: datetime
    status: _Kind
    reason: str
    code: Annotated[str | None, BeforeValidator(lambda code: code or None)] = Field(
        description="of the error that rejected it; null: there was none"
    )
    content: Annotated[str, BeforeValidator(lambda content: content.decode(errors="replace"))]
    contradiction: ContradictionBody | None = None


class QuarantineBody(BaseModel):
    """A page of messages, newest first; ``next`` is the path of the page before, if any."""

    messages: list[QuarantinedBody]
    next: str | None


class ReplayedBody(BaseModel):
    """A message of the quarantine, and what became of it: its outcome or its problem."""

    replay_of: str
    outcome: OutcomeBody | None = None
    problem: ProblemBody | None = None


class ReplaysBody(BaseModel):
    """Outcomes of the replays. ``next`` is the path to POST to for the ``left`` messages."""

    replayed: int = Field(description="taken in, nothing of them is in quarantine now")
    failed: int
    left: int
    results: list[ReplayedBody]
    next: str | None


class DismissedBody(BaseModel):
    """Numbers of messages: taken out of quarantine, and chosen but left there."""

    dismissed: int
    left: int


async def _chosen(
    status: _Kind | None = None,
    code: Annotated[
        str | None, Query(max_length=100, description="of the error that rejected them")
    ] = None,
    source: Annotated[str | None, Query(description="only those of this source")] = None,
    since: Annotated[Moment | None, Query(description="only those received then or later")] = None,
    until: Annotated[Moment | None, Query(description="only those received before")] = None,
    after: Annotated[_Seq, Query(description="only those with a `seq` above")] = None,
    before: Annotated[_Seq, Query(description="only those with a `seq` below")] = None,
) -> QuarantineChoice:
    return QuarantineChoice(status, code, source, since, until, after, before)


_Choosing = Annotated[QuarantineChoice, Depends(_chosen)]


@routed(routes, Operations.quarantine, "List messages not taken in")
def list_quarantined(
    app: App, chosen: _Choosing, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> QuarantineBody:
    """Messages not taken in or not whole, with their reason and content, newest first.

    Those that were replayed or dismissed are left out.
    """
    found = app.reader.quarantined(limit, chosen)
    asked = {"limit": limit, **asdict(chosen), "before": found[-1].seq if found else None}
    return QuarantineBody(
        messages=[body_of(QuarantinedBody, each) for each in found],
        next=next_page("/quarantine", found, limit, **asked),
    )


@routed(routes, Operations.dismiss_all, "Take messages out of quarantine")
def dismiss_messages(app: App, chosen: _Choosing) -> DismissedBody:
    """Take the chosen messages out of quarantine, without anything else all of them; at most
    10,000, oldest first. The journal keeps them.
    """
    gone, left = app.messages.dismiss_all(chosen)
    return DismissedBody(dismissed=gone, left=left)


@routed(routes, Operations.replay_all, "Take many messages in anew", ReplaysBody)
def replay_messages(
    app: App,
    request: Request,
    chosen: _Choosing,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
) -> JSONResponse:
    """Take the chosen messages in anew, as they came, oldest first; without anything chosen,
    all of them. What is in quarantine because of this is chosen by no `next`.
    """
    choice = app.reader.choose(chosen, limit)
    done: list[Replayed] = []
    if choice.first:
        sender = admitted(app, request.scope, len(choice.first))
        done += app.messages.replay_all(choice, sender)
    left = choice.count - len(choice.first)
    following = None
    if left > 0:
        rest = {**asdict(chosen), "after": choice.first[-1][0], "before": choice.newest + 1}
        following = next_page("/quarantine/replay", (), 0, limit=limit, **rest)
    well = sum(each.well for each in done)
    return JSONResponse(
        {
            "replayed": well,
            "failed": len(done) - well,
            "left": left,
            "results": [_replayed(app, each) for each in sorted(done, key=lambda each: each.seq)],
            "next": following,
        }
    )


@routed(routes, Operations.dismiss, "Take a message out of quarantine", status_code=204)
def dismiss_message(app: App, id_: _Id) -> None:
    """Take a message out of quarantine; the journal keeps it."""
    app.messages.dismiss(id_)


@routed(
    routes,
    Operations.replay,
    "Take a message in anew",
    OutcomeBody,
    responses={202: {"model": OutcomeBody}},
    openapi_extra={
        "requestBody": {
            "required": False,
            "content": {"application/xml": {"schema": {"type": "string", "format": "xml"}}},
        }
    },
)
async def replay_message(app: App, id_: _Id, request: Request) -> JSONResponse:
    """Take a message in anew as it came, or as the body has it; it leaves the quarantine.

    It is a message of its own, whose journal entry names the old one. A message is replayed
    once; what is not taken in then is in quarantine itself.
    """
    corrected = await request.body()
    if corrected:
        corrected = xml_of(corrected, request.headers.get("content-type", ""))
    sender = admitted(app, request.scope)
    entered = await run_in_threadpool(app.messages.replay, id_, corrected or None, sender)
    try:
        outcome = await asyncio.wrap_future(entered)
    except RepeatedMessage:
        raise RepeatedMessage(f"message {id_} was replayed before") from None
    status = 202 if outcome.status is Status.JOURNALLED else 200
    return JSONResponse(outcome_answer(outcome, app.timeline), status)


def _replayed(app: Application, each: Replayed) -> dict[str, Any]:
    if isinstance(each.told, Outcome):
        told = {"outcome": outcome_answer(each.told, app.timeline)}
    else:
        told = {"problem": problem_of(each.told).document()}
    return {"replay_of": each.name, **told}
