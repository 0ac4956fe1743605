"""``/quarantine``: messages that were kept but not taken in."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from sensorstream.app.application import Application
from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction, RepeatedMessage
from sensorstream.journal.message import origin_of_replay
from sensorstream.server.answers import OutcomeBody, outcome_answer
from sensorstream.server.negotiation import check_xml
from sensorstream.server.problems import ContradictionBody
from sensorstream.server.senders import admitted


class QuarantinedBody(BaseModel):
    """A message that was not taken in, or not all of it, and why."""

    seq: int
    message_id: str
    source: str
    received_at: datetime
    status: Literal["unmatched", "partial", "rejected", "skipped"]
    reason: str
    content: str
    contradiction: ContradictionBody | None = None


class QuarantineBody(BaseModel):
    """A page of messages, newest first; ``next`` is the path of the page before, if any."""

    messages: list[QuarantinedBody]
    next: str | None


def router(application: Application) -> APIRouter:
    """The quarantine resource."""
    routes = APIRouter(tags=["messages"])

    @routes.get("/quarantine", summary="List messages not taken in")
    def list_quarantined(
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(description="`seq` of the page's last one")] = None,
    ) -> QuarantineBody:
        """Messages not taken in or not whole, with their reason and content, newest first.

        Those that were replayed are left out.
        """
        found = application.quarantine(limit, before)
        messages = [
            QuarantinedBody(
                seq=each.seq,
                message_id=each.id,
                source=each.source,
                received_at=each.received_at,
                status=each.status,
                reason=each.reason,
                content=each.content.decode(errors="replace"),
                contradiction=_contradiction(each.contradiction),
            )
            for each in found
        ]
        more = len(found) == limit
        following = f"/quarantine?limit={limit}&before={found[-1].seq}" if more else None
        return QuarantineBody(messages=messages, next=following)

    @routes.post(
        "/quarantine/{id}/replay",
        summary="Take a message in anew",
        responses={200: {"model": OutcomeBody}, 202: {"model": OutcomeBody}},
        openapi_extra={
            "requestBody": {
                "required": False,
                "content": {
                    "application/xml": {"schema": {"type": "string", "format": "xml"}},
                },
            }
        },
    )
    async def replay_message(
        id_: Annotated[str, Path(alias="id", description="the `message_id`, such as m42")],
        request: Request,
    ) -> JSONResponse:
        """Take a message in anew as it came, or as the body has it; it leaves the quarantine.

        It is a message of its own, whose journal entry names the old one. A message is replayed
        once; what is not taken in then is in quarantine itself.
        """
        old, content = await run_in_threadpool(application.messages.in_quarantine, id_)
        corrected = await request.body()
        if corrected:
            check_xml(request.headers.get("content-type", ""))
        sender = admitted(application, request.scope)
        entered = application.submit(
            corrected or content, old.source, sender, origin=origin_of_replay(old.id)
        )
        try:
            outcome = await asyncio.wrap_future(entered)
        except RepeatedMessage:
            raise RepeatedMessage(f"message {old.id} was replayed before") from None
        return JSONResponse(
            outcome_answer(outcome, application.timeline),
            202 if outcome.status is Status.JOURNALLED else 200,
        )

    return routes


def _contradiction(found: Contradiction | None) -> ContradictionBody | None:
    if found is None:
        return None
    return ContradictionBody(
        triples=list(found.triples), axioms=list(found.axioms), limits=found.limits
    )
