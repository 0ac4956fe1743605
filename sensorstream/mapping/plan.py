"""Compiled mapping rules, applied to one message after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from sensorstream.mapping.document import Document, Element
from sensorstream.mapping.hint import Landmarks, why_unmatched
from sensorstream.model.events import Event, Message
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class Mapped:
    """What the rules made of a message.

    ``matched`` names the rules whose ``on message`` found something, even if their conditions
    then kept them from acting. ``events`` are in time order, one for each distinct time.
    ``individuals`` are the named ones, in order of appearance. ``hint`` is empty unless no
    rule matched; then it says the likely cause.
    """

    matched: tuple[str, ...]
    events: tuple[Event, ...]
    individuals: tuple[Subject, ...]
    hint: str = ""


@dataclass(slots=True)
class Statements:
    """What a message says of one time, in order."""

    triples: dict[Triple, None] = field(default_factory=dict)
    replaces: set[tuple[Subject, IRI]] = field(default_factory=set)

    def add(self, more: Statements) -> None:
        """Say what others say, too."""
        self.triples |= more.triples
        self.replaces |= more.replaces


@dataclass(slots=True)
class Harvest:
    """What the rules have made of a message so far."""

    message: Message
    by_time: dict[Instant, Statements] = field(default_factory=dict)
    individuals: dict[Subject, None] = field(default_factory=dict)
    blank_nodes: int = 0
    blank_names: dict[str, BlankNode] = field(default_factory=dict)

    def at(self, time: Instant) -> Statements:
        """The statements of one time."""
        statements = self.by_time.get(time)
        if statements is None:
            statements = self.by_time[time] = Statements()
        return statements

    def blank_node(self) -> BlankNode:
        """A label that is the same whenever the message is mapped, and no other message's."""
        self.blank_nodes += 1
        return BlankNode(f"_:{self.message.id}b{self.blank_nodes}")

    def named_node(self, name: str) -> BlankNode:
        """The blank node that the message calls ``name``: one node, wherever rules say so."""
        node = self.blank_names.get(name)
        if node is None:
            node = self.blank_names[name] = self.blank_node()
        return node


RunRule: TypeAlias = Callable[[Element, Harvest], bool]
"""Apply a rule to a document; False if ``on message`` found nothing."""


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A compiled rule. ``root`` is the tag a document's root must have, None for any."""

    name: str
    root: str | None
    run: RunRule
    landmarks: Landmarks


@dataclass(frozen=True, slots=True)
class MappingPlan:
    """The mapping rules of a deployment, ready to run; it holds no state of any message."""

    rules: tuple[PlannedRule, ...]

    def apply(self, document: Document, message: Message) -> Mapped:
        """Apply every rule to the message (paper, section 4.1: on event if condition then action).

        Raises:
            MappingError: a value the rules need is missing or invalid. It names rule, XPath,
                value, what was expected and the line of the message.
        """
        root = document.getroot()
        harvest = Harvest(message)
        matched = []
        for rule in self.rules:
            if rule.root in (None, root.tag) and rule.run(root, harvest):
                matched.append(rule.name)
        events = tuple(
            Event(tuple(said.triples), time, message.id, frozenset(said.replaces), message.source)
            for time, said in sorted(harvest.by_time.items(), key=itemgetter(0))
            if said.triples
        )
        hint = "" if matched else why_unmatched(root, [rule.landmarks for rule in self.rules])
        return Mapped(tuple(matched), events, tuple(harvest.individuals), hint)
