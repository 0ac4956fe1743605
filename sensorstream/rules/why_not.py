"""The present reason why a rule does not fire, or a query has no solution, for an individual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.language import syntax
from sensorstream.language.rule_printer import print_node
from sensorstream.model import rdf
from sensorstream.model.events import Individual
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.planner import plan
from sensorstream.network.query_sources import DEFAULT, Sources, TripleSource
from sensorstream.rules.condition_reader import COMPARE, as_count, parsed_condition, returning
from sensorstream.rules.conditions import ConditionQuery, Solution, as_text
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.given_variables import GIVEN, given_triples, needs_values, property_of
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.rules.triggers import NOW, conditions_of
from sensorstream.rules.unmet_parts import (
    GraphStatements,
    Prober,
    ShortNames,
    TriedPart,
    first_unmet,
)
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.query_printer import modified
from sensorstream.sparql.variable_scope import names_in
from sensorstream.sparql.walk import nodes, visible
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.query_planning import sources_of
from sensorstream.streams.query_shape import WindowShape

_MOST: Final = 100
"""The number of solutions with which the next condition is tried."""
_FIRES: Final[Mapping[type, str]] = {
    syntax.OnInsert: "it was tried when the individual became a member, and not since",
    syntax.OnExpire: "it is tried when the individual leaves the window",
    syntax.OnMessage: "it is tried with the next message",
    syntax.OnChange: "it is tried with the next change of the knowledge base",
    syntax.Every: "it is tried when its time comes",
    syntax.OnSilence: "it fires when the individual has been silent for so long",
    syntax.OnUpdate: "it is tried when a value comes in place of another",
    syntax.When: "it fires with the next entry",
}
"""The time when a rule fires that nothing prevents, by trigger."""


@frozen
class PresentState:
    """The state that a rule may react to: knowledge base, time, memory of the rules.

    ``individual`` is the stay of the individual in question; None: it is not in the window.
    """

    kb: KnowledgeBase
    evaluator: ConditionEvaluator
    now: Instant
    line: Timeline
    memory: RuleMemory
    individual: Individual | None


@frozen
class WhyNot:
    """The reason why a rule does not fire for an individual, or a query does not find it.

    ``rule`` is the name of either, and ``variable`` the one for the individual; "": none can be.
    ``holds``: all conditions hold now. ``answer`` is a sentence; ``steps`` are the tried parts, in
    order.
    """

    rule: str
    individual: Subject
    variable: str
    holds: bool
    answer: str
    steps: tuple[TriedPart, ...]


def why_not(
    rule: syntax.SemanticRule,
    file: syntax.RuleFile,
    compiled: CompiledRule,
    name: Subject,
    present: PresentState,
    variable: str = "",
) -> WhyNot:
    """The first part of a rule that leaves no solution with an individual.

    Without a ``variable`` the individual is that of the trigger, else the subject in the conditions
    that gets furthest. Raises RuleError if a condition cannot be evaluated.
    """
    names = ShortNames(file.prefix_map)
    candidates = [variable] if variable else variables_of(rule, file) or [""]
    return furthest(
        _Question(rule, file, compiled, name, present, names, each).answer() for each in candidates
    )


def furthest(tried: Iterable[WhyNot]) -> WhyNot:
    """The try that gets furthest, probably the one that was meant; of several, the first."""
    return max(tried, key=lambda each: (each.holds, sum(step.held for step in each.steps)))


def variables_of(rule: syntax.SemanticRule, file: syntax.RuleFile) -> list[str]:
    """The variables of a rule that may be an individual, in order."""
    trigger = rule.trigger
    if isinstance(trigger, syntax.OnInsert | syntax.OnExpire | syntax.OnSilence | syntax.OnUpdate):
        return [trigger.variable.name]
    subjects = [
        pattern.subject
        for condition in conditions_of(rule)
        if isinstance(condition, syntax.SelectCondition | syntax.AskCondition)
        and not condition.negated
        for block in nodes(parsed_condition(condition.query, file).meaning.form)
        if isinstance(block, algebra.BGP)
        for pattern in block.patterns
    ]
    found = (each.name for each in subjects if isinstance(each, Variable) and each.name != NOW)
    return list(dict.fromkeys(found))


@mutable
class _Question:
    """A rule, and the variable of it that is the individual."""

    rule: syntax.SemanticRule
    file: syntax.RuleFile
    compiled: CompiledRule
    name: Subject
    present: PresentState
    names: ShortNames
    variable: str
    steps: list[TriedPart] = field(default_factory=list)
    holds: bool = False
    is_bound: bool = False
    """Whether the trigger, or an earlier condition, has given the variable its value."""

    def answer(self) -> WhyNot:
        """The reason why the rule does not fire."""
        self._ask()
        rule, name = self.rule.name, self.names.term(self.name)
        if unmet := first_unmet(self.steps):
            answer = f"rule {rule} does not fire for {name}: {unmet}"
        else:
            answer = (
                f"nothing keeps rule {rule} from firing for {name}: its conditions hold, and "
                f"{_FIRES[type(self.rule.trigger)]}"
            )
        return WhyNot(rule, self.name, self.variable, self.holds, answer, tuple(self.steps))

    def _ask(self) -> None:
        """Look at the trigger, each condition, and the memory."""
        self._trigger()
        solutions: Sequence[Solution] = [self._start()]
        conditions = sorted(
            conditions_of(self.rule),
            key=lambda each: isinstance(each, syntax.SelectCondition | syntax.AskCondition),
        )
        for condition in conditions:
            solutions = self._condition(condition, solutions)
            if not solutions:
                return
        self.holds = all(each.held for each in self.steps)
        self._remembered(solutions)

    def _start(self) -> dict[str, Term]:
        start: dict[str, Term] = {NOW: self.present.line.literal(self.present.now)}
        if self.variable:
            start[self.variable] = self.name
        return start

    def _time(self, instant: Instant) -> str:
        return self.present.line.format(instant)

    # The trigger

    def _trigger(self) -> None:
        trigger, present, name = self.rule.trigger, self.present, self.name
        self.is_bound = hasattr(trigger, "variable")
        text = print_node(trigger).split("\n")[0]
        one = present.individual
        where = "not in the window"
        if one is not None:
            where = f"in the window since {self._time(one.entered)}, last said by {one.message}"
        held, note = True, where
        match trigger:
            case syntax.OnInsert(class_name=class_name):
                held = (name, rdf.TYPE, self.file.resolve(class_name)) in present.kb
                classes = [o for _, _, o in present.kb.match(name, rdf.TYPE, None)]
                listed = ", ".join(map(self.names.term, classes)) or "nothing"
                note += f"; it is {'a member now' if held else listed}"
            case syntax.OnExpire():
                held = one is None
            case syntax.OnSilence(variable=variable):
                held = False
                known = present.memory.held.get(self.rule.name, {})
                watched = known.get(((variable.name, name),))
                if watched is None:
                    note += "; it is not watched"
                elif watched.due is None:
                    note = f"silent since {self._time(watched.since)}, and that was told"
                else:
                    note = f"heard at {self._time(watched.since)}; due at {self._time(watched.due)}"
            case syntax.Every():
                tick = present.memory.ticks.get(self.rule.name)
                every = self.compiled.every
                next_ = "with the second message"
                if tick is not None and every is not None:
                    next_ = f"at {self._time(every.moment(tick + 1))}"
                note += f"; tried {next_}"
                if self.compiled.question is not None:
                    note += "; what the history answers then is not known now"
        self.steps.append(TriedPart("trigger", text, held, note=note))

    # Conditions

    def _condition(
        self, condition: syntax.Condition, solutions: Sequence[Solution]
    ) -> Sequence[Solution]:
        if isinstance(condition, syntax.SelectCondition | syntax.AskCondition):
            return self._queried(condition, solutions)
        class_name = self.file.resolve(condition.class_name)
        count = self.present.kb.count(rdf.TYPE, class_name)
        counted = as_count(condition)
        holds = COMPARE[counted.comparison](count, counted.number)
        held = holds is not condition.negated
        told = "it has 1 member" if count == 1 else f"it has {count} members"
        self._tell(condition, held, told)
        return solutions if held else ()

    def _tell(self, condition: syntax.Condition, held: bool, note: str, count: int = 0) -> None:
        text = " ".join(print_node(condition).split())
        self.steps.append(TriedPart("condition", text, held, count or None, (), note))

    def _queried(
        self, condition: syntax.SelectCondition | syntax.AskCondition, solutions: Sequence[Solution]
    ) -> Sequence[Solution]:
        parsed = parsed_condition(condition.query, self.file).meaning
        pattern = parsed.form.pattern

        def prober(solution: Solution) -> Prober:
            return Prober(
                self.present.kb,
                self._solve,
                self.names,
                parsed.dataset,
                parsed.base,
                dict(solution),
            )

        after: list[Solution] = []
        select = modified(pattern)
        returned = {each.name for each in visible(pattern)}
        hidden = (names_in(pattern) - returned) & solutions[0].keys()
        if hidden and select.group is not None:
            return self._grouped(prober(solutions[0]), pattern, condition)
        if hidden and isinstance(parsed.form, algebra.Select):
            pattern = returning(pattern, sorted(hidden))
        for solution in solutions[:_MOST]:
            found = self._found(prober(solution), pattern)
            if condition.negated:
                after += [] if found else [solution]
            elif isinstance(condition, syntax.AskCondition):
                after += [solution] if found else []
            else:
                after += [{**solution, **each} for each in found]
        if condition.negated:
            there = "" if after else self.names.solution(prober(solutions[0]).solutions(pattern)[0])
            self._tell(condition, bool(after), f"there is: {there}" if there else "", len(after))
        elif after:
            text = " ".join(print_node(condition).split())
            shown = tuple(map(self.names.solution, after[:3]))
            self.steps.append(TriedPart("condition", text, True, len(after), shown))
        else:
            asked = prober(solutions[0])
            if asked.holds(pattern):
                # Each part has solutions, but an optional one has another value.
                asked.steps.append(TriedPart("condition", "all parts together", False, 0))
            self.steps += asked.steps
        self.is_bound |= bool(after) and self.variable in returned
        return after

    def _found(self, prober: Prober, pattern: Pattern) -> Sequence[Solution]:
        name = self.variable
        if self.is_bound or not needs_values(pattern, {name}):
            return prober.solutions(pattern)
        # The query itself binds the variable: its value must not be put inside an OPTIONAL.
        free = {other: value for other, value in prober.bindings.items() if other != name}
        found = replace(prober, bindings=free).solutions(pattern)
        return [each for each in found if each.get(name) == self.name]

    def _solve(self, query: Query, given: Solution) -> list[dict[str, Term]]:
        condition = ConditionQuery(query, frozenset(given))
        self.present.evaluator.prepare([(condition,)])
        return self.present.evaluator.select(condition, given)

    def _grouped(
        self,
        prober: Prober,
        pattern: Pattern,
        condition: syntax.SelectCondition | syntax.AskCondition,
    ) -> Sequence[Solution]:
        """The solutions of a query that groups, and so hides the individual."""
        found = prober.holds(pattern)
        if not condition.negated:
            self.steps += prober.steps
        else:
            self._tell(condition, not found, self.names.solution(prober.bindings))
        return [dict(prober.bindings)] if found is not condition.negated else ()

    # Memory

    def _remembered(self, solutions: Sequence[Solution]) -> None:
        memory, rule = self.present.memory, self.rule
        trigger = rule.trigger
        if isinstance(trigger, syntax.When):
            begun = [
                (holding, dict(key))
                for key, holding in memory.held.get(rule.name, {}).items()
                if not self.variable or dict(key).get(self.variable) == self.name
            ]
            for holding, solution in begun[:3]:
                since, told = self._time(holding.since), self.names.solution(solution)
                if holding.due is None:
                    note = "it has fired then, and does so again only after it has ended"
                    end = "" if trigger.until is None else print_node(trigger.until)
                    note += f": until {' '.join(end.split())}" if end else ""
                else:
                    note = f"it fires at {self._time(holding.due)}, if it holds until then"
                self.steps.append(TriedPart("held", f"true since {since}", False, 1, (told,), note))
        for (name, key), until in memory.quiet.items():
            if name == rule.name and until > self.present.now and self._concerns(key, solutions):
                note = f"the alert '{key}' is held back until {self._time(until)}"
                self.steps.append(TriedPart("quiet", "alert … for", False, None, (), note))

    def _concerns(self, key: str, solutions: Sequence[Solution]) -> bool:
        """Whether the key of an alert may be that of one of the solutions."""
        texts = {str(value) for each in solutions[:_MOST] for value in each.values()}
        return str(self.name) in key or key in texts


_RAISES: Final[Mapping[algebra.Relation | None, str]] = {
    None: "when the solution comes, and again only after it has gone",
    algebra.Relation.ISTREAM: "when the solution comes",
    algebra.Relation.DSTREAM: "when the solution goes",
    algebra.Relation.RSTREAM: "at each report",
}


def individuals_of(query: Query) -> list[str]:
    """The variables of a query's solutions that may be an individual: subjects first."""
    form = query.form
    found: dict[str, None] = {}
    triples = [
        each for block in nodes(form) if isinstance(block, algebra.BGP) for each in block.patterns
    ]
    for part in (*(each.subject for each in triples), *(each.object for each in triples)):
        if isinstance(part, Variable):
            found[part.name] = None
    returned = {each.name for each in visible(form.pattern)}
    return [name for name in found if name in returned]


