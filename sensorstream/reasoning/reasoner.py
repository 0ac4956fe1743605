"""What the engine asks of a reasoner, and the reasoner that derives nothing."""

from __future__ import annotations

from typing import Protocol

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.events import Delta


class Reasoner(Protocol):
    """Keeps the inferred graph in step with static and window graph, delta by delta."""

    def start(self, kb: KnowledgeBase) -> None:
        """Derive the static inferred graph; called once, with an empty window graph.

        A window that is there already (after a restart) follows as one :meth:`react`.

        Raises:
            OntologyError: the static graph contradicts itself.
            ReasonerError: the reasoner's process failed.
        """

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """The change of the inferred graph that a change of the window graph brings.

        ``delta`` is applied to the window graph already; the answer is not applied to the
        inferred graph. An inferred triple may be asserted too: the marks of the knowledge
        base keep the two apart.

        Raises:
            Inconsistent: window and ontology contradict each other. The reasoner's own state
                is as before; the caller takes the delta back without another call.
            ReasonerError: the reasoner's process failed; state as before, too.
        """

    def close(self) -> None:
        """Give back processes and memory; doing it twice is fine."""


class NoReasoner:
    """Profile ``none``: nothing is derived."""

    def start(self, kb: KnowledgeBase) -> None:
        """Nothing to derive."""

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """An empty change."""
        return Delta(delta.time)

    def close(self) -> None:
        """Nothing to give back."""
