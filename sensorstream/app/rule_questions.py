"""Asks the history what rules want to know of it, and brings the answers as entries of the journal.

The engine remembers what a rule has asked until it is answered (decision 028), so nothing has to be
kept here: after a restart the questions that wait are asked again.
"""

from __future__ import annotations

import logging
from threading import Event, Lock, Thread
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter

from sensorstream.app import running
from sensorstream.app.asking import Asking
from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import Pipeline
from sensorstream.clock import Clock
from sensorstream.engine.engine import Engine
from sensorstream.errors import HistoryError, Overrun, ReasonerError, SensorStreamError, Unavailable
from sensorstream.history.asking.answer import Solutions
from sensorstream.history.asking.question import ALL, question_before
from sensorstream.journal.message import AnswerRule
from sensorstream.journal.notice import ReportDifferences
from sensorstream.processes.stopping import Stop
from sensorstream.reasoning.dl.cross_check import Differences, cross_check
from sensorstream.rules.history import HistoryQuery
from sensorstream.rules.memory import Answer, Asked, SolutionKey
from sensorstream.sparql.printing.query_forms import query_text

_LOG = logging.getLogger(__name__)
_NAP: Final = 1.0
"""Seconds between two looks at what waits."""
_PATIENCE: Final = 5.0
"""Seconds to wait for the end of the thread."""
_MOST_TRIES: Final = 5
"""How often a question is asked that the history does not answer although it can be reached."""
MOST_SOLUTIONS: Final = 1000
"""Solutions of one answer: the rule is tried with each of them."""
MOST_CHARACTERS: Final = 4_000_000
"""Characters of all values of one answer, for the journal keeps it."""

_Place: TypeAlias = tuple[str, str, SolutionKey]


