"""Entailments by rules, and by the reasoner where the rules' bounds differ."""

from __future__ import annotations

from typing import Final

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.reasoning.dl.gap.answers import Answers
from sensorstream.reasoning.dl.gap.pair import Pair
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.schema_closure import SchemaClosure

# Triples in one of these graphs are not new.
_KNOWN: Final = int(Origin.STATIC | Origin.WINDOW | Origin.STATIC_INFERRED)
_INFERRED: Final = int(Origin.INFERRED)


class WithinBounds:
    """Keeps all entailments about every individual; a change costs what it changes."""

    def __init__(self, terminology: Terminology, questions: Questions, pair: Pair) -> None:
        self._terminology = terminology
        self._budget = pair.budget
        self._answers = Answers(terminology, questions, pair)

    @property
    def largest_island(self) -> int:
        """The most individuals that the reasoner was asked about together; for any thread."""
        return self._answers.sizes.largest

    def start(self, kb: KnowledgeBase) -> None:
        """Derive the entailments about the static individuals.

        Raises:
            Inconsistent: they have no model.
            ReasonerError: the reasoner's process failed.
        """
        known = frozenset(self._terminology.individuals)
        told = [triple for triple in kb.triples(Origin.STATIC) if triple[0] in known]
        with self._budget.lift():
            self._answers.update(told, [])
        # Hierarchies are no facts about individuals.
        SchemaClosure(self._terminology.schema, types=False).start(kb)
        found = [fact for fact in self._answers.all() if not kb.marks(fact) & _KNOWN]
        kb.add(Origin.STATIC_INFERRED, sorted(found))

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Follow a change of the window; see :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        self._budget.end()
        static = int(Origin.STATIC)
        changed = dict.fromkeys(
            self._answers.update(
                [triple for triple in delta.added if not kb.marks(triple) & static],
                [triple for triple in delta.removed if not kb.marks(triple) & static],
            )
        )
        changed.update(dict.fromkeys((*delta.added, *delta.removed)))
        added: list[Triple] = []
        removed: list[Triple] = []
        for fact in changed:
            marks = kb.marks(fact)
            wanted = not marks & _KNOWN and self._answers.follows(fact)
            if wanted and not marks & _INFERRED:
                added.append(fact)
            elif not wanted and marks & _INFERRED:
                removed.append(fact)
        # In an order that a replay repeats.
        change = Delta(delta.time, tuple(sorted(added)), tuple(sorted(removed)))
        kb.apply(Origin.INFERRED, change)
        return change

    def close(self) -> None:
        """Forget everything."""
        self._answers.sizes.clear()