def why_no_solution(
    running: ContinuousQuery,
    default: TripleIndex,
    prefixes: Mapping[str, str],
    name: Subject,
    variable: str = "",
) -> WhyNot:
    """The first part of a query that leaves no solution with an individual.

    ``default`` is the graph that the query matches outside its windows; ``prefixes`` are those of
    its text. Without a ``variable`` the individual is the value of the one that gets furthest.
    Windows have their last computed content; each part is evaluated anew, from the individual on.
    Raises UnsupportedQuery if a part of the query cannot be evaluated alone.
    """
    reads = _reads(running, default)
    names = ShortNames(prefixes)
    candidates = [variable] if variable else individuals_of(running.query) or [""]
    return furthest(_tried(running, reads, names, name, each) for each in candidates)


@frozen
class _Reads:
    """The data that a query reads: its default graph, and full copies of its windows.

    ``known`` is the default graph together with the windows that are part of it.
    """

    known: GraphStatements
    windows: Mapping[IRI, TripleIndex]
    sources: Sources
    indexes: Mapping[TripleSource, TripleIndex | WindowScope]

    def solutions(self, query: Query, given: Mapping[str, Term]) -> Iterator[dict[str, Term]]:
        """The solutions of a query that may agree with some values."""
        pattern = query.form.pattern
        for name in given:
            pattern = _starting(pattern, name)
        values = TripleIndex()
        values.add(*given_triples(given))
        place = TripleSource(GIVEN, "the values given")
        sources = replace(self.sources, windows={**self.sources.windows, GIVEN: place})
        root = build(plan(pattern, sources, query.base), Network(), {**self.indexes, place: values})
        for row in root.rows():
            pairs = zip(root.variables, row, strict=False)
            yield {name: value for name, value in pairs if value is not None}

    def solve(self, query: Query, given: Mapping[str, Term]) -> list[dict[str, Term]]:
        """The solutions of a part of a query that agree with some values, in a fixed order."""
        found = [
            {**given, **each}
            for each in self.solutions(query, given)
            if all(each.get(name, value) == value for name, value in given.items())
        ]
        return sorted(found, key=as_text)


