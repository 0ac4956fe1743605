"""Questions of rules to the history, asked and answered through the journal."""

from __future__ import annotations

import logging
from threading import Lock
from typing import Final, TypeAlias

from prometheus_client import Counter

from sensorstream.app.deployment_handle import Handle
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.app.questions.one_time_questions import AskedText, Asking, RunningQuestions
from sensorstream.errors import HistoryError, Overrun, SensorStreamError, Unavailable
from sensorstream.history.asking.checked_question import ALL, question_before
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.journal.message import AnswerRule
from sensorstream.processes.stopping import Stop
from sensorstream.rules.history_rules import HistoryQuery
from sensorstream.rules.rule_memory import Answer, HistoryQuestion, SolutionKey
from sensorstream.sparql.query_printer import query_text

_LOG = logging.getLogger(__name__)
_LOOK: Final = 1.0
"""Seconds between two looks at the waiting questions."""
_FAREWELL: Final = 5.0
"""Seconds to wait for the end of the thread."""
_MOST_TRIES: Final = 5
"""Attempts for a question that the history does not answer although it can be reached."""
MOST_SOLUTIONS: Final = 1000
"""Solutions of one answer: the rule is tried with each of them."""
MOST_CHARACTERS: Final = 4_000_000
"""Characters of all values of one answer, for the journal keeps it."""

_Place: TypeAlias = tuple[str, str, SolutionKey]


class RuleQuestions(RepeatedWork):
    """A thread that answers the questions of rules to the history, one after the other.

    The answers are entries of the journal. The engine remembers the questions until they are
    answered (decision 028), so nothing has to be kept here: after a restart the waiting questions
    are asked again. A question has the limits of a client's. While the history cannot be reached it
    waits; any other fault is the answer.
    """

    def __init__(self, app: Handle, asking: Asking, questions: RunningQuestions) -> None:
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
        """End the question at work, which is asked again after the next start, and the thread. A
        thread whose answer waits for the journal ends with the pipeline.
        """
        self._halt.set()
        with self._lock:
            if self._at_work is not None:
                self._at_work.now(Unavailable("the server stops"))
        super().stop()

    def waiting(self) -> list[tuple[HistoryQuestion, HistoryQuery]]:
        """The questions that wait, the oldest first."""
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

    def _answer(self, asked: HistoryQuestion, query: HistoryQuery) -> None:
        """Answer a question, or report why there is no answer.

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

    def _solutions(self, asked: HistoryQuestion, query: HistoryQuery) -> tuple[SolutionKey, ...]:
        line = self._app.deployment.timeline
        question = question_before(query.at(asked.moment), line, asked.now)
        told = AskedText("sparql", query_text(question.query), ALL, f"rule {asked.rule}")
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
