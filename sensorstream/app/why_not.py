"""Why a rule does not fire, or a query has no solution, asked of the running engine."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from sensorstream.app.handle import Handle
from sensorstream.app.rule_texts import parse_texts
from sensorstream.app.snapshots import Snapshots
from sensorstream.app.wiring import with_state_rules
from sensorstream.engine.engine import Engine
from sensorstream.errors import Position, QueryError, Unavailable, UnknownRules, UnsupportedQuery
from sensorstream.kb.snapshot import Snapshot
from sensorstream.language import syntax
from sensorstream.model.terms import BlankNode, Subject, iri
from sensorstream.model.timeline import Timeline
from sensorstream.network.intervals.planning import is_in_time
from sensorstream.rules.conditions import SnapshotEvaluator
from sensorstream.rules.continuous import NetworkEvaluator
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.why_no_solution import individuals_of, why_no_solution
from sensorstream.rules.why_not import Present, WhyNot, variables_of, why_not
from sensorstream.sparql.parser import read_query
from sensorstream.streams.selections import RunningRules

_WHAT: Final = "finding out why a rule does not fire"
_ELSEWHERE: Final = (
    "put the messages of its key through 'sensorstream run --messages', which tells what becomes "
    "of each"
)


class Unmet:
    """Answers why rules do not fire, and queries do not find. Thread-safe.

    Each question is answered in a fork of this process, from the state between two messages.
    """

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._snapshots = Snapshots(app, _WHAT)

    def why_not(self, name: str, individual: str, variable: str = "") -> WhyNot:
        """The first part of a semantic rule that keeps it from firing for an individual.

        Where no rule has this name, a continuous query is meant, and what leaves it no solution.
        ``variable`` of the rule is the individual; "": the one that fits best.

        Raises:
            UnknownRules: there is neither a semantic rule nor a continuous query of this name.
            QueryError: it has no such variable.
            UnsupportedQuery: it consists of rules over time, is a pattern in time, or was stopped.
            TermError: the individual is no IRI.
            RuleError: a condition cannot be evaluated.
            Overrun: the answer takes too long.
            Unavailable: a message takes long, or too many ask at once.
            RunsOnSpark: the engines are not here.
        """
        self._app.check_here("why a rule does not fire", _ELSEWHERE)
        subject: Subject = BlankNode(individual) if individual.startswith("_:") else iri(individual)
        variable = variable.removeprefix("?")
        found = self._rule(name)
        if found is None:
            return self._of_query(name, subject, variable)
        compiled, rule, file = found
        _check_variable(f"rule {name}", variable, variables_of(rule, file))
        line = self._app.deployment.timeline
        return self._snapshots.ask(
            lambda: _asked(self._app.engine, line, rule, file, compiled, subject, variable)
        )

    def _of_query(self, name: str, individual: Subject, variable: str) -> WhyNot:
        with self._snapshots.quiet():
            queries = self._app.engine.queries
            running, stopped = queries.processor.queries.get(name), queries.stopped.get(name)
            names = [*queries.processor.queries]
        if running is None:
            if stopped is not None:
                raise UnsupportedQuery(f"query '{name}' was stopped: {stopped.reason}")
            raise self._unknown(name, names)
        query = running.query
        if isinstance(running, RunningRules) or is_in_time(query):
            what = "has rules over time" if isinstance(running, RunningRules) else "asks for times"
            raise UnsupportedQuery(
                f"'{name}' {what}: what keeps it from matching is not known; record what comes, "
                f"with 'sensorstream queries steps {name}'"
            )
        _check_variable(f"query {name}", variable, individuals_of(query))
        prefixes = read_query(running.text, start=Position("query", 1, 1)).prefixes

        def ask() -> WhyNot:
            queries, default = self._app.engine.queries.processor.queries, self._app.engine.kb.index
            if queries.get(name) is not running:
                raise Unavailable(f"query {name} was changed at this moment: ask again")
            return why_no_solution(running, default, prefixes, individual, variable)

        return self._snapshots.ask(ask)

    def _rule(self, name: str) -> tuple[CompiledRule, syntax.SemanticRule, syntax.RuleFile] | None:
        deployment = self._app.deployment
        compiled = {each.name: each for each in deployment.rules}
        if name in compiled:
            files = parse_texts(deployment.settings, deployment.texts)
            for file in with_state_rules(files, deployment.rule_set):
                for rule in file.semantic_rules:
                    if rule.name == name:
                        return compiled[name], rule, file
        return None

    def _unknown(self, name: str, queries: Sequence[str]) -> UnknownRules:
        names = [*(each.name for each in self._app.deployment.rules), *queries]
        meant = get_close_matches(name, names, n=1)
        hint = f": did you mean '{meant[0]}'?" if meant else ""
        return UnknownRules(f"there is no semantic rule or query '{name[:60]}'{hint}")


def _check_variable(of: str, variable: str, known: Sequence[str]) -> None:
    if variable and variable not in known:
        told = ", ".join(f"?{each}" for each in known) or "none"
        raise QueryError(f"{of} has no variable ?{variable[:60]} for an individual: it has {told}")


def _asked(
    engine: Engine,
    line: Timeline,
    rule: syntax.SemanticRule,
    file: syntax.RuleFile,
    compiled: CompiledRule,
    subject: Subject,
    variable: str,
) -> WhyNot:
    """In the fork."""
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