@frozen
class _Together:
    """Several graphs as one."""

    graphs: tuple[TripleIndex, ...]

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """See :class:`.GraphStatements`."""
        found = (each for graph in self.graphs for each in graph.match(subject, predicate, object_))
        return iter(dict.fromkeys(found))


def _starting(pattern: Pattern, name: str) -> Pattern:
    """The pattern, restricted as far as possible to the given value of a variable.

    Each block of triples that binds the variable starts at its value, so it costs no more than its
    matches with that value. Solutions with other values may remain.
    """

    def inside(part: Pattern) -> Pattern:
        return _starting(part, name)

    match pattern:
        case algebra.BGP(patterns) if any(
            # A path of no steps would lead from the value to itself.
            name in names_in(each) and isinstance(each.predicate, IRI | Variable)
            for each in patterns
        ):
            value = TriplePattern(GIVEN, property_of(name), Variable(name))
            return algebra.Join(algebra.Window(GIVEN, algebra.BGP((value,))), pattern)
        case algebra.Join(left, right):
            return algebra.Join(inside(left), inside(right))
        case algebra.Union(left, right):
            return algebra.Union(inside(left), inside(right))
        case algebra.LeftJoin(left, _, _) | algebra.Minus(left, _):
            return replace(pattern, left=inside(left))
        case algebra.Extend(inner, variable, _) if variable.name != name:
            return replace(pattern, pattern=inside(inner))
        case algebra.Project(inner, columns) if Variable(name) in columns:
            return replace(pattern, pattern=inside(inner))
        case (
            algebra.Filter(_, inner)
            | algebra.Window(_, inner)
            | algebra.Distinct(inner)
            | algebra.Reduced(inner)
        ):
            return replace(pattern, pattern=inside(inner))
    return pattern


