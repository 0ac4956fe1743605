"""A description logic reasoner whose failures lose inferences, but never messages.

After a failed question the reasoner's process is started again and the question repeated. If that
fails too but a new process starts, the question is the cause: it is left open, and what rules
derive stands for its answer. If no process can be started, the plain profile replaces it, until the
engine adopts a new reasoner.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from sensorstream.errors import Inconsistent, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.questions import Memo
from sensorstream.reasoning.dl.reasoner import DlReasoner
from sensorstream.reasoning.reasoner import Limited
from sensorstream.reasoning.schema_closure import SchemaClosure

_LOG = logging.getLogger(__name__)


class ResilientReasoner(Limited):
    """HermiT or Pellet while its process works, the plain profile afterwards."""

    def __init__(
        self, reasoner: DlReasoner, worker: Worker, explainer: Explainer, schema: Schema
    ) -> None:
        """``worker`` is the process that ``reasoner`` asks."""
        super().__init__(reasoner.budget)
        self._reasoner = reasoner
        self._worker = worker
        self._explainer = explainer
        self._schema = schema
        self._told = SchemaClosure(schema)
        self._plain: SchemaClosure | None = None
        self.restarts = 0
        """How often the process was started again."""
        self.degraded = ""
        """Why the plain profile is used; "" if it is not."""

    @property
    def pid(self) -> int | None:
        """The reasoner's process, if it runs."""
        return self._worker.pid

    @property
    def waiting(self) -> float:
        """Seconds for which a question has been without an answer; for any thread."""
        return self._worker.waiting

    @property
    def largest_island(self) -> int:
        """The most individuals that are asked about together; 1 if every one is alone."""
        return self._reasoner.largest_island

    @property
    def left_out(self) -> frozenset[str]:
        """See :class:`~sensorstream.reasoning.dl.reasoner.DlReasoner`."""
        return self._reasoner.left_out

    @property
    def memo(self) -> Memo:
        """The cache of answers."""
        return self._reasoner.memo

    def start(self, kb: KnowledgeBase) -> None:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        self._plain, self.degraded = None, ""
        self._reasoner.start(kb)
        self._explainer.prepare()

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`.

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
        """What the reasoner could not decide since this was called before."""
        told = self._reasoner.questions.left_open
        taken = tuple(told)
        told.clear()
        return taken

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        return self._told.conclusions(triple)

    def degrade(self, kb: KnowledgeBase, reason: str, time: int = 0) -> Delta:
        """Switch to the plain profile, whose inferences the inferred graph holds then.

        Returns:
            The change of the inferred graph, which is applied.
        """
        if self._plain is not None:
            return Delta(time)
        _LOG.error("the reasoner failed, the plain profile takes over: %s", reason)
        self.degraded = reason
        self._plain = SchemaClosure(self._schema)
        plain = self._plain.count(kb, Delta(time, added=tuple(kb.triples(Origin.WINDOW))))
        self._reasoner.close()
        wanted = dict.fromkeys(plain.added)
        held = dict.fromkeys(kb.triples(Origin.INFERRED))
        change = Delta(
            time,
            added=tuple(triple for triple in wanted if triple not in held),
            removed=tuple(triple for triple in held if triple not in wanted),
        )
        kb.apply(Origin.INFERRED, change)
        return change

    def probe(self) -> None:
        """Ask the process about an individual of which nothing is said; nothing is kept of it.

        A process that fails is ended, and started again by the next question.

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
        self._reasoner.close()

    def _ask(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        try:
            return self._reasoner.react(kb, delta)
        except ReasonerError as error:
            _LOG.warning("the reasoner failed and is asked again: %s", error)
            self.restarts += 1
            # After an error as answer the process still runs, in an unknown state.
            self._worker.close()
            questions = self._reasoner.questions
            questions.leaves_open = True
            try:
                return self._reasoner.react(kb, delta)
            finally:
                questions.leaves_open = False
