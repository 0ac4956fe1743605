"""The seam between rules and whatever answers their SPARQL conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sensorstream.errors import QueryError, RuleError
from sensorstream.kb.snapshot import Snapshot
from sensorstream.model.terms import Term

Solution: TypeAlias = Mapping[str, Term]
"""Variables (without the question mark) that have a value."""


@dataclass(frozen=True, slots=True)
class Query:
    """A checked SELECT query of a rule.

    ``text`` uses ``prefixes`` and calls no SERVICE. ``given`` names those of its variables
    whose value comes from the trigger or an earlier condition; it returns each of them.
    """

    text: str
    prefixes: Mapping[str, str]
    given: frozenset[str]

    @property
    def looks_into_graphs(self) -> bool:
        """Whether the text may speak of named graphs; it errs on the side of yes."""
        text = self.text.upper()
        return "GRAPH" in text or "FROM" in text


class ConditionEvaluator(Protocol):
    """Answers queries over the union of the static, window and inferred graphs, as they are."""

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
