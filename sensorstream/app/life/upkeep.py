"""What is done now and then beside all other work, each in a thread of its own."""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import datetime
from threading import Lock
from typing import Final, TypeAlias

from prometheus_client import Counter
from psycopg2 import extensions

from sensorstream.app.control.engine_settings import kept_for
from sensorstream.app.handle import Handle
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.app.questions.asking import Asked as RunningQuestion
from sensorstream.app.questions.asking import Asking, Running
from sensorstream.archive.age import instant_ago
from sensorstream.errors import (
    Contradiction,
    HistoryError,
    Overrun,
    ReasonerError,
    SensorStreamError,
    Unavailable,
)
from sensorstream.history.asking.answer import Solutions
from sensorstream.history.asking.question import ALL, question_before
from sensorstream.history.database import connect, translating
from sensorstream.history.kept_messages import Chosen, Quarantined, keep_contradiction, quarantined
from sensorstream.journal.message import AnswerRule, PassTime
from sensorstream.journal.notice import ReportDifferences
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits
from sensorstream.processes.stopping import Stop
from sensorstream.quoting import LONGEST
from sensorstream.reasoning.dl.contradictions import clashing, told, triple_of
from sensorstream.reasoning.dl.cross_check import Differences, cross_check
from sensorstream.resources import bundled
from sensorstream.rules.history import HistoryQuery
from sensorstream.rules.memory import Answer, Asked, SolutionKey
from sensorstream.settings import Settings
from sensorstream.sparql.printing.query_forms import query_text

_LOG = logging.getLogger(__name__)
_HOUR: Final = 3600.0
_SCRIPT: Final = "retention.sql"
_NEVER: Final = (str(-(2**63)), "-infinity")
"""Bounds before which nothing is."""


def forget(url: str, settings: Settings, now: datetime) -> None:
    """Delete what is older than the settings keep.

    Raises:
        HistoryError: the database failed; nothing is deleted then.
    """
    length, messages = kept_for(settings)
    ended, received = _NEVER
    if length is not None:
        ended = str(max(instant_ago(url, length, settings.time.timeline, now), int(ended)))
    if messages is not None:
        received = (now - messages).isoformat()
    with (
        translating("cannot delete what is old"),
        closing(connect(url, application="sensorstream retention")) as connection,
    ):
        connection.autocommit = True  # the script has a transaction of its own
        with connection.cursor() as cursor:
            for name, bound in (("ended_before", ended), ("received_before", received)):
                cursor.execute("select set_config(%s, %s, false)", (f"sensorstream.{name}", bound))
            cursor.execute((bundled("persistent") / _SCRIPT).read_text(encoding="utf-8"))


def retention(app: Handle) -> RepeatedWork:
    """Forgets at the start and then every hour."""
    return RepeatedWork(
        "retention",
        lambda: forget(app.url, app.settings, app.clock.now()),
        _HOUR,
        ("nothing old was deleted", "internal error while old history was deleted"),
        at_once=True,
    )


_NAP: Final = 10.0
"""Seconds between two looks at what was refused."""
_AT_ONCE: Final = 20
_SECONDS: Final = 300.0
"""Seconds that one contradiction may take."""
_PATIENCE: Final = 1.0
"""Seconds to wait for the end of the thread, which ends with the process otherwise."""


class Narrowing(RepeatedWork):
    """Narrows down contradictions of refused messages that were not at once, one after the other.

    It begins with those that are in quarantine already. Each is tried once, with the ontology of
    now; where that finds no contradiction, what was kept stays.
    """

    def __init__(self, app: Handle) -> None:
        trouble = (
            "contradictions wait to be narrowed down",
            "internal error while a contradiction was narrowed down",
        )
        super().__init__("narrowing", self.look, _NAP, trouble, patience=_PATIENCE)
        self._app = app
        self._seen = 0

    def look(self) -> None:
        """Narrow down what was refused since the last look.

        Raises:
            HistoryError: history cannot be read or written.
        """
        chosen = Chosen(status="rejected", code="inconsistent", after=self._seen)
        found = quarantined(self._app.database, _AT_ONCE, chosen)
        for each in reversed(found):
            if self.stopping:
                return
            if each.contradiction is not None and each.contradiction.limits:
                self._narrow(each, each.contradiction)
            self._seen = each.seq

    def _narrow(self, refused: Quarantined, contradiction: Contradiction) -> None:
        # Of a longer line the middle is not kept; what clashes without it does so with it.
        whole = [line for line in contradiction.triples if len(line) < LONGEST]
        assertions = tuple(map(triple_of, whole))
        reasoning = self._app.settings.reasoning
        found = clashing(
            assertions,
            self._app.deployment.ontology,
            java=reasoning.java,
            heap=reasoning.heap,
            seconds=_SECONDS,
            clock=self._app.clock,
        )
        if not found.limits:
            lines = tuple(" ".join(t.n3 for t in each) + " ." for each in found.assertions)
            narrowed = Contradiction(lines, found.axioms)
            reason = f"the message contradicts the ontology: {told(narrowed)}"
            keep_contradiction(self._app.database, refused.id, reason, narrowed)
            _LOG.info("the contradiction of message %s is narrowed down", refused.id)


