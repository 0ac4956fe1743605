"""``GET /messages`` and ``GET /messages/{id}``: what became of messages."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from sensorstream.alerts.cloudevents import alert_data, plain_time
from sensorstream.app.application import Application
from sensorstream.app.messages import MOST_INDIVIDUALS
from sensorstream.client.operations import Operations
from sensorstream.engine.outcome import Status
from sensorstream.history.kept_messages import KeptMessage, Wanted
from sensorstream.server.answers import RaisedAlertBody
from sensorstream.server.known import Moment, routed
from sensorstream.server.problems import ContradictionBody, PositionBody
from sensorstream.server.rest.webhooks import DeliveryBody

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


class ErrorBody(BaseModel):
    """Why a message was not taken in."""

    code: str
    message: str
    position: PositionBody | None


class StatementsBody(BaseModel):
    """Statements that a message said (asserted) and caused (inferred)."""

    asserted: int
    inferred: int


class LifeBody(MessageBody):
    """What became of a message up to now. What is null is not known."""

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
    deliveries: list[DeliveryBody] | None = Field(description="of these alerts to webhooks")
    replay_of: str | None = Field(description="the quarantined message that it came instead of")
    replay: str | None = Field(description="the message that came instead of it")
    dismissed_at: datetime | None = Field(description="when it was taken out of quarantine")
    in_window: StatementsBody | None = Field(
        description=f"about its first {MOST_INDIVIDUALS} individuals; null: on Spark"
    )
    in_history: StatementsBody = Field(
        description=f"about its first {MOST_INDIVIDUALS} individuals"
    )
    left_at: int | str | None = Field(
        description="application time at which the last of them left for history"
    )


def router(application: Application) -> APIRouter:
    """The messages in the journal."""
    routes = APIRouter(tags=["messages"])

    @routed(
        routes,
        Operations.messages,
        summary="List messages",
        responses={200: {"model": MessagesBody}},
    )
    def list_messages(
        status: Annotated[Status | None, Query(description="only those that are so now")] = None,
        source: Annotated[str | None, Query(description="only those of this source")] = None,
        since: Annotated[
            Moment | None, Query(description="only those received then or later")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[int | None, Query(description="`seq` of the page's last one")] = None,
    ) -> JSONResponse:
        """The messages in the journal, newest first, and what became of each."""
        wanted = Wanted(None if status is None else status.value, source, since, before)
        found = application.messages.page(wanted, limit)
        following = None
        if len(found) == limit:
            asked = {
                "status": wanted.status,
                "source": source,
                "since": since and since.isoformat(),
            }
            told = {name: each for name, each in asked.items() if each is not None}
            following = "/messages?" + urlencode({**told, "limit": limit, "before": found[-1].seq})
        return JSONResponse({"messages": [_summary(each) for each in found], "next": following})

    @routed(
        routes,
        Operations.message,
        summary="What became of a message",
        responses={200: {"model": LifeBody}},
    )
    def show_message(id_: Id) -> JSONResponse:
        """What a message caused up to now, in the window, in history and in deliveries."""
        life = application.messages.life(id_)
        line, facts = application.timeline, life.facts
        known = facts is not None

        def instant(value: int | None) -> int | str | None:
            return None if value is None else plain_time(value, line)

        contradiction, dismissed = life.message.contradiction, life.message.dismissed_at
        lists = ("matched", "individuals", "filtered", "shed", "replies", "warnings")
        return JSONResponse(
            {
                **_summary(life.message),
                "time": instant((facts or {}).get("time")),
                "error": (facts or {}).get("error"),
                "contradiction": None if contradiction is None else asdict(contradiction),
                **{name: None if facts is None else facts[name] for name in lists},
                "alerts": [{**alert_data(each, line), "seq": each.seq} for each in life.alerts]
                if known
                else None,
                "deliveries": [
                    DeliveryBody(**asdict(each)).model_dump(mode="json") for each in life.deliveries
                ]
                if known
                else None,
                "replay_of": life.message.replay_of or None,
                "replay": life.replay,
                "dismissed_at": dismissed and dismissed.isoformat(),
                "in_window": None if life.live is None else _counts(*life.live),
                "in_history": _counts(life.left.asserted, life.left.inferred),
                "left_at": instant(life.left.at),
            }
        )

    @routed(
        routes,
        Operations.message_content,
        summary="The content of a message",
        response_class=Response,
        responses={200: {"content": {"application/xml": {"schema": {"type": "string"}}}}},
    )
    def show_content(id_: Id) -> Response:
        """The message as it came, byte by byte."""
        # A sender may have written a page with scripts: no browser may take it for one of ours.
        headers = {"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"}
        content = application.messages.content(id_)
        return Response(content, media_type="application/xml", headers=headers)

    return routes


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
