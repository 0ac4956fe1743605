"""``/alerts/{id}/why``, ``/why-not`` and ``/why``: why a rule fired, or not, or something holds."""

from __future__ import annotations

from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query
from pydantic import AliasPath, BaseModel, BeforeValidator, Field

from sensorstream.alerts.alert_formats import alert_data
from sensorstream.app.why.reasons import RuleText
from sensorstream.client.operations import Operations
from sensorstream.errors import Position
from sensorstream.mapping.statement_places import XmlNode
from sensorstream.model.terms import statement_text
from sensorstream.server.operation_routes import App, Key, RaisedAlertBody, Time, body_of, routed

routes = APIRouter()


_Statement: TypeAlias = Annotated[str, BeforeValidator(statement_text)]
_Values: TypeAlias = Annotated[
    dict[str, str], BeforeValidator(lambda bindings: {name: value.n3 for name, value in bindings})
]


class ExpressionBody(BaseModel):
    """An expression of a mapping rule, and the nodes that it found."""

    xpath: str = Field(
        validation_alias="written", examples=["{@in}"], description="as the rule has it"
    )
    nodes: list[XmlNode]


class PlaceBody(BaseModel):
    """The place in a message that a statement comes from; for RML and stylesheets only the rule."""

    rule: str = Field(description="the mapping rule")
    at: XmlNode | None = Field(description="the node to which the rule was applied")
    value: list[ExpressionBody] = Field(description="of the value; none: the rule itself has it")
    name: list[ExpressionBody] = Field(description="of the name of the subject")


class PremiseBody(BaseModel):
    """A statement from which another one may have come."""

    statement: _Statement = Field(validation_alias="triple")
    places: list[PlaceBody]


class SinceBody(BaseModel):
    """From when on a rule had waited that fired because time passed."""

    time: Time = Field(
        description="when the condition began to hold, or the individual last said something"
    )
    message_id: str = Field(
        validation_alias="message",
        description="with which the individual last said something; empty: not known",
    )


class BecauseBody(BaseModel):
    """One firing of a rule: the values of its variables in N-Triples form, and what it matched."""

    bindings: _Values = Field(validation_alias=AliasPath("evidence", "bindings"))
    statements: list[ReasonBody] = Field(validation_alias="reasons")
    left_out: int = Field(
        validation_alias=AliasPath("evidence", "left_out"),
        description="values and statements that were too many or too long",
    )
    since: SinceBody | None = Field(
        validation_alias=AliasPath("evidence", "since"),
        description="null: the rule did not wait, or this is not known",
    )


_Basis: TypeAlias = Annotated[
    Literal["said", "rule", "inferred", "ontology", "left"], BeforeValidator(attrgetter("value"))
]


class ReasonBody(BaseModel):
    """A statement that the conditions of the rule matched when it fired."""

    statement: _Statement = Field(
        validation_alias=AliasPath("matched", "triple"),
        description="as N-Triples, without the full stop",
    )
    basis: _Basis = Field(
        validation_alias=AliasPath("matched", "basis"),
        description="a message said it (or a rule when that message came), another rule had just "
        "inserted it, it was inferred, the ontology has it, or it was said of what left the window",
    )
    message_id: str = Field(
        validation_alias=AliasPath("matched", "message"),
        description="of the message that said it, or caused it; may be empty",
    )
    source: str = Field(description="of that message; empty: not known")
    received_at: Annotated[datetime | None, BeforeValidator(lambda time: time or None)]
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
    """The conditions that keep a rule from firing for an individual now."""

    rule: str = Field(description="its name, or that of the query")
    individual: str
    variable: str = Field(description="of the rule, which is the individual")
    holds: bool = Field(description="whether all conditions hold")
    answer: str
    steps: list[StepBody]


class AppliedBody(BaseModel):
    """The rule that derives a statement, with the values of its variables in N-Triples form."""

    rule: str = Field(examples=["cax-sco"], description="its name in the rule set")
    position: Position = Field(description="of the rule; `file` is the rule set")
    comment: str = Field(description="what the rule set says of it, such as its source")
    text: str = Field(description="the rule itself")
    bindings: _Values
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

    statement: _Statement = Field(description="as N-Triples, without the full stop")
    holds: bool
    answer: str
    held: HeldBody | None = Field(description="null: it does not hold")
    profile: str = Field(description="what infers: none, plain, hermit, pellet, rule sets …")
    notes: list[str]


@routed(routes, Operations.why, "Why an alert was raised", tags=["alerts"])
def why(app: App, id_: Annotated[str, Path(alias="id", description="the alert's `id`")]) -> WhyBody:
    """The rule, what its conditions had found, and where in which message that was said.

    Values and statements were kept with the alert; the places are found now, by mapping the
    kept messages again with the rules of their time.
    """
    found = app.reasons.of_alert(id_)
    raised = {**alert_data(found.raised, app.timeline), "seq": found.raised.seq}
    because = found.because
    return WhyBody(
        alert=RaisedAlertBody.model_validate(raised),
        rule=found.rule,
        because=None if because is None else body_of(BecauseBody, because, app.timeline),
        profile=found.profile,
        notes=list(found.notes),
    )


@routed(
    routes,
    Operations.why_not,
    "Why a rule does not fire for an individual",
    # OpenAPI lists it with the alerts, too.
    tags=["alerts", "rules"],
)
def why_not(
    app: App,
    rule: Annotated[str, Query(min_length=1, description="a semantic rule, or a continuous query")],
    individual: Annotated[str, Query(min_length=1, description="its IRI, or `_:` and a label")],
    variable: Annotated[
        str, Query(description="of it, which is the individual; else what fits best")
    ] = "",
    key: Key = None,
) -> WhyNotBody:
    """The first part of the rule that leaves no solution, by the knowledge base of now.

    Trigger, conditions, patterns and filters are tried in turn with the individual in its
    place; where nothing is left, the answer tells what is known instead. Where no rule has the
    name, it is that of a continuous query, which has no solution for the individual.
    """
    return body_of(WhyNotBody, app.unmet.why_not(rule, individual, variable, key))


@routed(routes, Operations.why_statement, "Why a statement holds", name="why", tags=["window"])
def why_statement(
    app: App,
    statement: Annotated[
        str,
        Query(
            min_length=1,
            description="subject, property and value as in Turtle, with the prefixes of the "
            "rule files",
            examples=[":ann a :Person"],
        ),
    ],
    key: Key = None,
) -> WhyHeldBody:
    """The messages that said it, or the rules by which it follows, down to messages and XPath.

    Asked of the knowledge base of now. Nothing is kept for it: the rules are applied backwards,
    and the messages mapped again.
    """
    return body_of(WhyHeldBody, app.holding.why(statement, key), app.timeline)
