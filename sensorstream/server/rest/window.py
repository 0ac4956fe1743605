"""``GET /window``: the individuals in the window."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from sensorstream.alerts.cloudevents import plain_time
from sensorstream.app.application import Application
from sensorstream.client.operations import Operations
from sensorstream.server.known import routed


class IndividualBody(BaseModel):
    """One individual of the window; times are application times."""

    iri: str
    types: list[str] = Field(description="class IRIs, asserted and inferred")
    entered: int | str
    time: int | str = Field(description="the latest time it appeared (paper, eq. 6)")
    statements: int
    message_id: str


class WindowBody(BaseModel):
    """The window: its definition, its totals and a page of its individuals, oldest first."""

    kind: str
    unit: str = Field(description="what size and step count: individuals, triples or time")
    elements: str = Field(description="what enters and leaves in one piece")
    size: str = Field(description="empty for a landmark window")
    step: str = Field(description="empty where the window moves with every message")
    start: str = Field(description="where it begins, if the settings say so")
    partition: str = Field(description="the property, or source, that splits it; empty if whole")
    partitions: int = Field(description="partitions that hold something now; 1 if whole")
    total: int = Field(description="individuals in the window")
    pending: int = Field(description="messages that wait for the window's next step")
    held: int = Field(description="messages that wait for earlier ones before they enter")
    statements: int = Field(description="asserted statements in the window")
    inferred: int = Field(description="statements inferred with the window's help")
    now: int | str | None = Field(
        description="application time: the latest time any message brought"
    )
    individuals: list[IndividualBody]
    next: str | None = Field(description="path of the next page, if any")


def router(application: Application) -> APIRouter:
    """The window resource."""
    routes = APIRouter(tags=["window"])

    @routed(routes, Operations.window, summary="Look into the window")
    def look(
        limit: Annotated[int, Query(ge=0, le=100_000)] = 10_000,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> WindowBody:
        """The window's definition, totals and individuals."""
        view = application.window_view(limit, offset)
        line = application.timeline
        individuals = [
            IndividualBody(
                iri=each.name,
                types=list(each.types),
                entered=plain_time(each.entered, line),
                time=plain_time(each.time, line),
                statements=each.statements,
                message_id=each.message,
            )
            for each in view.individuals
        ]
        end = offset + len(individuals)
        more = bool(individuals) and end < view.total
        return WindowBody(
            kind=view.kind,
            unit=view.unit,
            elements=view.elements,
            size=view.size,
            step=view.step,
            start=view.start,
            partition=view.partition,
            partitions=view.partitions,
            total=view.total,
            pending=view.pending,
            held=view.held,
            statements=view.statements,
            inferred=view.inferred,
            now=None if view.now is None else plain_time(view.now, line),
            individuals=individuals,
            next=f"/window?limit={limit}&offset={end}" if more else None,
        )

    return routes
