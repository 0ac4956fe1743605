"""What has left the window of a story's engine: the history that its rules may ask.

The statements are kept in memory, and Oxigraph answers from them what PostgreSQL answers on a
server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import pyoxigraph as ox

from sensorstream.app.questions.asking import present
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import SensorStreamError, StoryError
from sensorstream.history.asking.question import Interval, Moment, Question, question_before
from sensorstream.journal.effects import in_order
from sensorstream.kb.graph import Origin
from sensorstream.kb.oxigraph import FUNCTIONS, from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.events import Ended, Message
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
)
from sensorstream.rules.history import HistoryQuery
from sensorstream.rules.memory import Answer, Asked, SolutionKey
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.sparql.oxigraph_text import oxigraph_text

_STANDING: Final = (
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)
_MOST_ANSWERS: Final = 10_000
"""Answers after one step: an answer may let another moment come, but not for ever."""


@dataclass(slots=True)
class Past:
    """The history of an engine; ``rules`` are those that may ask it."""

    engine: Engine
    rules: Iterable[CompiledRule]
    line: Timeline
    ended: list[Ended] = field(default_factory=list)

    def keep(self, outcome: Outcome) -> None:
        """Keep what has ended; O(that)."""
        for each in in_order(outcome):
            self.ended += each.ended
            for departure in (*each.departures, *each.archived):
                self.ended += departure.ended()
            for wrong in each.revoked:
                if wrong in self.ended:
                    self.ended.remove(wrong)

    def answers(self, entry: Message) -> Iterator[Outcome]:
        """Answer what rules have asked when ``entry`` came, until nothing waits."""
        queries = {rule.name: rule.question for rule in self.rules}
        for number in range(1, _MOST_ANSWERS + 1):
            asked = next(iter(self.engine.asked()), None)
            query = None if asked is None else queries[asked.rule]
            if asked is None or query is None:
                return
            told = Message(f"{entry.id}-a{number}", b"", entry.received)
            outcome = self.engine.answer(told, self._answer(asked, query))
            self.keep(outcome)
            yield outcome
        raise StoryError(f"rules have asked the history {_MOST_ANSWERS:,} times after one step")

    def _answer(self, asked: Asked, query: HistoryQuery) -> Answer:
        try:
            question = question_before(query.at(asked.moment), self.line, asked.now)
            return Answer(asked.rule, asked.digest, asked.moment, self._solutions(question))
        except SensorStreamError as error:
            failure = f"the history does not answer: {error}"
            return Answer(asked.rule, asked.digest, asked.moment, failure=failure)

    def _solutions(self, question: Question) -> tuple[SolutionKey, ...]:
        store = ox.Store()
        for triple, graph in self._statements(question.time):
            subject, predicate, value = triple
            quad = subject_to_oxigraph(subject), ox.NamedNode(predicate), to_oxigraph(value)
            store.add(ox.Quad(*quad, ox.NamedNode(graph)))
            store.add(ox.Quad(*quad))
        text = oxigraph_text(replace(question.query, valid_time=None))
        found = store.query(text, custom_functions=FUNCTIONS)
        assert isinstance(found, ox.QuerySolutions)
        names = [each.value for each in found.variables]
        return tuple(
            tuple((name, from_oxigraph(row[name])) for name in names if row[name] is not None)
            for row in found
        )

    def _statements(self, time: Moment | Interval | None) -> Iterator[tuple[Triple, IRI]]:
        """What a question sees, with the graph of each."""
        for each in self.ended:
            if _is_seen(each.valid_from, each.valid_to, time):
                yield each.triple, GRAPH_PERSISTENT
                if each.inferred:
                    yield each.triple, GRAPH_INFERRED
        for one in present(self.engine).statements:
            if _is_seen(one.since, None, time):
                for marks, graph in _STANDING:
                    if one.marks & marks:
                        yield one.triple, graph


def _is_seen(start: Instant, end: Instant | None, time: Moment | Interval | None) -> bool:
    match time:
        case Moment(at):
            return start <= at and (end is None or end > at)
        case Interval(first, last):
            return start < last and (end is None or end > first)
    return True
