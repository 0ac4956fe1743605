"""Compiled mapping rules, applied to messages one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from sensorstream.errors import MappingError
from sensorstream.mapping.document_parts import Split, alone, in_turn
from sensorstream.mapping.location_path import EVERY_MESSAGE, Lookup
from sensorstream.mapping.path_hint import Landmarks, why_unmatched
from sensorstream.mapping.path_index import Nodes, PathIndex
from sensorstream.mapping.rule_cost import Steep, largest
from sensorstream.mapping.xml_document import Document, Element
from sensorstream.mapping.xml_schema import MessageSchemas
from sensorstream.mapping.xpath import Bound
from sensorstream.model.events import Event, Message
from sensorstream.model.frozen import frozen, mutable
from sensorstream.model.terms import IRI, BlankNode, Subject, Term, Triple
from sensorstream.model.timeline import Instant

_MOST_NOTES: Final = 3


@frozen
class MappedMessage:
    """The result of the rules for a message.

    ``matched`` names the rules whose ``on message`` found something, even if their conditions were
    then false. ``events`` are in time order, one for each distinct time. ``individuals`` are the
    named ones, in order of appearance. ``hint`` is empty unless no rule matched; then it is the
    likely cause. In a document of several messages each is mapped on its own: it has an event for
    each of its times, and ``warnings`` name the messages that were left out, and why. ``notes``
    report results that are hardly meant.
    """

    matched: tuple[str, ...]
    events: tuple[Event, ...]
    individuals: tuple[Subject, ...]
    hint: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@mutable
class MappedStatements:
    """The statements of a message for one time, in order.

    ``triples`` are those of the default graph, ``named`` those of named graphs; a triple may be in
    several graphs. ``repeated`` are properties replaced twice, which have the values of both.
    """

    triples: dict[Triple, None] = field(default_factory=dict)
    replaces: set[tuple[Subject, IRI]] = field(default_factory=set)
    named: dict[IRI, dict[Triple, None]] = field(default_factory=dict)
    repeated: set[tuple[Subject, IRI]] = field(default_factory=set)

    def replace(self, pairs: Collection[tuple[Subject, IRI]]) -> None:
        """Note that these statements replace the earlier values of a property."""
        if not self.replaces.isdisjoint(pairs):
            self.repeated.update(self.replaces.intersection(pairs))
        self.replaces.update(pairs)

    def add(self, more: MappedStatements, graph: IRI | None = None) -> None:
        """Add other statements; those in the default graph are said in ``graph``. None is the
        default graph; a named one has passed :func:`.check_graph_name`.
        """
        self.graph(graph).update(more.triples)
        for name, triples in more.named.items():
            self.graph(name).update(triples)
        self.replace(more.replaces)
        self.repeated |= more.repeated

    def graph(self, name: IRI | None) -> dict[Triple, None]:
        """The statements of one graph, to be added to; None is the default graph."""
        return self.triples if name is None else self.named.setdefault(name, {})

    def merged(self) -> dict[Triple, None]:
        """The statements of all graphs, each once."""
        if not self.named:
            return self.triples
        found = dict(self.triples)
        for triples in self.named.values():
            found |= triples
        return found

    def graphs(self) -> tuple[tuple[Triple, IRI | None], ...]:
        """The graphs of the triples of named graphs, as :class:`.Event` has them."""
        listed: dict[tuple[Triple, IRI | None], None] = {}
        for name, triples in self.named.items():
            for triple in triples:
                if triple in self.triples:
                    listed[triple, None] = None
                listed[triple, name] = None
        return tuple(listed)


@mutable
class Harvest:
    """The result of the rules for a message so far. ``sought`` is for reports: the XPaths of
    triples maps, and whether each has found anything. ``again``: the message was mapped before,
    within the limits of time, and has none now.
    """

    message: Message
    by_time: dict[Instant, MappedStatements] = field(default_factory=dict)
    individuals: dict[Subject, None] = field(default_factory=dict)
    blank_nodes: int = 0
    blank_names: dict[str, BlankNode] = field(default_factory=dict)
    sought: dict[str, bool] | None = None
    again: bool = False

    def at(self, time: Instant) -> MappedStatements:
        """The statements of one time."""
        statements = self.by_time.get(time)
        if statements is None:
            statements = self.by_time[time] = MappedStatements()
        return statements

    def events(self) -> tuple[Event, ...]:
        """The events, one for each time, in time order."""
        message, by_time = self.message, self.by_time
        events = []
        for time in sorted(by_time) if len(by_time) > 1 else by_time:
            said = by_time[time]
            if triples := said.merged():
                replaces = frozenset(said.replaces)
                graphs = said.graphs() if said.named else ()
                events.append(
                    Event(tuple(triples), time, message.id, replaces, message.source, graphs=graphs)
                )
        return tuple(events)

    def notes(self) -> Iterator[str]:
        """Notes on properties that were updated twice for one time; only the first few."""
        repeated = ((time, *each) for time, said in self.by_time.items() for each in said.repeated)
        for time, subject, name in islice(repeated, _MOST_NOTES):
            said = self.by_time[time].merged()
            values = [o for s, p, o in said if s == subject and p == name]
            if len(values) > 1:
                yield (
                    f"{subject} is updated more than once for one time: it has {len(values)} "
                    f"values of {name} at once ({_listed(values)}); expected a name that tells "
                    "them apart"
                )

    def blank_node(self) -> BlankNode:
        """A label that is unique to the message and the same each time the message is mapped."""
        self.blank_nodes += 1
        return BlankNode(f"_:{self.message.id}b{self.blank_nodes}")

    def named_node(self, name: str) -> BlankNode:
        """The blank node with the label ``name`` in the message: the same node in all rules."""
        node = self.blank_names.get(name)
        if node is None:
            node = self.blank_names[name] = self.blank_node()
        return node


@mutable
class Turn:
    """A run of a rule, or an iteration of RML: a node that its path found, and variables.
    ``statements`` are those of the individual at hand, to be added to.
    """

    context: Element
    harvest: Harvest
    variables: dict[str, Bound] = field(default_factory=dict)
    # The results of holes that occur more than once in the rule, for these variables.
    found: dict[str, list[str]] = field(default_factory=dict)
    # The results that do not depend on the variables, by the functions that find them.
    fixed: dict[object, Any] = field(default_factory=dict)
    statements: MappedStatements = cast(MappedStatements, None)


Texts: TypeAlias = Callable[[Turn], list[str]]
Terms: TypeAlias = Callable[[Turn], Sequence[Term]]
"""The terms of a value; further statements about them are added to those of the turn."""


class _Updates:
    """The updates by the messages of one document so far, with their times."""

    def __init__(self) -> None:
        self._latest: dict[tuple[Instant, Subject, IRI], tuple[int, list[Term]]] = {}

    def again(self, number: int, events: Iterable[Event]) -> Iterator[str]:
        """Take in the events of the message with this number; yield notes on values that replace
        those of an earlier message for the same time.
        """
        for event in events:
            said: dict[tuple[Subject, IRI], list[Term]] = {}
            for subject, name, value in event.triples:
                # Blank nodes have other labels in each message.
                if (subject, name) in event.replaces and not isinstance(value, BlankNode):
                    said.setdefault((subject, name), []).append(value)
            for (subject, name), values in said.items():
                key = event.time, subject, name
                earlier, old = self._latest.get(key, (number, values))
                self._latest[key] = number, values
                if set(old) != set(values):
                    yield (
                        f"{subject} was updated for the same time by message {earlier} already: "
                        f"of {name}, {_listed(values)} replaces {_listed(old)}; expected a name "
                        "or a time that tells them apart"
                    )


def _listed(values: Iterable[Term]) -> str:
    return ", ".join(str(each) for each in islice(values, _MOST_NOTES))


RunRule: TypeAlias = Callable[[Element, Harvest, Nodes | None], bool]
"""Apply a rule to a message; False if ``on message`` found nothing.

