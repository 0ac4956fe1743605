"""The rules of one text while they run, and the node through which they give out their graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Clause, Rule
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.rows import Row
from sensorstream.network.selection.matcher import Firing, Matcher, likeness
from sensorstream.network.selection.plan import Events, Pattern, Patterns
from sensorstream.network.selection.store import Store
from sensorstream.sparql.algebra import Variable

_PREFIX: Final = "urn:dotr:"
GraphOf: TypeAlias = Callable[[Firing, Sequence[Literal]], Iterable[tuple[Literal, list[Triple]]]]
"""From a firing and the names of the rules that fire to their graphs."""


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
        self.makers: list[GraphOf] = []

    def start(self) -> None:
        """Make what the rules remember; the root has its place in a network by now."""
        alike: dict[Hashable, list[Pattern]] = {}
        for each in self.patterns.patterns:
            alike.setdefault(likeness(each), []).append(each)
        self.matchers = [Matcher(each, self._store, self.root.meter) for each in alike.values()]
        self.makers = [maker(each[0].rule) for each in alike.values()]

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
    """From a firing to the graphs of a rule and of those that run together with it.

    Identifiers and blank nodes are named after the firing: a replay names them again alike. What is
    no triple (an unbound end, a literal as subject) is left out.
    """
    places = {name: place for place, (name, _) in enumerate(rule.values)}
    ends = [end for t in rule.template for end in (t.subject, t.predicate, t.object)]
    labels = list(dict.fromkeys(end for end in ends if isinstance(end, BlankNode)))
    # What stands at each end: a place in the values, a label to name (negative), or a term.
    cells = [
        places[end.name]
        if isinstance(end, Variable)
        else -1 - labels.index(end)
        if isinstance(end, BlankNode)
        else end
        for end in ends
    ]
    made = [(each in rule.identifiers, each[2:]) for each in labels]

    def graphs(firing: Firing, names: Sequence[Literal]) -> Iterator[tuple[Literal, list[Triple]]]:
        values = firing.values
        found = [
            each if not isinstance(each, int) else values[each] if each >= 0 else each
            for each in cells
        ]
        triples = [
            (s, p, o)
            for s, p, o in zip(found[::3], found[1::3], found[2::3], strict=True)
            if isinstance(s, IRI | BlankNode | int) and isinstance(p, IRI) and o is not None
        ]
        if not triples:
            return
        if not labels:
            for name in names:
                yield name, triples  # type: ignore[misc]
            return
        digest = _digest(firing)
        for name in names:
            mine = digest.copy()
            mine.update(name.lexical.encode())
            code = mine.hexdigest()
            new = [
                IRI(f"{_PREFIX}{code}-{label[3:]}") if new else BlankNode(f"_:d{code}-{label}")
                for new, label in made
            ]
            yield (
                name,
                [
                    (
                        new[-1 - s] if type(s) is int else s,
                        p,
                        new[-1 - o] if type(o) is int else o,
                    )  # type: ignore[misc]
                    for s, p, o in triples
                ],
            )

    return graphs


def _digest(firing: Firing) -> blake2b:
    """Of what was bound and when; the name of the rule is still to come."""
    terms = ["" if each is None else each.n3 for each in firing.bound]
    return blake2b("\x00".join((repr(firing.times), *terms, "")).encode(), digest_size=12)