class RuleQuestions:
    """A thread that answers the questions of rules to the history, one after the other.

    A question has the limits of one of a client. While the history cannot be reached it waits; any
    other fault is the answer.
    """

    def __init__(
        self,
        engine: Engine,
        exchange: Exchange,
        pipeline: Pipeline,
        asking: Asking,
        questions: running.Running,
        metrics: CollectorRegistry,
    ) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._asking = asking
        self._questions = questions
        told = "Questions of rules to the history, by result."
        counter = Counter("sensorstream_rule_questions", told, ["result"], registry=metrics)
        self._results = {name: counter.labels(name) for name in ("answered", "failed")}
        self._tries: dict[_Place, int] = {}
        self._halt = Event()
        self._lock = Lock()
        self._stop: Stop | None = None
        self._thread = Thread(target=self._run, name="rule-questions", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the question at work, which is asked again after the next start, and the thread.

        A thread whose answer waits for the journal ends with the pipeline.
        """
        self._halt.set()
        with self._lock:
            if self._stop is not None:
                self._stop.now(Unavailable("the server stops"))
        self._thread.join(_PATIENCE)

    def waiting(self) -> list[tuple[Asked, HistoryQuery]]:
        """What is to be asked, the oldest first."""
        rules = self._exchange.deployment.rules
        queries = {rule.name: rule.question for rule in rules if rule.question is not None}
        if not queries:
            return []
        with self._pipeline.lock:
            found = self._engine.asked()
        return [(each, query) for each in found if (query := queries.get(each.rule)) is not None]

    def _run(self) -> None:
        while not self._halt.wait(_NAP):
            try:
                for asked, query in self.waiting():
                    if self._halt.is_set():
                        return
                    self._answer(asked, query)
            except (HistoryError, Unavailable) as error:
                _LOG.warning("a question of a rule to the history waits: %s", error)
            except Exception:
                _LOG.exception("internal error at a question of a rule to the history")

    def _answer(self, asked: Asked, query: HistoryQuery) -> None:
        """Answer a question, or tell why there is no answer.

        Raises:
            HistoryError, Unavailable: it cannot be answered now.
        """
        place = asked.rule, asked.digest, asked.moment
        try:
            answer = Answer(*place, self._solutions(asked, query))
        except Unavailable:
            raise
        except SensorStreamError as error:
            if isinstance(error, HistoryError) and self._is_tried_again(place):
                raise
            answer = Answer(*place, failure=f"the history does not answer: {error}")
        except Exception as error:
            _LOG.exception("internal error at the question of rule %s", asked.rule)
            fault = f"a fault of the server: {type(error).__name__}: {error}"
            answer = Answer(*place, failure=fault)
        self._tries.pop(place, None)
        self._pipeline.change(AnswerRule(answer)).result()
        self._results["failed" if answer.failure else "answered"].inc()

    def _is_tried_again(self, place: _Place) -> bool:
        if self._pipeline.trouble is not None:
            return True
        self._tries[place] = self._tries.get(place, 0) + 1
        return self._tries[place] < _MOST_TRIES

    def _solutions(self, asked: Asked, query: HistoryQuery) -> tuple[SolutionKey, ...]:
        line = self._exchange.deployment.timeline
        question = question_before(query.at(asked.moment), line, asked.now)
        told = running.Asked("sparql", query_text(question.query), ALL, f"rule {asked.rule}")
        with self._questions.enter(told) as stop:
            with self._lock:
                self._stop = stop
            try:
                if self._halt.is_set():
                    raise Unavailable("the server stops")
                with self._asking.history(question, live=True, stop=stop) as answer:
                    assert isinstance(answer, Solutions)
                    return _bounded(answer, query.returned)
            finally:
                with self._lock:
                    self._stop = None


def _bounded(answer: Solutions, names: frozenset[str]) -> tuple[SolutionKey, ...]:
    """The solutions, as those of a rule.

    Raises:
        Overrun: they are too many, or too long.
    """
    found: list[SolutionKey] = []
    characters = 0
    for row in answer.rows:
        if len(found) == MOST_SOLUTIONS:
            raise Overrun(
                f"more than {MOST_SOLUTIONS:,} solutions, and a rule is tried with each: group "
                "them, or add LIMIT"
            )
        values = zip(answer.variables, row, strict=True)
        solution = tuple((name, each) for name, each in values if each is not None)
        characters += sum(len(each) for _, each in solution)
        if characters > MOST_CHARACTERS:
            raise Overrun(f"solutions of more than {MOST_CHARACTERS:,} characters: ask for less")
        found.append(tuple(each for each in solution if each[0] in names))
    return tuple(found)


_RESULTS = ("same", "different", "unfinished", "skipped")


class CrossChecks:
    """A thread that compares the inferences with HermiT's every ``period`` seconds.

    ``period`` is None: only when asked. A cross-check may take as long as the period. Differences
    are an entry of the journal, whose alert names them; they change nothing else.
    """

    def __init__(
        self,
        engine: Engine,
        exchange: Exchange,
        pipeline: Pipeline,
        *,
        period: float | None,
        clock: Clock,
        metrics: CollectorRegistry,
    ) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._period = period
        self._clock = clock
        told = "Cross-checks of the inferences, by result."
        counter = Counter("sensorstream_cross_checks", told, ["result"], registry=metrics)
        self._results = {name: counter.labels(name) for name in _RESULTS}
        found = "Triples by which inferences differed from a fresh run of HermiT."
        self._differences = Counter("sensorstream_cross_check_differences", found, registry=metrics)
        self._halt = Event()
        self._thread = Thread(target=self._run, name="cross-checks", daemon=True)

    def start(self) -> None:
        """Start the thread, if there is a period."""
        if self._period is not None:
            self._thread.start()

    def stop(self) -> None:
        """End the thread without waiting for a running one, whose process ends with this one."""
        self._halt.set()

    def now(self, seconds: float) -> Differences | None:
        """Compare now, within ``seconds``; None while the plain profile stands in.

        Raises:
            ReasonerError: HermiT did not finish in time, or failed.
        """
        with self._pipeline.lock:
            kb, deployment = self._engine.kb, self._exchange.deployment
            degraded = self._engine.degraded
            marks = {triple: kb.origins(triple) for triple in kb.match(None, None, None)}
        if degraded:
            self._results["skipped"].inc()
            return None
        reasoning = deployment.settings.reasoning
        try:
            found = cross_check(
                deployment.ontology,
                marks,
                java=reasoning.java,
                heap=reasoning.heap,
                seconds=seconds,
                clock=self._clock,
            )
        except ReasonerError:
            self._results["unfinished"].inc()
            raise
        self._results["different" if found else "same"].inc()
        if found:
            self._differences.inc(len(found))
            _LOG.error("the cross-check found %d differences: %s", len(found), found)
            told = f"{len(found)} differences to HermiT's answer: {found}"
            self._pipeline.change(ReportDifferences(told)).result()
        return found

    def _run(self) -> None:
        assert self._period is not None
        while not self._halt.wait(self._period):
            try:
                self.now(self._period)
            except SensorStreamError as error:
                _LOG.warning("the inferences could not be cross-checked: %s", error)
            except Exception:
                _LOG.exception("internal error in the cross-check")
