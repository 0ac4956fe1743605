"""Semantic rules over events that are graphs already: no messages, no mapping, no order to keep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sensorstream.engine.outcome import Timings
from sensorstream.engine.run import MessageRun
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.events import Event, Message
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.rules.compile import CompiledRule
from sensorstream.rules.conditions import ConditionEvaluator
from sensorstream.rules.index import RuleIndex
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rounds import RuleResult, run_rules
from sensorstream.window.window import Window


class Reactions:
    """A knowledge base that events enter in order of time, and the rules that react to them."""

    def __init__(
        self,
        *,
        knowledge: KnowledgeBase,
        window: Window,
        reasoner: Reasoner,
        rules: Sequence[CompiledRule],
        evaluator: ConditionEvaluator,
        max_rounds: int,
    ) -> None:
        self.kb = knowledge
        self._window = window
        self._reasoner = reasoner
        self._rules = RuleIndex(rules)
        self._evaluator = evaluator
        self._max_rounds = max_rounds
        self._memory = RuleMemory()
        self._numbers = count(1)
        reasoner.start(knowledge)
        evaluator.prepare(rule.queries for rule in rules)

    def take_in(self, time: Instant, triples: tuple[Triple, ...]) -> RuleResult:
        """Let an event enter the window, and the rules react.

        Raises:
            MessageError: a rule cannot be carried out, or rules run in a circle; the knowledge
                base is as it was.
            ReasonerError: the reasoner failed; the same.
        """
        message = Message(f"e{next(self._numbers)}", b"", time)
        run = MessageRun(
            self.kb, self._window, self._reasoner, self._evaluator, _no_time, Timings()
        )
        try:
            delta = run.apply(Event(triples, time, message.id) if triples else None, ())
            result = run_rules(
                self._rules,
                run,
                message=message,
                time=time if self._window.now is None else self._window.now,
                delta=delta,
                departures=tuple(run.departures),
                memory=self._memory,
                max_rounds=self._max_rounds,
            )
        except BaseException:
            run.take_back()
            raise
        self._memory = result.memory
        return result


def _no_time() -> float:
    return 0.0
