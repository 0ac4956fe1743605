"""Why a rule does not fire for an individual, asked of the running engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from sensorstream.apart import Turns, run_apart
from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.rule_texts import parse_texts
from sensorstream.engine.engine import Engine
from sensorstream.errors import QueryError, Unavailable, UnknownRules
from sensorstream.kb.snapshot import Snapshot
from sensorstream.language import syntax
from sensorstream.model.terms import BlankNode, Subject, iri
from sensorstream.model.timeline import Timeline
from sensorstream.rules.conditions import SnapshotEvaluator
from sensorstream.rules.continuous import NetworkEvaluator
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.why_not import Present, WhyNot, variables_of, why_not

_WHAT: Final = "finding out why a rule does not fire"
_AT_ONCE: Final = 2
_NICENESS: Final = 10
_SETTLING: Final = 10.0
"""Seconds to wait for the end of the message that is being processed."""


class Unmet:
    """Answers why rules do not fire. Thread-safe.

    Each question is answered in a fork of this process, from the state between two messages, in
    ``seconds`` at most. ``check_here`` raises that the engines run elsewhere.
    """

    def __init__(
        self,
        engine: Engine,
        pipeline: Pipeline,
        exchange: Exchange,
        check_here: Callable[[str], None],
        seconds: float,
    ) -> None:
        self._engine = engine
        self._pipeline = pipeline
        self._exchange = exchange
        self._check_here = check_here
        self._seconds = seconds
        self._turns = Turns(_AT_ONCE, seconds, _WHAT)

    def why_not(self, name: str, individual: str, variable: str = "") -> WhyNot:
        """The first part of a semantic rule that keeps it from firing for an individual.

        ``variable`` of the rule is the individual; "": the one that fits best.

        Raises:
            UnknownRules: there is no semantic rule of this name.
            QueryError: the rule has no such variable.
            TermError: the individual is no IRI.
            RuleError: a condition cannot be evaluated.
            Overrun: the answer takes too long.
            Unavailable: a message takes long, or too many ask at once.
            RunsOnSpark: the engines are not here.
        """
        self._check_here("why a rule does not fire")
        subject: Subject = BlankNode(individual) if individual.startswith("_:") else iri(individual)
        compiled, rule, file = self._rule(name)
        variable = variable.removeprefix("?")
        known = variables_of(rule, file)
        if variable and variable not in known:
            told = ", ".join(f"?{each}" for each in known) or "none"
            raise QueryError(
                f"rule {name} has no variable ?{variable[:60]} for an individual: it has {told}"
            )
        line = self._exchange.deployment.timeline
        with self._turns.turn():
            return run_apart(
                lambda: _asked(self._engine, line, rule, file, compiled, subject, variable),
                self._seconds,
                what=_WHAT,
                setting="limits.question_seconds",
                quiet=self._quiet,
            )

    def _rule(self, name: str) -> tuple[CompiledRule, syntax.SemanticRule, syntax.RuleFile]:
        deployment = self._exchange.deployment
        compiled = {each.name: each for each in deployment.rules}
        if name in compiled:
            for file in parse_texts(deployment.settings, deployment.texts):
                for rule in file.semantic_rules:
                    if rule.name == name:
                        return compiled[name], rule, file
        meant = get_close_matches(name, compiled, n=1)
        hint = f": did you mean '{meant[0]}'?" if meant else ""
        raise UnknownRules(f"there is no semantic rule '{name[:60]}'{hint}")

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """A block in which no message is processed."""
        if not self._pipeline.lock.acquire(timeout=_SETTLING):
            raise Unavailable("a message takes long to be processed: ask again later")
        try:
            yield
        finally:
            self._pipeline.lock.release()


def _asked(
    engine: Engine,
    line: Timeline,
    rule: syntax.SemanticRule,
    file: syntax.RuleFile,
    compiled: CompiledRule,
    subject: Subject,
    variable: str,
) -> WhyNot:
    """In the fork, which has an engine of its own."""
    # It must not take the cores from the engine.
    os.nice(_NICENESS)
    kb = engine.kb
    present = Present(
        kb,
        NetworkEvaluator(kb, SnapshotEvaluator(Snapshot(kb))),
        engine.now or 0,
        line,
        engine.memory,
        engine.window.get(subject),
    )
    return why_not(rule, file, compiled, subject, present, variable)
