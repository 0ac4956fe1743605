"""``/window``, ``/shapes/report``, ``/individuals`` and ``/latest``: what holds at present."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sensorstream.alerts.alert_formats import plain_time
from sensorstream.app.application import Application
from sensorstream.app.questions.individuals import KnownIndividual
from sensorstream.client.operations import Operations
from sensorstream.history.asked_records import Latest
from sensorstream.history.asking.answer_formats import GRAPHS, TURTLE
from sensorstream.history.asking.query_answer import GraphAnswer
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model.terms import BlankNode, Literal, Triple
from sensorstream.server.client_questions import answer_response
from sensorstream.server.negotiation import accepted, chosen
from sensorstream.server.operation_routes import App, Time, body_of, routed

routes = APIRouter()
_JSON: Final = "application/json"


class IndividualBody(BaseModel):
    """One individual of the window; times are application times."""

    iri: str = Field(validation_alias="name")
    types: list[str] = Field(description="class IRIs, asserted and inferred")
    entered: Time
    time: Time = Field(description="the latest time it appeared (paper, eq. 6)")
    statements: int
    message_id: str = Field(validation_alias="message")


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


@routed(routes, Operations.window, "Look into the window", tags=["window"])
def look(
    app: App,
    limit: Annotated[int, Query(ge=0, le=100_000)] = 10_000,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> WindowBody:
    """The window's definition, totals and individuals."""
    view = app.window_view(limit, offset)
    told: dict[str, Any] = {each.name: getattr(view, each.name) for each in fields(view)}
    told["now"] = None if view.now is None else plain_time(view.now, app.timeline)
    told["individuals"] = [body_of(IndividualBody, e, app.timeline) for e in view.individuals]
    end = offset + len(view.individuals)
    more = bool(view.individuals) and end < view.total
    return WindowBody(**told, next=f"/window?limit={limit}&offset={end}" if more else None)


class ShapeResultBody(BaseModel):
    """A violation of a shape; IRIs are written as they are, literals as in N-Triples."""

    shape: str
    focus: str
    path: str | None = Field(description="an IRI, or a path of SPARQL")
    value: str | None
    component: str
    severity: str
    message: str


class ShapesReportBody(BaseModel):
    """The violations of the shapes in the knowledge base."""

    conforms: bool
    results: list[ShapeResultBody]


@routed(
    routes,
    Operations.shapes_report,
    "The violations of shapes",
    ShapesReportBody,
    types={each: {"schema": {"type": "string"}} for each in GRAPHS},
    response_model=None,
    tags=["window"],
)
def report_shapes(app: App, request: Request) -> Response:
    """Validates what the knowledge base holds now by the shapes of the settings (SHACL)."""
    media_type = chosen(accepted(request), (_JSON, *GRAPHS))
    found = app.shapes_report()
    if media_type == _JSON:
        return JSONResponse(found.data())
    if media_type == TURTLE:
        return Response(found.turtle, media_type=TURTLE)
    return answer_response(GraphAnswer(iter(GraphReader().read(found.turtle, ""))), media_type)


@routed(routes, Operations.individual, "The latest values of an individual", tags=["individuals"])
def individual(app: App, iri: str, rules: Rules = False) -> KnownBody:
    """Show the values of each property in the window, else the last ones.

    The IRI is percent-encoded, slashes included.
    """
    return _known(app, app.individuals.individual(unquote(iri)), rules=rules)


@routed(
    routes,
    "GET /individuals",
    "The latest values of an individual, by parameter",
    tags=["individuals"],
)
def individual_by_parameter(
    app: App,
    iri: Annotated[str, Query(min_length=1, description="its IRI, or `_:` and a label")],
    rules: Rules = False,
) -> KnownBody:
    """The same as `/individuals/{iri}`, for clients and proxies that alter encoded slashes."""
    return _known(app, app.individuals.individual(iri), rules=rules)


@routed(routes, Operations.latest, "The latest values of a class", tags=["individuals"])
def latest(
    app: App,
    class_: Annotated[str, Query(alias="class", min_length=1, description="its IRI")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(description="as in `next`")] = "",
) -> LatestBody:
    """The individuals that are, or were, of a class, asserted or inferred.

    First those in the window, by name; then those in history, who left last first.
    """
    page = app.individuals.latest(class_, limit, after)
    following = None
    if page.after is not None:
        told_class, told_after = quote(class_, safe=""), quote(page.after, safe="")
        following = f"/latest?class={told_class}&limit={limit}&after={told_after}"
    return LatestBody(
        individuals=[_known(app, each) for each in page.individuals],
        after=page.after,
        next=following,
    )


def _known(app: Application, known: KnownIndividual, *, rules: bool = False) -> KnownBody:
    properties: dict[str, list[ValueBody]] = {}
    by: Mapping[Triple, str] = {}
    if rules:
        inferred = [e.triple for e in known.values if e.inferred and e.valid_to is None]
        by = app.holding.rules_behind(inferred)
    line = app.timeline
    for each in known.values:
        value = ValueBody(
            **_plain(each),
            valid_from=plain_time(each.provenance.time, line),
            valid_to=None if each.valid_to is None else plain_time(each.valid_to, line),
            message_id=each.provenance.message,
            inferred=each.inferred,
            rule=by.get(each.triple) if each.inferred else None,
        )
        properties.setdefault(each.triple[1], []).append(value)
    return KnownBody(iri=known.name, in_window=known.in_window, properties=properties)


def _plain(latest: Latest) -> dict[str, Any]:
    term = latest.triple[2]
    if isinstance(term, Literal):
        told = {"datatype": term.datatype, "language": term.language}
        return {"value": term.lexical, "kind": "literal", **told}
    return {"value": str(term), "kind": "blank" if isinstance(term, BlankNode) else "iri"}
