"""``GET /why``: why a statement holds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from sensorstream.app.application import Application
from sensorstream.app.holding import Applied, Held, WhyHeld
from sensorstream.client.operations import Operations
from sensorstream.model.timeline import Timeline
from sensorstream.server.known import routed
from sensorstream.server.problems import PositionBody
from sensorstream.server.rest.why import ReasonBody, reason_body, statement_text


class AppliedBody(BaseModel):
    """The rule that derives a statement, with the values of its variables in N-Triples form."""

    rule: str = Field(examples=["cax-sco"], description="its name in the rule set")
    position: PositionBody = Field(description="of the rule; `file` is the rule set")
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


def router(application: Application) -> APIRouter:
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
        position=PositionBody.model_validate(applied.position, from_attributes=True),
        comment=applied.comment,
        text=applied.text,
        bindings={name: value.n3 for name, value in applied.bindings},
        premises=[_held(each, line) for each in applied.premises],
        paths=list(applied.paths),
    )
