"""The rules of one text while they run, and the node through which they give out their graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Clause, Rule
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.rows import Row
from sensorstream.network.selection.matcher import Firing, Matcher
from sensorstream.network.selection.plan import Events, Patterns
from sensorstream.network.selection.store import Store
from sensorstream.sparql.algebra import TriplePattern, Variable

_PREFIX: Final = "urn:dotr:"
GraphOf: TypeAlias = Callable[[Firing], list[Triple]]


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event that a store keeps, or that a rule has consumed."""

    store: int
    """The number of the store, or that of the rule with its consumed events, from -1 downwards."""
    label: str
    row: Row
    time: Instant


class Firings(Node):
    """Gives out the graphs of rules: rows of the rule's name and the terms of the triples."""

    __slots__ = ("_kept", "_patterns", "_pending")

    def __init__(self, patterns: Patterns, kept: Callable[[], int]) -> None:
        super().__init__((), (), ())
        self._patterns = patterns
        self._kept = kept
        self._pending: list[Row] = []

    def take(self, rows: Iterable[Row]) -> None:
        """Rules have fired; the network has to be told."""
        self._pending += rows

    @property
    def waits(self) -> bool:
        """Whether there is something to give out."""
        return bool(self._pending)

    def flush(self) -> None:
        self.added, self._pending = self._pending, []

    def rows(self) -> Iterable[Row]:
        """Nothing: what happened is over."""
        return ()

    def size(self) -> int:
        return self._kept()

    def describe(self) -> str:
        return self._patterns.text


class Ruleset:
    """The rules of one text; equal selectors share their events."""

    def __init__(self, name: str, patterns: Patterns, clauses: Sequence[Clause]) -> None:
        self.name = name
        self.patterns = patterns
        self.clauses = tuple(clauses)
        self.stores: dict[tuple[Hashable, tuple[int, ...]], tuple[Events, Store]] = {}
        self.root = Firings(patterns, lambda: sum(len(each) for _, each in self.stores.values()))
        self.matchers: list[Matcher] = []
        self.makers = [maker(each.rule) for each in patterns.patterns]

    def start(self) -> None:
        """Make what the rules remember; the root has its place in a network by now."""
        self.matchers = [
            Matcher(each, self._store, self.root.meter) for each in self.patterns.patterns
        ]

    def _store(self, events: Events, places: Sequence[int], keeps: int) -> Store:
        key = ((events.mode, events.solutions), tuple(places))
        if key not in self.stores:
            self.stores[key] = (events, Store(places))
        store = self.stores[key][1]
        store.longest = max(store.longest, keeps)
        return store

    def channels(self) -> dict[Plan, Events]:
        """The selectors of all rules."""
        found: dict[Plan, Events] = {}
        for pattern in self.patterns.patterns:
            for each in (pattern.trigger, *(part.events for part in pattern.parts)):
                found.setdefault(each.solutions, each)
        return found

    def kept(self) -> Iterator[KeptEvent]:
        """What must survive a restart."""
        for number, (_, store) in enumerate(self.stores.values()):
            for time, row in store.events():
                yield KeptEvent(number, "", row, time)
        for number, matcher in enumerate(self.matchers, 1):
            for label, gone in matcher.consumed.items():
                for time, row in gone:
                    yield KeptEvent(-number, label, row, time)

    def keep(self, events: Iterable[KeptEvent]) -> None:
        """Go on from :meth:`kept`."""
        stores = [store for _, store in self.stores.values()]
        for each in events:
            if each.store >= 0:
                stores[each.store].add(each.time, [each.row])
            else:
                gone = self.matchers[-each.store - 1].consumed
                gone[each.label][each.time, each.row] = None


def maker(rule: Rule) -> GraphOf:
    """From a firing of a rule to its graph.

    Identifiers and blank nodes are named after the firing: a replay names them again alike. What is
    no triple (an unbound end, a literal as subject) is left out.
    """
    places = {name: place for place, (name, _) in enumerate(rule.values)}
    cells = [
        tuple(_cell(end, places, rule.identifiers) for end in (t.subject, t.predicate, t.object))
        for t in rule.template
    ]
    named = any(isinstance(end, BlankNode) for t in rule.template for end in _ends(t))

    def graph(firing: Firing) -> list[Triple]:
        values = firing.values
        name = _named(rule.name, firing) if named else ""
        found: list[Triple] = []
        for subject, predicate, object_ in cells:
            s, p, o = subject(values, name), predicate(values, name), object_(values, name)
            if isinstance(s, IRI | BlankNode) and isinstance(p, IRI) and o is not None:
                found.append((s, p, o))
        return found

    return graph


def _ends(triple: TriplePattern) -> tuple[object, object, object]:
    return triple.subject, triple.predicate, triple.object


def _cell(
    end: object, places: dict[str, int], identifiers: frozenset[str]
) -> Callable[[Row, str], Term | None]:
    if isinstance(end, Variable):
        place = places[end.name]
        return lambda values, name: values[place]
    if isinstance(end, BlankNode):
        label = end[2:]
        if end in identifiers:
            return lambda values, name: IRI(f"{_PREFIX}{name}-{label[3:]}")
        return lambda values, name: BlankNode(f"_:d{name}-{label}")
    assert isinstance(end, IRI | Literal)
    return lambda values, name: end


def _named(rule: str, firing: Firing) -> str:
    terms = ["" if each is None else each.n3 for each in firing.bound]
    content = "\x00".join((rule, repr(firing.times), *terms))
    return blake2b(content.encode(), digest_size=12).hexdigest()
