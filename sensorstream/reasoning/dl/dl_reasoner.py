"""HermiT or Pellet as a reasoner of the engine: failures lose inferences, but never messages.

After a failed question the reasoner's process is started again and the question repeated. If that
fails too but a new process starts, the question is the cause: it is left open, and the rules'
conclusions replace its answer. If no process can be started, the plain profile replaces it, until
the engine adopts a new reasoner.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from sensorstream.errors import Inconsistent, InternalFault, OntologyError, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.gap.axiom_trial import AxiomTrial
from sensorstream.reasoning.dl.gap.window_entailments import Answers
from sensorstream.reasoning.dl.islands import IslandQuestions, Memo
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.reasoner import Limited, SchemaClosure, change_between

_LOG = logging.getLogger(__name__)
_REMEMBERED: Final = 4096
# Triples in one of these graphs are not new.
_KNOWN: Final = int(Origin.STATIC | Origin.WINDOW | Origin.STATIC_INFERRED)
_INFERRED: Final = int(Origin.INFERRED)


class DlReasoner(Limited):
    """A reasoner that keeps all entailments about individuals: their classes, values and other
    names.

    Rules derive most of them; the reasoner's process is asked about what rules leave open. Answers
    about equal shapes are cached; ``remembered`` limits how many (0: none). A change costs what it
    changes in the bounds that the rules make.
    """

    def __init__(
        self,
        terminology: Terminology,
        worker: Worker,
        *,
        remembered: int = _REMEMBERED,
        limits: Limits = NO_LIMITS,
        trial: AxiomTrial | None = None,
    ) -> None:
        """Prepare the rules; ``limits`` are for their work on one change. ``trial`` is that of
        another reasoner with these axioms; its decisions hold here.
        """
        self._terminology = terminology
        self._worker = worker
        super().__init__(Budget(limits))
        self.questions = IslandQuestions(terminology, worker, remembered)
        """The questions to the process."""
        self._told = SchemaClosure(terminology.schema)
        self._trial = trial or AxiomTrial(terminology)
        self._answers: Answers | None = None

    @property
    def largest_island(self) -> int:
        """The most individuals that are asked about together; for any thread."""
        answers = self._answers
        return 1 if answers is None else answers.largest

    @property
    def left_out(self) -> frozenset[str]:
        """The names of rules that are not made, because they would find too much."""
        return self._trial.left_out

    @property
    def memo(self) -> Memo:
        """The cache of answers, with counts of hits and misses."""
        return self.questions.memo

    def start(self, kb: KnowledgeBase) -> None:
        """Classify the axioms and derive the entailments about the static individuals.

        Raises:
            OntologyError: the axioms, or the static individuals with them, have no model, or are
                not classified in time.
            ReasonerError: the reasoner's process does not start again after a failed question.
        """
        self._answers = None
        try:
            consistent = self._worker.start()
        except ReasonerError as error:
            raise OntologyError(
                f"the ontology cannot be reasoned with: {error}; its "
                f"{len(self._terminology.stated)} axioms are classified before the first message. "
                "Expected a part of it (Protégé, or 'robot extract'), a profile that classifies "
                "nothing (owl2rl, plain), or a longer reasoning.timeout"
            ) from error
        if not consistent:
            raise OntologyError("the ontology contradicts itself: its axioms have no model")
        known = frozenset(self._terminology.individuals)
        told = [triple for triple in kb.triples(Origin.STATIC) if triple[0] in known]
        pair = self._trial.pair(told, self.budget)
        answers = Answers(self._terminology, self.questions, pair)
        # An undecided question about the ontology's own individuals does not prevent the start.
        before, self.questions.leaves_open = self.questions.leaves_open, True
        try:
            with self.budget.lift():
                answers.update(told, [])
        except Inconsistent as error:
            raise OntologyError(f"the ontology contradicts itself: {error}") from None
        finally:
            self.questions.leaves_open = before
        for each in self.questions.left_open:
            _LOG.warning("of the ontology's own individuals: %s", each)
        # Hierarchies are no facts about individuals.
        SchemaClosure(self._terminology.schema, types=False).start(kb)
        found = [fact for fact in answers.all() if not kb.marks(fact) & _KNOWN]
        kb.add(Origin.STATIC_INFERRED, sorted(found))
        self._answers = answers

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        return self._told.conclusions(triple)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        answers = self._answers
        if answers is None:
            raise InternalFault("a reasoner that was not started is told of a change")
        self.budget.end()
        static = int(Origin.STATIC)
        changed = dict.fromkeys(
            answers.update(
                [triple for triple in delta.added if not kb.marks(triple) & static],
                [triple for triple in delta.removed if not kb.marks(triple) & static],
            )
        )
        changed.update(dict.fromkeys((*delta.added, *delta.removed)))
        added: list[Triple] = []
        removed: list[Triple] = []
        for fact in changed:
            marks = kb.marks(fact)
            wanted = not marks & _KNOWN and answers.follows(fact)
            if wanted and not marks & _INFERRED:
                added.append(fact)
            elif not wanted and marks & _INFERRED:
                removed.append(fact)
        # Sorted, so that a replay repeats the order.
        change = Delta(delta.time, tuple(sorted(added)), tuple(sorted(removed)))
        kb.apply(Origin.INFERRED, change)
        return change

    def close(self) -> None:
        """End the reasoner's process, unless others share it."""
        if not self._worker.shared:
            self._worker.close()
        self._answers = None


