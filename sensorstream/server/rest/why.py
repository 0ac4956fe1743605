"""``GET /alerts/{id}/why`` and ``GET /why-not``: why a rule fired, and why one does not."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from sensorstream.alerts.formats import alert_data, plain_time
from sensorstream.app.application import Application
from sensorstream.app.holding import Applied, Held, WhyHeld
from sensorstream.app.reasons import Because, Reason, RuleText, Why
from sensorstream.client.operations import Operations
from sensorstream.errors import Position
from sensorstream.mapping.places import Expression, Node, Place
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Timeline
from sensorstream.server.answers import RaisedAlertBody
from sensorstream.server.known import routed


class ExpressionBody(BaseModel):
    """An expression of a mapping rule, and the nodes that it found."""

    xpath: str = Field(examples=["{@in}"], description="as the rule has it")
    nodes: list[Node]


class PlaceBody(BaseModel):
    """Where in a message a statement comes from; of RML and stylesheets only the rule is known."""

    rule: str = Field(description="the mapping rule")
    at: Node | None = Field(description="the node to which the rule was applied")
    value: list[ExpressionBody] = Field(description="of the value; none: the rule itself has it")
    name: list[ExpressionBody] = Field(description="of the name of the subject")


class PremiseBody(BaseModel):
    """A statement from which another one may have come."""

    statement: str
    places: list[PlaceBody]


class SinceBody(BaseModel):
    """From when on a rule had waited that fired because time passed."""

    time: int | str = Field(
        description="when the condition began to hold, or the individual last said something"
    )
    message_id: str = Field(
        description="with which the individual last said something; empty: not known"
    )


class BecauseBody(BaseModel):
    """One firing of a rule: the values of its variables in N-Triples form, and what it matched."""

    bindings: dict[str, str]
    statements: list[ReasonBody]
    left_out: int = Field(description="values and statements that were too many or too long")
    since: SinceBody | None = Field(description="null: the rule did not wait, or this is not known")


class ReasonBody(BaseModel):
    """A statement that the conditions of the rule matched when it fired."""

    statement: str = Field(description="as N-Triples, without the full stop")
    basis: Literal["said", "rule", "inferred", "ontology", "left"] = Field(
        description="a message said it (or a rule when that message came), another rule had just "
        "inserted it, it was inferred, the ontology has it, or it was said of what left the window"
    )
    message_id: str = Field(description="of the message that said it, or caused it; may be empty")
    source: str = Field(description="of that message; empty: not known")
    received_at: datetime | None
    places: list[PlaceBody] = Field(description="in that message")
    rules: list[str] = Field(description="semantic rules that inserted it, or may have")
    premises: list[PremiseBody] = Field(
        description="of a statement that was inferred, or that a rule inserted when an earlier "
        "message came: what that message said of the same individuals"
    )
    because: BecauseBody | None = Field(description="why the rule that inserted it had fired")
    note: str = Field(description="what is not known of it, and why; empty: nothing")


class WhyBody(BaseModel):
    """Why an alert was raised."""

    alert: RaisedAlertBody
    rule: RuleText | None = Field(description="null: its text is not kept; see `notes`")
    because: BecauseBody | None = Field(description="null: not known; see `notes`")
    profile: str = Field(description="what infers: none, plain, hermit, pellet …")
    notes: list[str]


class StepBody(BaseModel):
    """A part of the rule that was looked at."""

    kind: str = Field(description="trigger, condition, pattern, filter, held, quiet …")
    text: str
    held: bool
    solutions: int | None = Field(description="left after it; null: not counted")
    found: list[str] = Field(description="some of these solutions")
    note: str = Field(description="what is known instead, and what came closest")


class WhyNotBody(BaseModel):
    """What keeps a rule from firing for an individual, as things are now."""

    rule: str = Field(description="its name, or that of the query")
    individual: str
    variable: str = Field(description="of the rule, which is the individual")
    holds: bool = Field(description="whether all conditions hold")
    answer: str
    steps: list[StepBody]


def router(application: Application) -> APIRouter:
    """The resources that explain."""
    routes = APIRouter(tags=["alerts"])

    @routed(routes, Operations.why, summary="Why an alert was raised")
    def why(id_: Annotated[str, Path(alias="id", description="the alert's `id`")]) -> WhyBody:
        """The rule, what its conditions had found, and where in which message that was said.

        Values and statements were kept with the alert; the places are found now, by mapping the
        kept messages again with the rules of their time.
        """
        return told(application.reasons.of_alert(id_))

    @routed(
        routes,
        Operations.why_not,
        summary="Why a rule does not fire for an individual",
        tags=["rules"],
    )
    def why_not(
        rule: Annotated[
            str, Query(min_length=1, description="a semantic rule, or a continuous query")
        ],
        individual: Annotated[str, Query(min_length=1, description="its IRI, or `_:` and a label")],
        variable: Annotated[
            str, Query(description="of it, which is the individual; else what fits best")
        ] = "",
    ) -> WhyNotBody:
        """The first part of the rule that leaves no solution, by the knowledge base of now.

        Trigger, conditions, patterns and filters are tried in turn with the individual in its
        place; where nothing is left, the answer tells what is known instead. Where no rule has the
        name, it is that of a continuous query, which has no solution for the individual.
        """
        found = application.unmet.why_not(rule, individual, variable)
        return WhyNotBody.model_validate(found, from_attributes=True)

    def told(found: Why) -> WhyBody:
        raised = {
            **alert_data(found.raised, application.timeline),
            "seq": found.raised.seq,
        }
        return WhyBody(
            alert=RaisedAlertBody.model_validate(raised),
            rule=found.rule,
            because=None
            if found.because is None
            else _because(found.because, application.timeline),
            profile=found.profile,
            notes=list(found.notes),
        )

    return routes


def _because(because: Because, line: Timeline) -> BecauseBody:
    told = because.evidence.since
    since = None
    if told is not None:
        since = SinceBody(time=plain_time(told.time, line), message_id=told.message)
    return BecauseBody(
        bindings={name: value.n3 for name, value in because.evidence.bindings},
        statements=[reason_body(each, line) for each in because.reasons],
        left_out=because.evidence.left_out,
        since=since,
    )


def reason_body(reason: Reason, line: Timeline) -> ReasonBody:
    """A statement, and where it comes from."""
    return ReasonBody(
        statement=statement_text(reason.matched.triple),
        basis=reason.matched.basis.value,
        message_id=reason.matched.message,
        source=reason.source,
        received_at=datetime.fromisoformat(reason.received_at) if reason.received_at else None,
        places=[_place(each) for each in reason.places],
        rules=list(reason.rules),
        premises=[
            PremiseBody(
                statement=statement_text(each.triple), places=[_place(p) for p in each.places]
            )
            for each in reason.premises
        ],
        because=None if reason.because is None else _because(reason.because, line),
        note=reason.note,
    )


def _place(place: Place) -> PlaceBody:
    return PlaceBody(
        rule=place.rule,
        at=place.at,
        value=[_expression(each) for each in place.value],
        name=[_expression(each) for each in place.name],
    )


def _expression(expression: Expression) -> ExpressionBody:
    return ExpressionBody(xpath=expression.written, nodes=list(expression.nodes))


def statement_text(triple: Triple) -> str:
    """A statement as N-Triples, without the full stop."""
    return " ".join(each.n3 for each in triple)


class AppliedBody(BaseModel):
    """The rule that derives a statement, with the values of its variables in N-Triples form."""

    rule: str = Field(examples=["cax-sco"], description="its name in the rule set")
    position: Position = Field(description="of the rule; `file` is the rule set")
    comment: str = Field(description="what the rule set says of it, such as its source")
    text: str = Field(description="the rule itself")
    bindings: dict[str, str]
    premises: list[HeldBody]
    paths: list[str] = Field(description="matched by a path that repeats: without its steps")


class EntailmentBody(BaseModel):
    """Statements and axioms that entail a statement; without any of them the others do not."""

    premises: list[HeldBody]
    axioms: list[str] = Field(
        description="of the ontology, in Manchester syntax", examples=["Sensor SubClassOf Device"]
    )


class HeldBody(ReasonBody):
    """A statement that holds, where it was said, and what derives it."""

    caused_by: str = Field(
        description="the message with which it came to be inferred; empty: not inferred, or from "
        "the ontology alone"
    )
    by: AppliedBody | None = Field(description="null: no rule derives it, or it is told above")
    above: bool = Field(description="it is told above what derives it")
    entailed: EntailmentBody | None = Field(
        description="where HermiT or Pellet infers it; null: by rules, or not narrowed down"
    )


class WhyHeldBody(BaseModel):
    """Why a statement holds now."""

    statement: str = Field(description="as N-Triples, without the full stop")
    holds: bool
    answer: str
    held: HeldBody | None = Field(description="null: it does not hold")
    profile: str = Field(description="what infers: none, plain, hermit, pellet, rule sets …")
    notes: list[str]


def statements(application: Application) -> APIRouter:
    """The resource that tells why a statement holds."""
    routes = APIRouter(tags=["window"])

    @routed(routes, Operations.why_statement, summary="Why a statement holds")
    def why(
        statement: Annotated[
            str,
            Query(
                min_length=1,
                description="subject, property and value as in Turtle, with the prefixes of the "
                "rule files",
                examples=[":ann a :Person"],
            ),
        ],
    ) -> WhyHeldBody:
        """The messages that said it, or the rules by which it follows, down to messages and XPath.

        Asked of the knowledge base of now. Nothing is kept for it: the rules are applied backwards,
        and the messages mapped again.
        """
        return _told(application.holding.why(statement), application.timeline)

    return routes


def _told(why: WhyHeld, line: Timeline) -> WhyHeldBody:
    return WhyHeldBody(
        statement=statement_text(why.statement),
        holds=why.held is not None,
        answer=why.answer,
        held=None if why.held is None else _held(why.held, line),
        profile=why.profile,
        notes=list(why.notes),
    )


def _held(held: Held, line: Timeline) -> HeldBody:
    return HeldBody(
        **reason_body(held.reason, line).model_dump(),
        caused_by=held.caused_by,
        by=None if held.by is None else _applied(held.by, line),
        above=held.above,
        entailed=None
        if held.entailed is None
        else EntailmentBody(
            premises=[_held(each, line) for each in held.entailed.premises],
            axioms=list(held.entailed.axioms),
        ),
    )


def _applied(applied: Applied, line: Timeline) -> AppliedBody:
    return AppliedBody(
        rule=applied.rule,
        position=applied.position,
        comment=applied.comment,
        text=applied.text,
        bindings={name: value.n3 for name, value in applied.bindings},
        premises=[_held(each, line) for each in applied.premises],
        paths=list(applied.paths),
    )
