"""HermiT or Pellet as a reasoner of the engine: deltas in, deltas out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.errors import Inconsistent, OntologyError, ReasonerError
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.reasoning.dl.gap.pair import Pair
from sensorstream.reasoning.dl.gap.within_bounds import WithinBounds
from sensorstream.reasoning.dl.memo import Memo
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.dl.whole_islands import WholeIslands
from sensorstream.reasoning.schema_closure import SchemaClosure

_REMEMBERED: Final = 4096


class DlReasoner:
    """Keeps all entailments about every individual: its classes, values and other names.

    Rules derive most of them; the reasoner's process is asked about what rules leave open. Where
    the axioms have no complete rules, it is asked about whole islands. Answers about equal shapes
    are cached; ``remembered`` limits how many (0: none).
    """

    def __init__(
        self,
        terminology: Terminology,
        worker: Worker,
        *,
        remembered: int = _REMEMBERED,
        limits: Limits = NO_LIMITS,
    ) -> None:
        """``limits`` are for what rules may take for one change."""
        self._terminology = terminology
        self._worker = worker
        self._budget = Budget(limits)
        self._questions = Questions(terminology, worker, remembered)
        self._told = SchemaClosure(terminology.schema)
        self._way: WithinBounds | WholeIslands = WholeIslands(terminology, self._questions)

    @property
    def lifted(self) -> bool:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        return self._budget.lifted

    @lifted.setter
    def lifted(self, lifted: bool) -> None:
        self._budget.lifted = lifted

    @property
    def largest_island(self) -> int:
        """The most individuals that are asked about together; for any thread."""
        return self._way.largest_island

    @property
    def memo(self) -> Memo:
        """The cache of answers, with counts of hits and misses."""
        return self._questions.memo

    def start(self, kb: KnowledgeBase) -> None:
        """Classify the axioms and derive the entailments about the static individuals.

        Raises:
            OntologyError: the axioms, or the static individuals with them, have no model.
            ReasonerError: the reasoner's process failed.
        """
        self._way.close()
        try:
            consistent = self._worker.start()
        except ReasonerError as error:
            raise OntologyError(f"the ontology cannot be reasoned with: {error}") from error
        if not consistent:
            raise OntologyError("the ontology contradicts itself: its axioms have no model")
        pair = Pair(self._terminology, self._budget)
        self._way = WithinBounds(self._terminology, self._questions, pair)
        try:
            self._way.start(kb)
        except Inconsistent as error:
            raise OntologyError(f"the ontology contradicts itself: {error}") from None

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        return self._told.conclusions(triple)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        return self._way.react(kb, delta)

    def close(self) -> None:
        """End the reasoner's process."""
        self._worker.close()
        self._way.close()