class ResilientReasoner(DlReasoner):
    """HermiT or Pellet while its process works, the plain profile afterwards."""

    def __init__(
        self,
        terminology: Terminology,
        worker: Worker,
        explainer: Explainer,
        *,
        limits: Limits = NO_LIMITS,
        trial: AxiomTrial | None = None,
    ) -> None:
        super().__init__(terminology, worker, limits=limits, trial=trial)
        self._explainer = explainer
        self._plain: SchemaClosure | None = None
        self.restarts = 0
        """The number of restarts of the process."""
        self.degraded = ""
        """The reason why the plain profile is used; "" if it is not."""

    @property
    def pid(self) -> int | None:
        """The reasoner's process, if it runs."""
        return self._worker.pid

    @property
    def waiting(self) -> float:
        """Seconds for which a question has been without an answer; for any thread."""
        return self._worker.waiting

    def start(self, kb: KnowledgeBase) -> None:
        self._plain, self.degraded = None, ""
        super().start(kb)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Follow a change as :class:`~sensorstream.reasoning.reasoner.Reasoner`.

        Raises:
            Inconsistent: with its contradiction.
            Overrun: see :class:`~sensorstream.reasoning.reasoner.Reasoner`.
        """
        if self._plain is not None:
            return self._plain.react(kb, delta)
        try:
            return self._ask(kb, delta)
        except Inconsistent as error:
            raise self._explainer.explain(kb, delta, error) from None
        except ReasonerError as error:
            return self.degrade(kb, str(error), delta.time)

    def take_left_open(self) -> tuple[str, ...]:
        """Take the questions that the reasoner could not decide since the last call."""
        told = self.questions.left_open
        taken = tuple(told)
        told.clear()
        return taken

    def degrade(self, kb: KnowledgeBase, reason: str, time: int = 0) -> Delta:
        """Switch to the plain profile, whose inferences are then in the inferred graph; return the
        change of that graph, which is applied.
        """
        if self._plain is not None:
            return Delta(time)
        _LOG.error("the reasoner failed, the plain profile takes over: %s", reason)
        self.degraded = reason
        self._plain = SchemaClosure(self._terminology.schema)
        plain = self._plain.count(kb, Delta(time, added=tuple(kb.triples(Origin.WINDOW))))
        super().close()
        change = change_between(time, kb.triples(Origin.INFERRED), plain.added)
        kb.apply(Origin.INFERRED, change)
        return change

    def probe(self) -> None:
        """Ask the process about an individual without assertions; nothing is kept of it. A process
        that fails is ended, and started again by the next question.

        Raises:
            ReasonerError: it does not answer. While the plain profile is used, nothing is asked.
        """
        if self._plain is not None:
            return
        try:
            self._worker.ask([IslandFacts([None], [], [], [], [], [])])
        except ReasonerError:
            self.restarts += 1
            self._worker.close()
            raise

    def close(self) -> None:
        """End the processes."""
        self._explainer.close()
        super().close()

    def _ask(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        try:
            return super().react(kb, delta)
        except ReasonerError as error:
            _LOG.warning("the reasoner failed and is asked again: %s", error)
            self.restarts += 1
            # If the answer was an error, the process still runs, in an unknown state.
            self._worker.close()
            self.questions.leaves_open = True
            try:
                return super().react(kb, delta)
            finally:
                self.questions.leaves_open = False