def _reads(running: ContinuousQuery, default: TripleIndex) -> _Reads:
    defined = {each.name: each for each in running.query.dataset.windows}
    shapes: dict[IRI, WindowShape] = {}
    windows: dict[IRI, TripleIndex] = {}
    for name, window in zip(defined, running.windows, strict=True):
        shapes[name], windows[name] = window.shape, TripleIndex()
        # The index of the window has only the triples that patterns of queries read.
        windows[name].add(*window.graph)
    sources = sources_of(running.query, shapes, {})
    indexes: dict[TripleSource, TripleIndex | WindowScope] = {DEFAULT: default}
    indexes |= {sources.windows[name]: index for name, index in windows.items()}
    inside = [windows[name] for name, each in defined.items() if each.in_default]
    return _Reads(_Together((default, *inside)), windows, sources, indexes)


def _tried(
    running: ContinuousQuery, reads: _Reads, names: ShortNames, name: Subject, variable: str
) -> WhyNot:
    query, told = running.query, names.term(name)
    given: dict[str, Term] = {variable: name} if variable else {}
    prober = Prober(
        reads.known, reads.solve, names, query.dataset, query.base, given, reads.windows
    )
    holds = any(each.get(variable) == name for each in reads.solutions(query, given))
    if variable and prober.holds(query.form.pattern) and not holds:
        # All parts have solutions, but an optional one has none, or another value.
        prober.steps.append(TriedPart("query", "all parts together", False, 0))
    if holds:
        answer = f"query {running.name} has a solution for {told}"
        if query.alert is not None:
            answer += f": its alert is raised {_RAISES[running.schedule.relation]}"
    else:
        unmet = first_unmet(prober.steps) or "it returns no individual"
        answer = f"query {running.name} has no solution for {told}: {unmet}"
    return WhyNot(running.name, name, variable, holds, answer, tuple(prober.steps))
