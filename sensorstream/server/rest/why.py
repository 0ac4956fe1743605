"""``GET /alerts/{id}/why``: why an alert was raised."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from sensorstream.alerts.cloudevents import alert_data
from sensorstream.app.application import Application
from sensorstream.app.reasons import Because, Reason, RuleText, Why
from sensorstream.mapping.places import Expression, Node, Place
from sensorstream.model.terms import Triple
from sensorstream.server.answers import RaisedAlertBody
from sensorstream.server.problems import PositionBody


class NodeBody(BaseModel):
    """A node of a message, by its XPath there; a long ``text`` is cut."""

    path: str = Field(examples=["/Message/@t"])
    line: int
    text: str


class ExpressionBody(BaseModel):
    """An expression of a mapping rule, and the nodes that it found."""

    xpath: str = Field(examples=["{@in}"], description="as the rule has it")
    nodes: list[NodeBody]


class PlaceBody(BaseModel):
    """Where in a message a statement comes from; of RML and stylesheets only the rule is known."""

    rule: str = Field(description="the mapping rule")
    at: NodeBody | None = Field(description="the node to which the rule was applied")
    value: list[ExpressionBody] = Field(description="of the value; none: the rule itself has it")
    name: list[ExpressionBody] = Field(description="of the name of the subject")


class PremiseBody(BaseModel):
    """A statement from which another one may have been inferred."""

    statement: str
    places: list[PlaceBody]


class BecauseBody(BaseModel):
    """One firing of a rule: the values of its variables in N-Triples form, and what it matched."""

    bindings: dict[str, str]
    statements: list[ReasonBody]
    left_out: int = Field(description="values and statements that were too many or too long")


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
        description="of an inferred statement: what the message that caused it said of the same"
    )
    because: BecauseBody | None = Field(description="why the rule that inserted it had fired")
    note: str = Field(description="what is not known of it, and why; empty: nothing")


class RuleTextBody(BaseModel):
    """The rule with which the alert was raised."""

    name: str
    file: str
    position: PositionBody
    text: str
    version: str = Field(description="the change that had put it, or `settings`")


class WhyBody(BaseModel):
    """Why an alert was raised."""

    alert: RaisedAlertBody
    rule: RuleTextBody | None = Field(description="null: its text is not kept; see `notes`")
    because: BecauseBody | None = Field(description="null: not known; see `notes`")
    profile: str = Field(description="what infers: none, plain, hermit, pellet …")
    notes: list[str]


def router(application: Application) -> APIRouter:
    """The resources that explain."""
    routes = APIRouter(tags=["alerts"])

    @routes.get("/alerts/{id}/why", summary="Why an alert was raised")
    def why(id_: Annotated[str, Path(alias="id", description="the alert's `id`")]) -> WhyBody:
        """The rule, what its conditions had found, and where in which message that was said.

        Values and statements were kept with the alert; the places are found now, by mapping the
        kept messages again with the rules of their time.
        """
        return told(application.reasons.of_alert(id_))

    def told(found: Why) -> WhyBody:
        raised = {
            **alert_data(found.raised, application.timeline),
            "seq": found.raised.seq,
        }
        return WhyBody(
            alert=RaisedAlertBody.model_validate(raised),
            rule=None if found.rule is None else _rule(found.rule),
            because=None if found.because is None else _because(found.because),
            profile=found.profile,
            notes=list(found.notes),
        )

    return routes


def _rule(rule: RuleText) -> RuleTextBody:
    position = rule.position
    return RuleTextBody(
        name=rule.name,
        file=rule.file,
        position=PositionBody(file=position.file, line=position.line, column=position.column),
        text=rule.text,
        version=rule.version,
    )


def _because(because: Because) -> BecauseBody:
    return BecauseBody(
        bindings={name: value.n3 for name, value in because.evidence.bindings},
        statements=[_reason(each) for each in because.reasons],
        left_out=because.evidence.left_out,
    )


def _reason(reason: Reason) -> ReasonBody:
    return ReasonBody(
        statement=_statement(reason.matched.triple),
        basis=reason.matched.basis.value,
        message_id=reason.matched.message,
        source=reason.source,
        received_at=datetime.fromisoformat(reason.received_at) if reason.received_at else None,
        places=[_place(each) for each in reason.places],
        rules=list(reason.rules),
        premises=[
            PremiseBody(statement=_statement(each.triple), places=[_place(p) for p in each.places])
            for each in reason.premises
        ],
        because=None if reason.because is None else _because(reason.because),
        note=reason.note,
    )


def _place(place: Place) -> PlaceBody:
    return PlaceBody(
        rule=place.rule,
        at=None if place.at is None else _node(place.at),
        value=[_expression(each) for each in place.value],
        name=[_expression(each) for each in place.name],
    )


def _expression(expression: Expression) -> ExpressionBody:
    return ExpressionBody(
        xpath=expression.written, nodes=[_node(each) for each in expression.nodes]
    )


def _node(node: Node) -> NodeBody:
    return NodeBody(path=node.path, line=node.line, text=node.text)


def _statement(triple: Triple) -> str:
    return " ".join(each.n3 for each in triple)
