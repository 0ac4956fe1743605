"""Solutions of a condition, kept in step, and those of a ``when`` that a change concerns.

The condition is followed in the network as it is. Its end is followed for all solutions that hold
or have begun: they are the keys of a table that the network joins with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Final, TypeAlias

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Term
from sensorstream.network.node import Node
from sensorstream.network.rows import Bag, Row
from sensorstream.rules.given_variables import GIVEN, given_triples, key_triples
from sensorstream.rules.rule_memory import Remembering, RuleMemory, RuleMemoryChange, SolutionKey

Texts: TypeAlias = Callable[[Iterable[SolutionKey]], Iterable[str]]
"""The keys of the alerts about some solutions."""

_PART: Final = 64
"""The number of rows that are counted together."""
_NOBODY: Final[dict[SolutionKey, None]] = {}


class ContinuousCondition:
    """A query with values for some of its variables, and its solutions for the latest values."""

    __slots__ = ("_given", "_values", "root", "rows")

    def __init__(self, root: Node, given: TripleIndex) -> None:
        self.root = root
        self._given = given
        self._values: dict[str, Term] = {}
        self.rows: Bag = {}
        """The solutions and how often each occurs; read only."""
        self.changed(list(_counted(root)), [])

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        """Take in a change of the operator's output; ``added`` and ``removed`` may overlap."""
        rows = self.rows
        for row in added:
            rows[row] = rows.get(row, 0) + 1
        for row in removed:
            if rows[row] == 1:
                del rows[row]
            else:
                rows[row] -= 1

    def give(self, values: Mapping[str, Term]) -> None:
        """Replace the values; the solutions change when the network settles."""
        if self._values == values:
            return
        self._given.discard(*given_triples(self._values))
        self._values = dict(values)
        self._given.add(*given_triples(self._values))

    @property
    def holds(self) -> bool:
        """Whether there is a solution."""
        return bool(self.rows)

    def solutions(self) -> list[dict[str, Term]]:
        """The solutions, duplicates included."""
        names = self.root.variables
        return [
            {name: term for name, term in zip(names, row, strict=True) if term is not None}
            for row, count in self.rows.items()
            for _ in range(count)
        ]


def _counted(root: Node) -> Iterator[Row]:
    """The rows of an operator, counted during the visit; raises Overrun beyond the limit."""
    rows = iter(root.rows())
    while part := list(islice(rows, _PART)):
        root.meter.take(len(part))
        yield from part


class Followed:
    """The solutions of a rule that may begin or end, in an engine.

    A solution is looked at when the condition or its end may have changed for it, or an individual
    of it has left; more looks change nothing. After a message was taken back, its solutions are
    looked at again.
    """

    def __init__(
        self, condition: ContinuousCondition, settled: Callable[[int], None], *, has_end: bool
    ) -> None:
        """``settled`` settles the network, and counts a number of rows as read."""
        self.is_closed = False
        """True after a fault."""
        self.table = TripleIndex()
        """The solutions that hold or have begun, as subjects; empty without an end."""
        self._condition = condition
        self._settled = settled
        self._has_end = has_end
        self._layout = sorted((name, place) for place, name in enumerate(condition.root.variables))
        self._fresh: dict[SolutionKey, None] = {}
        self._seen: dict[SolutionKey, None] = {}
        self._news: RuleMemoryChange | None = None
        self._memory: RuleMemory | None = None
        self._over: bool | None = None
        self._numbers = count()
        self._names: dict[SolutionKey, IRI] = {}
        self._keys: dict[IRI, SolutionKey] = {}
        self._ending: dict[IRI, int] = {}
        self._told: dict[str, dict[SolutionKey, None]] = {}

    def begun(self, added: list[Row], removed: list[Row]) -> None:
        """Take in a change of the condition's solutions."""
        fresh = self._fresh
        for rows in (added, removed):
            for row in rows:
                fresh[self._key(row)] = None

    def ended(self, added: list[Row], removed: list[Row]) -> None:
        """Take in a change of the keys for which the end has a solution."""
        for rows, weight in ((added, 1), (removed, -1)):
            for (name,) in rows:
                assert isinstance(name, IRI)
                number = self._ending.get(name, 0) + weight
                if number:
                    self._ending[name] = number
                else:
                    del self._ending[name]
                if name in self._keys:
                    self._fresh[self._keys[name]] = None

    def look(
        self, run: Remembering, rule: str, departed: Collection[Term], over: bool | None
    ) -> list[SolutionKey] | None:
        """The solutions to look at now, in a fixed order; None after a fault.

        ``rule`` is the name of the rule, ``departed`` are the individuals that have left. ``over``:
        whether the end holds for all solutions alike; None: it depends on the solution. Raises
        Overrun as :meth:`.ConditionEvaluator.settle` does.
        """
        self._settled(0)
        if run.news is not self._news:
            if self._news is not None and not self._news.is_kept:
                self._fresh |= self._seen
            self._seen, self._news = {}, run.news
        keys = self._fresh
        if over != self._over or run.memory is not self._memory:
            keys |= dict.fromkeys(map(self._key, self._condition.rows))
            keys |= dict.fromkeys((*run.held(rule), *self._names))
            self._over, self._memory = over, run.memory
        if self._has_end:
            for key in keys:
                if key not in self._names and (self.holds(key) or run.holding(rule, key)):
                    self._enter(key)
        # A solution that still holds after an individual of it left begins anew with the next
        # change.
        self._fresh = self._mentioning(departed)
        keys |= self._fresh
        self._seen |= keys
        self._settled(len(keys))
        return (
            None
            if self.is_closed
            else sorted(keys, key=lambda key: [(name, value.n3) for name, value in key])
        )

    def holds(self, key: SolutionKey) -> bool:
        """Whether the condition has a solution."""
        values = dict(key)
        return tuple(map(values.get, self._condition.root.variables)) in self._condition.rows

    def ends(self, key: SolutionKey) -> bool:
        """Whether the end has a solution for one that is being looked at."""
        return key in self._names and self._names[key] in self._ending

    def looked_at(
        self, run: Remembering, rule: str, keys: Iterable[SolutionKey], texts: Texts
    ) -> None:
        """Take in that the rule's memory of these solutions is up to date."""
        for key in keys:
            held = run.holding(rule, key) is not None
            for text in texts((key,)):
                if held:
                    self._told.setdefault(text, {})[key] = None
                elif text in self._told:
                    self._told[text].pop(key, None)
                    if not self._told[text]:
                        del self._told[text]
            if key in self._names and not held and not self.holds(key):
                self._leave(key)

    def goes_on(self, run: Remembering, rule: str, text: str) -> bool:
        """Whether a solution that has fired and goes on has an alert of this key."""
        each = (run.holding(rule, key) for key in self._told.get(text, _NOBODY))
        return any(held is not None and held.due is None for held in each)

    def _key(self, row: Row) -> SolutionKey:
        return tuple(
            (name, value) for name, place in self._layout if (value := row[place]) is not None
        )

    def _mentioning(self, terms: Collection[Term]) -> dict[SolutionKey, None]:
        if not self._names:
            return {}
        return {
            self._keys[name]: None
            for each in terms
            for name, _, _ in self.table.match(None, None, each)
            if isinstance(name, IRI)
        }

    def _enter(self, key: SolutionKey) -> None:
        name = self._names[key] = IRI(f"{GIVEN}:{next(self._numbers)}")
        self._keys[name] = key
        self.table.add(*key_triples(name, key))

    def _leave(self, key: SolutionKey) -> None:
        name = self._names.pop(key)
        del self._keys[name]
        self.table.discard(*key_triples(name, key))
