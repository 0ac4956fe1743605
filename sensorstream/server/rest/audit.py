"""``GET /audit``: who changed what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.server.known import routed

_NEWEST: Final = 2**63 - 1


class ChangeBody(BaseModel):
    """A request that was to change something."""

    model_config = ConfigDict(from_attributes=True)

    seq: int
    at: datetime
    kind: str = Field(description="what `who` is: anonymous, key, token or command")
    who: str = Field(description="the name of a key, the subject of a token")
    address: str = Field(description="the client's address")
    method: str
    path: str
    status: int = Field(description="of the answer; 0: of a command, or of more than one request")


class AuditBody(BaseModel):
    """A page of changes, newest first; ``next`` is the path of the page before, if any."""

    changes: list[ChangeBody]
    next: str | None


def router(application: Application) -> APIRouter:
    """The audit log."""
    routes = APIRouter(tags=["operation"])

    @routed(routes, Operations.audit, summary="List changes")
    def audit(
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        before: Annotated[
            int | None, Query(ge=0, le=_NEWEST, description="`seq` of the page's last change")
        ] = None,
    ) -> AuditBody:
        """Who changed what, newest first: every request but messages, questions and reads."""
        found = application.access.changes(before, limit)
        more = len(found) == limit
        return AuditBody(
            changes=[ChangeBody.model_validate(each) for each in found],
            next=f"/audit?limit={limit}&before={found[-1].seq}" if more else None,
        )

    return routes
