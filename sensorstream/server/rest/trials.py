"""``POST /trials``: what rules would make of a message, though nothing is taken in."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, Field

from sensorstream.app.trials import MOST_MESSAGES, MOST_STATEMENTS
from sensorstream.client.operations import Operations
from sensorstream.errors import MalformedMessage
from sensorstream.mapping.rule_report import Explanation
from sensorstream.model.terms import Triple
from sensorstream.server.known import TOLD, App, AskedBody, routed
from sensorstream.server.rest.versioned import FaultBody, fault_bodies

routes = APIRouter(tags=["rules"])
_ENCODING: Final = re.compile(r"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")


def _lines(triples: tuple[Triple, ...]) -> list[str]:
    return [" ".join(term.n3 for term in triple) for triple in triples[:MOST_STATEMENTS]]


_Lines: TypeAlias = Annotated[list[str], BeforeValidator(_lines)]


class MessageTrialBody(AskedBody):
    """A message, and texts of rule files by name that count instead of those in force."""

    message: str = Field(examples=["<Message/>"])
    source: str = Field(default="rest", max_length=200)
    files: dict[str, str] = Field(default={}, examples=[{"tracking.rules": "prefix : <urn:x:>"}])
    after: int = Field(
        default=0, ge=0, le=MOST_MESSAGES, description="so many of the last messages come first"
    )


class AlertTriedBody(BaseModel):
    """An alert that would be raised."""

    severity: str
    rule: str = Field(description="or the kind of an alert of the system")
    text: str


class MessageTriedBody(BaseModel):
    """Nothing was taken in: what is wrong with the rules, or what they make of the message."""

    model_config = TOLD

    faults: list[FaultBody]
    status: str = Field(description="that the message would have; empty: nothing was tried")
    reason: str
    matched: list[str]
    warnings: list[str]
    explanations: list[Explanation]
    unexplained: str = Field(description="why there are no explanations; empty if there are")
    statements: _Lines = Field(description="what mapping rules make of it, as N-Triples")
    added: _Lines = Field(description="what semantic rules insert")
    inferred: _Lines = Field(description="what follows, by the profile `reasoner`")
    reasoner: str = Field(description="the profile of the deployment, which has inferred")
    left_out: int = Field(description=f"statements beyond the first {MOST_STATEMENTS} of a sort")
    alerts: list[AlertTriedBody]
    preceding: int = Field(description="messages that were taken in first")


@routed(routes, Operations.try_message, "Try a message")
def try_message(app: App, body: MessageTrialBody) -> MessageTriedBody:
    """What the rules, or others, would make of a message: nothing is taken in or put.

    An engine of its own takes the message in: it holds nothing else, or the last messages.
    """
    content = _content(body.message)
    trial = app.rulebook.try_message(content, body.source, body.files, body.after)
    sorts = (trial.statements, trial.added, trial.inferred)
    told = {each.name: getattr(trial, each.name) for each in fields(trial)}
    told["faults"] = fault_bodies(trial.faults)
    told["alerts"] = [
        AlertTriedBody(severity=each.severity, rule=each.rule or each.kind, text=each.text)
        for each in trial.alerts
    ]
    told["left_out"] = sum(max(0, len(each) - MOST_STATEMENTS) for each in sorts)
    return MessageTriedBody(**told)


def _content(message: str) -> bytes:
    """The bytes of a message, in the encoding that it declares."""
    declared = _ENCODING.match(message)
    encoding = "utf-8" if declared is None else declared.group(1)
    try:
        return message.encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise MalformedMessage(f"the message is not text in {encoding}: {error}") from None
