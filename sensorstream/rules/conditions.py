"""The seam between rules and whatever answers their SPARQL conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sensorstream.errors import QueryError, RuleError
from sensorstream.kb.snapshot import Snapshot
from sensorstream.model.terms import Term

Solution: TypeAlias = Mapping[str, Term]
"""Variables (without the question mark) that have a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A checked SELECT query of a rule; each is itself, whatever its text.

    ``text`` uses ``prefixes`` and calls no SERVICE. ``given`` names those of its variables
    whose value comes from the trigger or an earlier condition; it returns each of them.
    ``asks`` says that it only matters whether there is a solution.
    """

    text: str
    prefixes: Mapping[str, str]
    given: frozenset[str]
    asks: bool = False

    @property
    def looks_into_graphs(self) -> bool:
        """Whether the text may speak of named graphs; it errs on the side of yes."""
        text = self.text.upper()
        return "GRAPH" in text or "FROM" in text


class ConditionEvaluator(Protocol):
    """Answers queries over the union of the static, window and inferred graphs, as they are."""

    def prepare(self, rules: Iterable[Sequence[Query]]) -> None:
        """Expect the conditions of these rules, and no longer those of others.

        Any other query is answered too, perhaps at a greater cost.
        """

    def settle(self) -> None:
        """Take in what has changed since the last call or answer."""

    def select(self, query: Query, bindings: Solution) -> list[dict[str, Term]]:
        """All solutions that agree with ``bindings`` (of the query's given variables).

        Raises:
            RuleError: the query cannot be answered.
        """

    def ask(self, query: Query, bindings: Solution) -> bool:
        """Whether there is a solution that agrees with ``bindings``.

        Raises:
            RuleError: the query cannot be answered.
        """


class SnapshotEvaluator:
    """Evaluates anew on an Oxigraph snapshot at every call."""

    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def prepare(self, rules: Iterable[Sequence[Query]]) -> None:
        """Nothing is known before a query is asked."""

    def settle(self) -> None:
        """The snapshot follows when it is asked."""

    def select(self, query: Query, bindings: Solution) -> list[dict[str, Term]]:
        try:
            return list(self._solutions(query, bindings))
        except QueryError as error:
            raise RuleError(f"a condition cannot be evaluated: {error.message}") from None

    def ask(self, query: Query, bindings: Solution) -> bool:
        try:
            for _ in self._solutions(query, bindings):
                return True
        except QueryError as error:
            raise RuleError(f"a condition cannot be evaluated: {error.message}") from None
        return False

    def _solutions(self, query: Query, bindings: Solution) -> Iterator[dict[str, Term]]:
        return self._snapshot.solutions(
            query.text, query.prefixes, bindings, named=query.looks_into_graphs
        )
