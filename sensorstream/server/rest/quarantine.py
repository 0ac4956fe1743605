"""``GET /quarantine``: messages that were kept but not taken in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from sensorstream.app.application import Application
from sensorstream.errors import Contradiction
from sensorstream.server.problems import ContradictionBody


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
        """Messages not taken in or not whole, with their reason and content, newest first."""
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

    return routes


def _contradiction(found: Contradiction | None) -> ContradictionBody | None:
    if found is None:
        return None
    return ContradictionBody(
        triples=list(found.triples), axioms=list(found.axioms), limits=found.limits
    )