The element is the root of the message. The nodes are those that the rule's path finds; None: they
are not known yet.
"""


@frozen
class PlannedRule(Landmarks):
    """A compiled rule. ``lookup`` is the part of its paths that tells which messages it may match.

    A rule ``at_part`` takes a message at its place in a document; any other one needs a document of
    the message alone. ``looks_up``: it may read the surroundings of the message. ``steep``: its
    expressions that are not linear in the message.
    """

    run: RunRule
    lookup: Lookup = EVERY_MESSAGE
    at_part: bool = False
    looks_up: bool = False
    steep: tuple[Steep, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingPlan:
    """The mapping rules of a deployment, ready to run; it holds no state of any message.

    ``split`` finds the messages of a document that may carry several; None if each document is a
    message. ``steep`` are the parts of the split that are not linear. ``schemas`` validate the
    documents; None: no validation. ``largest`` is the size (:func:`.size_of`) up to which a message
    is mapped at once; None: any size.
    """

    rules: tuple[PlannedRule, ...]
    split: Split | None = None
    schemas: MessageSchemas | None = None
    steep: tuple[Steep, ...] = ()
    largest: int | None = field(init=False, compare=False)
    _index: PathIndex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", PathIndex(rule.lookup for rule in self.rules))
        steep = chain(self.steep, *(rule.steep for rule in self.rules))
        object.__setattr__(self, "largest", largest(each.degree for each in steep))

    def apply(self, document: Document, message: Message, *, again: bool = False) -> MappedMessage:
        """Apply the rules to the message (paper, section 4.1: on event if condition then action).
        ``again``: that was done before, within the limits of time, and has none now.

        Raises:
            InvalidMessage: the document does not conform to its schema.
            Overrun: its validation or a stylesheet takes too long.
            MappingError: a value the rules need is missing or invalid. It names rule, XPath, value,
                what was expected and the line of the message. For a document of several messages:
                each of them has such an error or matches no rule.
        """
        root = document.getroot()
        if self.schemas is not None:
            self.schemas.check(document, message, again=again)
        if self.split is not None and (parts := self.split(root)):
            return self._apply_each(parts, message, again)
        return self.apply_to(root, message, again=again)

    def apply_to(self, root: Element, message: Message, *, again: bool = False) -> MappedMessage:
        """Apply the rules to one message of a document; ``root`` is its element.

        Raises:
            MappingError, Overrun: as for :meth:`apply`.
        """
        harvest = Harvest(message, again=again)
        matched = self._run(root, harvest)
        return MappedMessage(
            matched,
            harvest.events(),
            tuple(harvest.individuals),
            "" if matched else self._hint(root),
            notes=tuple(harvest.notes()) if matched else (),
        )

    def in_turn(self, parts: Sequence[Element]) -> Iterator[Element]:
        """The messages of a document, each as the rules must see it."""
        if any(rule.looks_up for rule in self.rules):
            return in_turn(parts)
        return iter(parts)

    def _apply_each(self, parts: Sequence[Element], message: Message, again: bool) -> MappedMessage:
        matched: dict[str, None] = {}
        events: list[Event] = []
        individuals: dict[Subject, None] = {}
        warnings: list[str] = []
        hints: list[str] = []
        notes: list[str] = []
        updates = _Updates()
        first_error: MappingError | None = None
        harvest = Harvest(message, again=again)
        for number, part in enumerate(self.in_turn(parts), 1):
            # Remove the statements of a part before its error; the numbering of labels continues.
            harvest = Harvest(message, blank_nodes=harvest.blank_nodes, again=again)
            which = f"message {number} of {len(parts)}, at line {part.sourceline}"
            try:
                found = self._run(part, harvest)
            except MappingError as error:
                first_error = first_error or error
                warnings.append(f"{which}: {error}")
                continue
            if found:
                matched.update(dict.fromkeys(found))
                new = harvest.events()
                events += new
                individuals |= harvest.individuals
                if len(notes) < _MOST_NOTES:
                    told = (*harvest.notes(), *updates.again(number, new))
                    notes += (f"{which}: {each}" for each in told)
            else:
                hints.append(self._hint(part))
                warnings.append(f"{which}: no mapping rule matched: {hints[-1]}")
        if not matched and first_error is not None:
            raise MappingError("; ".join(warnings), position=first_error.position)
        return MappedMessage(
            tuple(matched),
            tuple(sorted(events, key=attrgetter("time"))),
            tuple(individuals),
            "" if matched else hints[0],
            tuple(warnings) if matched else (),
            tuple(notes[:_MOST_NOTES]),
        )

    def _run(self, root: Element, harvest: Harvest) -> tuple[str, ...]:
        matched: list[str] = []
        is_part, copy = root.getparent() is not None, None
        for number, nodes in self._index.find(root):
            rule = self.rules[number]
            if rule.at_part or not is_part:
                found = rule.run(root, harvest, nodes)
            else:
                copy = alone(root) if copy is None else copy
                found = rule.run(copy, harvest, None)
            if found:
                matched.append(rule.name)
        return tuple(matched)

    def _hint(self, root: Element) -> str:
        return why_unmatched(root, self.rules)