_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0


class Revival(RepeatedWork):
    """Replaces a reasoner that failed; it waits longer after each failed attempt."""

    def __init__(self, app: Handle) -> None:
        fault = "internal error: the reasoner cannot be replaced"
        super().__init__("revival", self._attempt, lambda: self._wait, (fault, fault))
        self._app = app
        self._wait = _FIRST_WAIT

    def _attempt(self) -> None:
        if not self._app.engine.degraded:
            self._wait = _FIRST_WAIT
            return
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        try:
            self._app.exchange.revive(self._app.pipeline)
        except SensorStreamError as error:
            _LOG.warning(
                "the reasoner cannot be replaced yet, next attempt in %g s: %s", self._wait, error
            )


_RESULTS: Final = ("same", "different", "unfinished", "skipped")


class CrossChecks:
    """Compares the inferences with HermiT's, when asked, or every ``period`` seconds.

    A cross-check may take as long as the period. Differences are an entry of the journal, whose
    alert names them; they change nothing else.
    """

    def __init__(self, app: Handle) -> None:
        self._app, metrics = app, app.meters.registry
        told = "Cross-checks of the inferences, by result."
        counter = Counter("sensorstream_cross_checks", told, ["result"], registry=metrics)
        self._results = {name: counter.labels(name) for name in _RESULTS}
        found = "Triples by which inferences differed from a fresh run of HermiT."
        self._differences = Counter("sensorstream_cross_check_differences", found, registry=metrics)

    def every(self, period: float) -> RepeatedWork:
        """A thread that does it; its end waits for no running one, whose process ends with this."""
        trouble = "the inferences could not be cross-checked", "internal error in the cross-check"
        return RepeatedWork("cross-checks", lambda: self.now(period), period, trouble, patience=0.0)

    def now(self, seconds: float) -> Differences | None:
        """Compare now, within ``seconds``; None while the plain profile stands in.

        Raises:
            ReasonerError: HermiT did not finish in time, or failed.
        """
        with self._app.pipeline.lock:
            kb, deployment = self._app.engine.kb, self._app.deployment
            degraded = self._app.engine.degraded
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
                clock=self._app.clock,
            )
        except ReasonerError:
            self._results["unfinished"].inc()
            raise
        self._results["different" if found else "same"].inc()
        if found:
            self._differences.inc(len(found))
            _LOG.error("the cross-check found %d differences: %s", len(found), found)
            told = f"{len(found)} differences to HermiT's answer: {found}"
            self._app.pipeline.change(ReportDifferences(told)).result()
        return found


_LOOK: Final = 1.0
"""Seconds between two looks at what waits."""
_FAREWELL: Final = 5.0
"""Seconds to wait for the end of the thread."""
_MOST_TRIES: Final = 5
"""How often a question is asked that the history does not answer although it can be reached."""
MOST_SOLUTIONS: Final = 1000
"""Solutions of one answer: the rule is tried with each of them."""
MOST_CHARACTERS: Final = 4_000_000
"""Characters of all values of one answer, for the journal keeps it."""

_Place: TypeAlias = tuple[str, str, SolutionKey]


