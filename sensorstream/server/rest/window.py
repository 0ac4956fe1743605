"""``GET /window``: the individuals in the window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from sensorstream.alerts.formats import plain_time
from sensorstream.app.application import Application
from sensorstream.app.individuals import KnownIndividual
from sensorstream.client.operations import Operations
from sensorstream.history.statements import Latest
from sensorstream.model.terms import BlankNode, Literal, Triple
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


PATH = "/individuals"
Rules: TypeAlias = Annotated[
    bool, Query(description="name the rules that derive inferred values of now")
]


class ValueBody(BaseModel):
    """A value; times are application times."""

    value: str
    kind: str = Field(description="iri, blank or literal")
    datatype: str | None = Field(default=None, description="of a literal")
    language: str | None = None
    valid_from: int | str
    valid_to: int | str | None = Field(description="null: it still holds, in the window")
    message_id: str
    inferred: bool
    rule: str | None = Field(
        default=None, description="with `rules`: the rule that derives an inferred value of now"
    )


class KnownBody(BaseModel):
    """An individual: of each property the values it has, or had last."""

    iri: str
    in_window: bool
    properties: dict[str, list[ValueBody]]


class LatestBody(BaseModel):
    """A page of the individuals of a class; ``next`` is the path of the next page, if any."""

    individuals: list[KnownBody]
    after: str | None = Field(description="where the next page begins, if any")
    next: str | None


def individuals(application: Application) -> APIRouter:
    """The resource of individuals."""
    routes = APIRouter(tags=["individuals"])

    def told(known: KnownIndividual, *, rules: bool = False) -> KnownBody:
        properties: dict[str, list[ValueBody]] = {}
        by: Mapping[Triple, str] = {}
        if rules:
            inferred = [e.triple for e in known.values if e.inferred and e.valid_to is None]
            by = application.holding.rules_behind(inferred)
        for each in known.values:
            rule = by.get(each.triple) if each.inferred else None
            properties.setdefault(each.triple[1], []).append(value(each, rule))
        return KnownBody(iri=known.name, in_window=known.in_window, properties=properties)

    def value(each: Latest, rule: str | None) -> ValueBody:
        line = application.timeline
        return ValueBody(
            **_plain(each),
            valid_from=plain_time(each.provenance.time, line),
            valid_to=None if each.valid_to is None else plain_time(each.valid_to, line),
            message_id=each.provenance.message,
            inferred=each.inferred,
            rule=rule,
        )

    @routed(routes, Operations.individual, summary="The latest values of an individual")
    def individual(iri: str, rules: Rules = False) -> KnownBody:
        """Of each property the values that it has in the window, else those it had last.

        The IRI is percent-encoded, slashes included.
        """
        return told(application.individuals.individual(unquote(iri)), rules=rules)

    @routes.get(PATH, summary="The latest values of an individual, by parameter")
    def individual_by_parameter(
        iri: Annotated[str, Query(min_length=1, description="its IRI, or `_:` and a label")],
        rules: Rules = False,
    ) -> KnownBody:
        """The same as `/individuals/{iri}`, for clients and proxies that alter encoded slashes."""
        return told(application.individuals.individual(iri), rules=rules)

    @routed(routes, Operations.latest, summary="The latest values of a class")
    def latest(
        class_: Annotated[str, Query(alias="class", min_length=1, description="its IRI")],
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        after: Annotated[str, Query(description="as in `next`")] = "",
    ) -> LatestBody:
        """The individuals that are, or were, of a class, asserted or inferred.

        First those in the window, by name; then those in history, who left last first.
        """
        page = application.individuals.latest(class_, limit, after)
        following = None
        if page.after is not None:
            told_class, told_after = quote(class_, safe=""), quote(page.after, safe="")
            following = f"/latest?class={told_class}&limit={limit}&after={told_after}"
        return LatestBody(
            individuals=[told(each) for each in page.individuals],
            after=page.after,
            next=following,
        )

    return routes


def _plain(latest: Latest) -> dict[str, Any]:
    term = latest.triple[2]
    if isinstance(term, Literal):
        told = {"datatype": term.datatype, "language": term.language}
        return {"value": term.lexical, "kind": "literal", **told}
    return {"value": str(term), "kind": "blank" if isinstance(term, BlankNode) else "iri"}
