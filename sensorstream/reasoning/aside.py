"""A second knowledge base beside the running one, with a new reasoner or a new ontology.

Classifying axioms and deriving a whole window take seconds, so both happen here, in a separate
thread, while messages come in. At the swap only the changes since then are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sensorstream.errors import Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.reasoning.reasoner import Reasoner


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
        wanted = dict.fromkeys(window)
        held = dict.fromkeys(self.kb.triples(Origin.WINDOW))
        added = tuple(triple for triple in wanted if triple not in held)
        removed = tuple(triple for triple in held if triple not in wanted)
        if added or removed:
            self._apply(Delta(0, added, removed))

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