class RuleQuestions(RepeatedWork):
    """Answers the questions of rules to the history, one after the other.

    The answers are entries of the journal. The engine remembers what a rule has asked until it is
    answered (decision 028), so nothing has to be kept here: after a restart the questions that wait
    are asked again. A question has the limits of one of a client. While the history cannot be
    reached it waits; any other fault is the answer.
    """

    def __init__(self, app: Handle, asking: Asking, questions: Running) -> None:
        trouble = (
            "a question of a rule to the history waits",
            "internal error at a question of a rule to the history",
        )
        super().__init__("rule-questions", self._look, _LOOK, trouble, patience=_FAREWELL)
        self._app = app
        self._asking = asking
        self._questions = questions
        told = "Questions of rules to the history, by result."
        counter = Counter(
            "sensorstream_rule_questions", told, ["result"], registry=app.meters.registry
        )
        self._results = {name: counter.labels(name) for name in ("answered", "failed")}
        self._tries: dict[_Place, int] = {}
        self._lock = Lock()
        self._at_work: Stop | None = None

    def stop(self) -> None:
        """End the question at work, which is asked again after the next start, and the thread.

        A thread whose answer waits for the journal ends with the pipeline.
        """
        self._halt.set()
        with self._lock:
            if self._at_work is not None:
                self._at_work.now(Unavailable("the server stops"))
        super().stop()

    def waiting(self) -> list[tuple[Asked, HistoryQuery]]:
        """What is to be asked, the oldest first."""
        rules = self._app.deployment.rules
        queries = {rule.name: rule.question for rule in rules if rule.question is not None}
        if not queries:
            return []
        with self._app.pipeline.lock:
            found = self._app.engine.asked()
        return [(each, query) for each in found if (query := queries.get(each.rule)) is not None]

    def _look(self) -> None:
        for asked, query in self.waiting():
            if self.stopping:
                return
            self._answer(asked, query)

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
        self._app.pipeline.change(AnswerRule(answer)).result()
        self._results["failed" if answer.failure else "answered"].inc()

    def _is_tried_again(self, place: _Place) -> bool:
        if self._app.pipeline.trouble is not None:
            return True
        self._tries[place] = self._tries.get(place, 0) + 1
        return self._tries[place] < _MOST_TRIES

    def _solutions(self, asked: Asked, query: HistoryQuery) -> tuple[SolutionKey, ...]:
        line = self._app.deployment.timeline
        question = question_before(query.at(asked.moment), line, asked.now)
        told = RunningQuestion("sparql", query_text(question.query), ALL, f"rule {asked.rule}")
        with self._questions.enter(told) as stop:
            with self._lock:
                self._at_work = stop
            try:
                if self.stopping:
                    raise Unavailable("the server stops")
                with self._asking.history(question, live=True, stop=stop) as answer:
                    assert isinstance(answer, Solutions)
                    return _bounded(answer, query.returned)
            finally:
                with self._lock:
                    self._at_work = None


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


_QUERY = """
    select p.moved, p.moved_at, g.watermark,
        (select coalesce(max(seq), 0) from store.messages),
        exists (
            select from store.messages where seq > g.watermark and kind <> 'message' and kind = %s
        ),
        (select min(received) from store.engines where "until" is null and received is not null),
        (select min(moved) from store.engines where "until" is null and moved is not null),
        (select min(present) from store.engines where "until" is null and present is not null)
    from store.pipeline p cross join store.progress g
"""


class StreamTime:
    """Reads how far the stream's time has come, and what the engines wait for.

    Application time is what messages have brought to any engine. While all of them are silent and
    nothing waits to be processed, it goes on with the clock, for continuous queries alone
    (decision 010). Owned by one thread.
    """

    def __init__(self, url: str, since: Instant) -> None:
        """``since``: the time of arrival before which silence says nothing."""
        self._url = url
        self._since = since
        self._connection: extensions.connection | None = None

    def due(self, now: Instant) -> PassTime | None:
        """What is to be told to the engines at a time of arrival; None: nothing waits for it.

        One entry waits until the engines have had the one before. While the history cannot be
        read, nothing is due.
        """
        try:
            return self._due(now)
        except HistoryError as error:
            _LOG.warning("the history is unavailable, time stands still: %s", error)
            self.close()
            return None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _due(self, now: Instant) -> PassTime | None:
        if self._connection is None:
            self._connection = connect(self._url, application="sensorstream time")
            self._connection.autocommit = True
        with (
            translating("cannot read what the engines wait for"),
            self._connection.cursor() as cursor,
        ):
            cursor.execute(_QUERY, (PassTime.kind,))
            row = cursor.fetchone()
        if row is None or row[0] is None:
            return None
        moved, moved_at, watermark, last, told, *waits = row
        if told:
            return None
        present = moved
        if watermark == last and moved_at is not None:
            present += max(0, now - max(moved_at, self._since))
        return PassTime(moved, present) if Waits(*waits).over(now, moved, present) else None
