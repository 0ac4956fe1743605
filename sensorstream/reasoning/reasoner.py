"""The interface of reasoners to the engine, and a reasoner beside the one at work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sensorstream.errors import Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.budget import Budget


class Reasoner(Protocol):
    """Updates the inferred graph for each change of the window graph."""

    lifted: bool
    """Whether the limits of a change are not in force: what comes was accepted before."""

    def start(self, kb: KnowledgeBase) -> None:
        """Derive the static inferred graph, with an empty window graph.

        What was known of another knowledge base before is forgotten. A window that exists already
        (after a restart) is added by one call of :meth:`react`.

        Raises:
            OntologyError: the static graph contradicts itself.
            ReasonerError: the reasoner's process failed.
        """

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Change the inferred graph as follows from a change of the window graph.

        ``delta`` is applied to the window graph already. An inferred triple may be asserted too:
        the marks of the knowledge base distinguish the two.

        Returns:
            The change of the inferred graph, which is applied.

        Raises:
            Inconsistent: window and ontology contradict each other. The inferred graph and the
                reasoner's own state are as before; the caller undoes the delta without another
                call.
            Overrun: what follows is more than the limits allow; the same.
            ReasonerError: the reasoner's process failed; the same.
        """

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """What follows from one triple by itself, under the stated schema; without the window."""

    def close(self) -> None:
        """Release processes and memory; a second call does nothing."""


def change_between(time: Instant, before: Iterable[Triple], after: Iterable[Triple]) -> Delta:
    """The change that makes one set of triples of another."""
    held, wanted = dict.fromkeys(before), dict.fromkeys(after)
    return Delta(
        time,
        added=tuple(triple for triple in wanted if triple not in held),
        removed=tuple(triple for triple in held if triple not in wanted),
    )


@contextmanager
def without_limits(reasoner: Reasoner) -> Iterator[None]:
    """Lift the limits for changes that were accepted before, or take such ones back."""
    before, reasoner.lifted = reasoner.lifted, True
    try:
        yield
    finally:
        reasoner.lifted = before


class Limited:
    """A reasoner with a budget for each change."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @property
    def lifted(self) -> bool:
        """See :class:`Reasoner`."""
        return self.budget.lifted

    @lifted.setter
    def lifted(self, lifted: bool) -> None:
        self.budget.lifted = lifted


class NoReasoner:
    """Profile ``none``: nothing is derived."""

    lifted = False

    def start(self, kb: KnowledgeBase) -> None:
        """Derives nothing."""

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """An empty change."""
        return Delta(delta.time)

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """Nothing."""
        return ()

    def close(self) -> None:
        """Nothing to release."""


class Aside:
    """Static graph, a copy of the window, and everything that the reasoner derives from them."""

    def __init__(self, static: Iterable[Triple], reasoner: Reasoner) -> None:
        """Start the reasoner over the static graph and an empty window.

        Raises:
            OntologyError: the static graph contradicts itself.
            ReasonerError: the reasoner's process failed.
        """
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, static)
        self.reasoner = reasoner
        reasoner.start(self.kb)

    def follow(self, window: Iterable[Triple]) -> None:
        """Apply the changes of the window to the copy; O(changes).

        Raises:
            Inconsistent: window and ontology contradict each other; the copy is as before.
            Overrun: rules conclude too much; the copy is as before.
            ReasonerError: the reasoner's process failed; the copy is as before.
        """
        delta = change_between(0, self.kb.triples(Origin.WINDOW), window)
        if delta.added or delta.removed:
            self._apply(delta)

    def admit(self, parts: Iterable[Sequence[Triple]]) -> list[Triple]:
        """Add the parts of the window to the copy, one after the other.

        Returns:
            The triples of those parts that contradict the ontology and the parts before them.
        """
        refused: list[Triple] = []
        for part in parts:
            new = tuple(t for t in part if not self.kb.origins(t) & Origin.WINDOW)
            try:
                self._apply(Delta(0, added=new))
            except Inconsistent:
                refused += new
        return refused

    def _apply(self, delta: Delta) -> None:
        self.kb.apply(Origin.WINDOW, delta)
        try:
            self.reasoner.react(self.kb, delta)
        except (Inconsistent, Overrun, ReasonerError):
            self.kb.apply(Origin.WINDOW, delta.inverse())
            raise
