"""The reasons why a statement holds, or a rule does not fire, from the engine's present state."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from typing import Any, Final, TypeVar, cast

from sensorstream.app.control.rule_files import parse_texts
from sensorstream.app.control.wiring import Deployment, reasoner_of, with_state_rules
from sensorstream.app.deployment_handle import Asked, Handle
from sensorstream.app.why.reasons import (
    Applied,
    Entailment,
    Origins,
    Reason,
    Saying,
    reason_of,
    sought,
)
from sensorstream.engine.engine import Engine
from sensorstream.errors import (
    Overrun,
    Position,
    QueryError,
    Unavailable,
    UnknownRules,
    UnsupportedQuery,
)
from sensorstream.kb.graph_index import Origin
from sensorstream.language import syntax
from sensorstream.language.syntax import RuleFile
from sensorstream.model.events import Basis, Matched
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple, iri, term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.network.intervals.interval_planner import is_in_time
from sensorstream.processes.fork_once import ForkTurns, held, run_apart
from sensorstream.reasoning.dl.contradictions import EntailmentReason, assertions_near, entailed
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.profiles import rules_of
from sensorstream.reasoning.rulesets.derivation import (
    Applications,
    RuleApplication,
    derivation,
    minimal,
)
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.rule_set_reader import plain_rules
from sensorstream.reasoning.rulesets.schema_lists import unrolled
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.why_not import (
    PresentState,
    WhyNot,
    furthest,
    individuals_of,
    variables_of,
    why_no_solution,
    why_not,
)
from sensorstream.sparql.algebra import BGP, Ask, Modify, Quad
from sensorstream.sparql.query_parser import read_query
from sensorstream.sparql.query_printer import operation_text
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.selection_rules import RunningRules

_AT_ONCE: Final = 2
_NICENESS: Final = 10
_SETTLING: Final = 10.0
"""Seconds to wait for the end of the message that is being processed."""
T = TypeVar("T")


class Snapshots:
    """Forks of this process between two messages: each has an engine of its own. Thread-safe. An
    answer has the time limit of any question; ``what`` names it in errors.
    """

    def __init__(self, app: Handle, what: str) -> None:
        self._app = app
        self._what = what
        self._turns = ForkTurns(_AT_ONCE, app.seconds, what)

    def ask(self, question: Callable[[], T]) -> T:
        """The result of ``question``, which is called in the fork; or its exception.

        Raises:
            Overrun: the answer takes too long.
            Busy: too many ask at once.
            Unavailable: a message takes long to be processed.
        """

        def nicely() -> T:
            # It must not take the cores from the engine.
            os.nice(_NICENESS)
            return question()

        with self._turns.turn():
            return run_apart(
                nicely,
                self._app.seconds,
                what=self._what,
                setting="limits.question_seconds",
                quiet=self.quiet,
            )

    def quiet(self) -> AbstractContextManager[None]:
        """A block in which no message is processed.

        Raises:
            Unavailable: a message takes long to be processed.
        """
        late = Unavailable("a message takes long to be processed: ask again later")
        return held(self._app.pipeline.lock, _SETTLING, late)


MOST_STATEMENTS: Final = 200
"""Statements of one answer; what else a derivation has is counted."""
MOST_DEPTH: Final = 50
"""Steps of a derivation one below the other."""
_MOST_FOR_ONE: Final = 2_000
"""Applications of rules that are looked at for one statement of several."""
_WHAT: Final = "finding out why a statement holds"
_NAMED: Final = 10
"""Keys that are named."""


@frozen
class WhyHeld:
    """The reason why a statement holds; ``held`` is None if it does not. ``profile`` is what
    infers. ``notes`` say what else there is to know.
    """

    statement: Triple
    held: Reason | None
    profile: str
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.held is not None

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        if self.held is None:
            return (
                "it does not hold: no message in the window and no ontology says it, and nothing "
                "infers it"
            )
        matched = self.held.matched
        by = self.held.by
        derived = "" if by is None else f"rule {by.rule} ({by.position.file}) derives it"
        if self.held.entailed is not None:
            return "it is inferred: the statements and axioms below entail it together"
        if matched.basis is Basis.INFERRED:
            return f"it is inferred: {derived}" if derived else f"it is inferred ({self.profile})"
        said = "it is said" if matched.basis is Basis.SAID else "the ontology has it"
        return f"{said}, and {derived}" if derived else said


@frozen
class _Seen:
    """The findings of the fork about a statement, and about its premises. ``kept`` has, for each
    statement, the graphs that hold it, the message that said it and the one that caused it to be
    inferred.
    """

    kept: Mapping[Triple, tuple[Origin, str, str]]
    steps: Mapping[Triple, RuleApplication]
    limits: str = ""
    near: tuple[Triple, ...] | None = None
    """Where HermiT or Pellet infers it, what the window asserts near it."""


class WhyHolds:
    """The search for reasons why statements hold. Thread-safe.

    Each question is answered in a fork of this process, from the state between two messages; then
    the messages are mapped again. Each of the two may take as long as a question. Where they take
    too long or too many ask at once, :class:`.Overrun`, :class:`.Busy` or :class:`.Unavailable` is
    raised. Engines on Spark answer as :meth:`.EngineQuestions.ask` says.
    """

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._snapshots = Snapshots(app, _WHAT)
        self._turns = ForkTurns(1, app.seconds, _WHAT)

    def why(self, statement: str, key: str | None = None) -> WhyHeld:
        """Explain why a statement holds, down to messages and the ontology. ``statement`` is its
        text, with the prefixes of the rule files in force; ``key`` is that of an engine on Spark.

        Raises:
            QueryError: the text is not one statement.
        """
        deployment = self._app.deployment
        files = parse_texts(deployment.settings, deployment.texts)
        triple = read_statement(statement, known_prefixes(files))
        schema = deployment.ontology.schema
        found = self._app.asked(
            seen_by,
            {"statement": [each.n3 for each in triple]},
            key,
            lambda: self._snapshots.ask(lambda: _seen(self._app.engine, triple, schema)),
        )
        holding = {name: each for name, each in found.items() if triple in each.kept}
        if not holding:
            return WhyHeld(triple, None, deployment.settings.reasoning.profile)
        # An engine where a message says it tells more than one that infers it.
        of = max(holding, key=lambda name: bool(holding[name].kept[triple][0] & Origin.WINDOW))
        told = self._told(triple, holding[of], deployment)
        if self._app.here or key is not None:
            return told
        names = ", ".join(f"'{each}'" for each in list(holding)[:_NAMED])
        note = f"it holds in the engines of {len(holding)} keys ({names}); this is what '{of}' has"
        return replace(told, notes=(*told.notes, note))

    def _told(self, triple: Triple, seen: _Seen, deployment: Deployment) -> WhyHeld:
        """The answer to what an engine has."""
        found_by = None
        if seen.near is not None:
            found_by = self._entailed(triple, seen.near, deployment.ontology)
        limits = seen.limits if found_by is None else found_by.limits
        notes = [limits] if limits else []
        origins = Origins(self._app)
        told = seen.kept
        if found_by is not None:
            told = {each: seen.kept[each] for each in (triple, *found_by.assertions)}
        said = [_matched(each, *kept) for each, kept in told.items()]
        found: Mapping[str, Saying] = {}
        try:
            found = origins.of(sought(said, origins))
        except Overrun as error:
            notes.append(f"where in the messages the values stand is not known: {error.message}")
        rules = rules_of(self._app.engine.reasoner if self._app.here else reasoner_of(deployment))
        if rules is None and seen.steps:
            # HermiT or Pellet had failed in that engine.
            rules = plain_rules()
        telling = _Telling(seen, found, rules)
        held = telling.of(triple)
        if found_by is not None and not found_by.limits:
            premises = tuple(map(telling.of, found_by.assertions))
            held = replace(held, entailed=Entailment(premises, found_by.axioms))
        if telling.left_out:
            notes.append(
                f"{telling.left_out} more premises are not told: ask why one of those above holds"
            )
        return WhyHeld(triple, held, deployment.settings.reasoning.profile, tuple(notes))

    def rules_behind(self, statements: Collection[Triple]) -> Mapping[Triple, str]:
        """The rules that derive inferred statements now, each by the last step to it. Statements
        that no rule derives are left out, as are all where HermiT or Pellet infers.
        """
        if not statements:
            return {}
        found = self._app.asked(
            rules_known_by,
            {"statements": [[each.n3 for each in triple] for triple in statements]},
            None,
            lambda: self._snapshots.ask(lambda: _rules_behind(self._app.engine, statements)),
        )
        return {triple: rule for each in found.values() for triple, rule in each.items()}

    def _entailed(
        self, triple: Triple, near: Sequence[Triple], ontology: Ontology
    ) -> EntailmentReason:
        reasoning = self._app.settings.reasoning
        with self._turns.turn():
            return entailed(
                triple,
                near,
                ontology,
                java=reasoning.java,
                heap=reasoning.heap,
                # Java and the ontology take their time before the search begins.
                seconds=self._app.seconds / 2,
                clock=self._app.clock,
            )


def seen_by(asked: Asked, told: Mapping[str, Any]) -> _Seen:
    """Find the derivation of a statement in an engine on Spark."""
    triple, schema = _triple(told["statement"]), asked.deployment.ontology.schema
    if triple not in asked.engine.kb:
        return _Seen({}, {})
    return asked.apart(lambda: _seen(asked.engine, triple, schema), _WHAT)


def rules_known_by(asked: Asked, told: Mapping[str, Any]) -> dict[Triple, str]:
    """Find the last rules behind statements in an engine on Spark."""
    statements = [each for each in map(_triple, told["statements"]) if each in asked.engine.kb]
    if not statements:
        return {}
    return asked.apart(lambda: _rules_behind(asked.engine, statements), _WHAT)


def _triple(texts: Sequence[str]) -> Triple:
    """A statement in the arguments of a question."""
    return cast(Triple, tuple(map(term, texts)))


def _seen(engine: Engine, triple: Triple, schema: Schema) -> _Seen:
    """Find the derivation of a statement; called in the fork."""
    kb = engine.kb
    if triple not in kb:
        return _Seen({}, {})
    steps: Mapping[Triple, RuleApplication] = {}
    limits = ""
    rules = rules_of(engine.reasoner)
    near: tuple[Triple, ...] | None = None
    if rules is None:
        if not kb.origins(triple) & (Origin.STATIC | Origin.WINDOW):
            near = assertions_near(triple, kb, schema)
    elif kb.origins(triple) & (Origin.INFERRED | Origin.STATIC_INFERRED):
        applications = Applications(unrolled(rules.rules, kb.index), kb)
        found = minimal(triple, applications, kb, frozenset(rules.facts))
        steps, limits = found.steps, found.limits
    premises = (p for step in steps.values() for p in step.premises)
    told = dict.fromkeys((triple, *premises, *(near or ())))
    return _Seen({each: _kept(engine, each) for each in told}, steps, limits, near)


def _rules_behind(engine: Engine, statements: Collection[Triple]) -> dict[Triple, str]:
    """Find the last rules behind statements; called in the fork."""
    kb, rules = engine.kb, rules_of(engine.reasoner)
    if rules is None:
        return {}
    applications = Applications(unrolled(rules.rules, kb.index), kb)
    facts = frozenset(rules.facts)
    found: dict[Triple, str] = {}
    for triple in statements:
        if triple in kb:
            steps = derivation(triple, applications, kb, facts, most=_MOST_FOR_ONE).steps
            if triple in steps:
                found[triple] = steps[triple].rule
    return found


def _kept(engine: Engine, triple: Triple) -> tuple[Origin, str, str]:
    """The graphs that hold a statement, its message, and the message that caused its inference."""
    individual = engine.window.get(engine.window.owner(triple[0]))
    said = None if individual is None else individual.statements.get(triple)
    begun = engine.inferences.begun().get(triple)
    return (
        engine.kb.origins(triple),
        "" if said is None else said.message,
        "" if begun is None else begun.provenance.message,
    )


def _matched(triple: Triple, origins: Origin, said_by: str, _caused_by: str) -> Matched:
    if origins & Origin.WINDOW:
        return Matched(triple, Basis.SAID, said_by)
    if origins & Origin.STATIC:
        return Matched(triple, Basis.ONTOLOGY)
    # Its premises are known: its message's statements on the same individuals are not needed.
    return Matched(triple, Basis.INFERRED)


class _Telling:
    """The reasons of statements; the derivation of each is given once."""

    def __init__(self, seen: _Seen, found: Mapping[str, Saying], rules: RuleSet | None) -> None:
        self._seen = seen
        self._found = found
        self._rules = rules
        self._texts = {} if rules is None else {each.name: each for each in rules.rules}
        self._told: set[Triple] = set()
        self.left_out = 0

    def of(self, triple: Triple, depth: int = 0) -> Reason:
        """Build the reason of a statement, and of all its premises."""
        matched = _matched(triple, *self._seen.kept[triple])
        _, _, caused_by = self._seen.kept[triple]
        step = self._seen.steps.get(triple)
        above = triple in self._told
        self._told.add(triple)
        reason = reason_of(matched, self._found)
        if self._rules is not None and triple in self._rules.facts:
            reason = Reason(matched, note=f"a fact of the rule set {self._rules.name}")
        reason = replace(reason, caused_by=caused_by)
        if step is None or above:
            return replace(reason, above=above and step is not None)
        return replace(reason, by=self._applied(step, depth + 1))

    def _applied(self, step: RuleApplication, depth: int) -> Applied:
        assert self._rules is not None
        note, rule = self._rules.notes[step.rule], self._texts[step.rule]
        head = tuple(Quad(each) for each in rule.head)
        text = operation_text(Modify(None, head, rule.body))
        return Applied(
            step.rule,
            note.position,
            note.comment,
            text,
            step.bindings,
            tuple(self._premises(step.premises, depth)),
            step.paths,
        )

    def _premises(self, premises: Iterable[Triple], depth: int) -> Iterator[Reason]:
        for each in premises:
            if depth < MOST_DEPTH and (len(self._told) < MOST_STATEMENTS or each in self._told):
                yield self.of(each, depth)
            else:
                self.left_out += 1


MOST_CHARACTERS: Final = 100_000
_STANDARD: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
_EXPECTED: Final = "expected one statement, such as <http://example.org/s1> a :Sensor"


def known_prefixes(files: Iterable[RuleFile]) -> dict[str, str]:
    """The prefixes of rule files, and those of RDF, RDFS, OWL and XSD. A prefix that two files have
    for different namespaces is left out.
    """
    found: dict[str, str] = dict(_STANDARD)
    meant: dict[str, set[str]] = {}
    for file in files:
        for prefix, namespace in file.prefix_map.items():
            meant.setdefault(prefix, set()).add(namespace)
    for prefix, namespaces in meant.items():
        found.pop(prefix, None)
        if len(namespaces) == 1:
            found[prefix] = min(namespaces)
    return found


def read_statement(text: str, prefixes: Mapping[str, str]) -> Triple:
    """Parse a statement in the syntax of SPARQL; a full stop at its end may be left out.

    Raises:
        QueryError: it is no statement, or not one alone.
    """
    start = Position("statement", 0, 1)
    if len(text) > MOST_CHARACTERS:
        raise QueryError(
            f"a statement of {len(text):,} characters: expected at most {MOST_CHARACTERS:,}",
            position=Position("statement", 1, 1),
        )
    try:
        # The statement begins in line 1.
        form = read_query(f"ASK {{\n{text}\n}}", start=start, prefixes=prefixes).meaning.form
    except QueryError as error:
        if error.position is None or error.position.line <= 1 + text.count("\n"):
            raise
        # It ends too early, or has closed the brace.
        raise QueryError(_EXPECTED, position=Position("statement", 1, 1)) from None
    if isinstance(form, Ask) and isinstance(form.pattern, BGP) and len(form.pattern.patterns) == 1:
        [found] = form.pattern.patterns
        s, p, o = found.subject, found.predicate, found.object
        if (
            isinstance(s, IRI | BlankNode)
            and isinstance(p, IRI)
            and isinstance(o, IRI | BlankNode | Literal)
        ):
            return s, p, o
    raise QueryError(_EXPECTED, position=Position("statement", 1, 1))


_WHY_NOT: Final = "finding out why a rule does not fire"


class Unmet:
    """The search for reasons why rules do not fire, and queries do not find. Thread-safe.

    Each question is answered in a fork of this process, from the state between two messages. Where
    they take too long or too many ask at once, :class:`.Overrun`, :class:`.Busy` or
    :class:`.Unavailable` is raised. Engines on Spark answer as :meth:`.EngineQuestions.ask` says.
    """

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._snapshots = Snapshots(app, _WHY_NOT)

    def why_not(
        self, name: str, individual: str, variable: str = "", key: str | None = None
    ) -> WhyNot:
        """Find the first part of a semantic rule that keeps it from firing for an individual. Where
        no rule has this name, a continuous query is meant, and what leaves it no solution.
        ``variable`` of the rule is the individual; "": the one that fits best. ``key`` is that of
        an engine on Spark.

        Raises:
            UnknownRules: there is neither a semantic rule nor a continuous query of this name.
            QueryError: it has no such variable.
            UnsupportedQuery: it consists of rules over time, is a pattern in time, or was stopped.
            TermError: the individual is no IRI.
            RuleError: a condition cannot be evaluated.
        """
        engine, deployment = self._app.engine, self._app.deployment
        subject, variable = _subject(individual), variable.removeprefix("?")
        told = {"rule": name, "individual": individual, "variable": variable}
        if key is not None and not self._app.here:
            # Rules of stages only their engines know.
            (one,) = self._app.asked(unmet_in, told, key).values()
            assert one is not None, "who is asked alone has an answer"
            return one
        ask = _unmet(engine, deployment, name, subject, variable, self._snapshots.quiet)
        found = self._app.asked(unmet_in, told, key, lambda: self._snapshots.ask(ask))
        known = [each for each in found.values() if each is not None]
        # No engine knows the individual: nor does the one of this process, which is empty.
        return furthest(known) if known else self._snapshots.ask(ask)


def unmet_in(asked: Asked, told: Mapping[str, Any]) -> WhyNot | None:
    """Find why a rule does not fire in an engine on Spark; None: it does not know the individual,
    but others may.
    """
    engine, name = asked.engine, _subject(told["individual"])
    if not asked.alone and next(iter(engine.kb.match(name, None, None)), None) is None:
        return None
    ask = _unmet(engine, asked.deployment, told["rule"], name, told["variable"], nullcontext)
    return asked.apart(ask, _WHY_NOT)


def _subject(individual: str) -> Subject:
    return BlankNode(individual) if individual.startswith("_:") else iri(individual)


def _unmet(
    engine: Engine,
    deployment: Deployment,
    name: str,
    subject: Subject,
    variable: str,
    quiet: Callable[[], AbstractContextManager[None]],
) -> Callable[[], WhyNot]:
    """The question why a rule or a query of a name does not find an individual, to be asked in the
    fork; raises as :meth:`Unmet.why_not`. No message is processed in ``quiet``.
    """
    found = _rule(deployment, name)
    if found is None:
        with quiet():
            queries = engine.queries
            running, stopped = queries.processor.queries.get(name), queries.stopped.get(name)
            names = [*queries.processor.queries]
        if running is not None:
            return _unmet_query(engine, running, subject, variable)
        if stopped is not None:
            raise UnsupportedQuery(f"query '{name}' was stopped: {stopped.reason}")
        raise _unknown(deployment, name, names)
    compiled, rule, file = found
    _check_variable(f"rule {name}", variable, variables_of(rule, file))
    line = deployment.timeline
    return lambda: _asked(engine, line, rule, file, compiled, subject, variable)


def _unmet_query(
    engine: Engine, running: ContinuousQuery, individual: Subject, variable: str
) -> Callable[[], WhyNot]:
    name, query = running.name, running.query
    if isinstance(running, RunningRules) or is_in_time(query):
        what = "has rules over time" if isinstance(running, RunningRules) else "asks for times"
        raise UnsupportedQuery(
            f"'{name}' {what}: what keeps it from matching is not known; record what comes, "
            f"with 'sensorstream queries steps {name}'"
        )
    _check_variable(f"query {name}", variable, individuals_of(query))
    prefixes = read_query(running.text, start=Position("query", 1, 1)).prefixes

    def ask() -> WhyNot:
        if engine.queries.processor.queries.get(name) is not running:
            raise Unavailable(f"query {name} was changed at this moment: ask again")
        return why_no_solution(running, engine.kb.index, prefixes, individual, variable)

    return ask


def _rule(
    deployment: Deployment, name: str
) -> tuple[CompiledRule, syntax.SemanticRule, syntax.RuleFile] | None:
    compiled = {each.name: each for each in deployment.rules}
    if name in compiled:
        files = parse_texts(deployment.settings, deployment.texts)
        for file in with_state_rules(files, deployment.rule_set):
            for rule in file.semantic_rules:
                if rule.name == name:
                    return compiled[name], rule, file
    return None


def _unknown(deployment: Deployment, name: str, queries: Sequence[str]) -> UnknownRules:
    names = [*(each.name for each in deployment.rules), *queries]
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
    """Find why a rule does not fire; called in the fork."""
    kb = engine.kb
    present = PresentState(
        kb,
        ConditionEvaluator(kb),
        engine.now or 0,
        line,
        engine.memory,
        engine.window.get(subject),
    )
    return why_not(rule, file, compiled, subject, present, variable)
