"""Why a rule does not fire for an individual, by the knowledge base as it is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.language import syntax
from sensorstream.language.printer import print_node
from sensorstream.model.events import Individual
from sensorstream.model.terms import Subject, Term
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.conditions import ConditionEvaluator, Solution, condition_query
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.reading import COMPARE, parsed_condition, returning
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.triggers import NOW, conditions_of
from sensorstream.rules.unmet import Prober, ShortNames, Step, first_unmet
from sensorstream.sparql.algebra import BGP, Pattern, Query, Select, Variable
from sensorstream.sparql.printing import modified
from sensorstream.sparql.scope import names_in
from sensorstream.sparql.walk import nodes, visible

_MOST: Final = 100
"""Solutions with which the next condition is tried."""
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
"""By trigger, when a rule fires that nothing keeps from it."""


@dataclass(frozen=True, slots=True)
class Present:
    """What a rule may react to now: the knowledge base, the time, and the memory of the rules.

    ``individual`` is the stay of the individual in question; None: it is not in the window.
    """

    kb: KnowledgeBase
    evaluator: ConditionEvaluator
    now: Instant
    line: Timeline
    memory: RuleMemory
    individual: Individual | None


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What keeps a rule from firing for an individual, or a continuous query from finding it.

    ``rule`` is the name of either, and ``variable`` of it is the individual; "": none can be.
    ``holds``: all conditions hold now. ``answer`` is a sentence; ``steps`` are what was looked at,
    in order.
    """

    rule: str
    individual: Subject
    variable: str
    holds: bool
    answer: str
    steps: tuple[Step, ...]


def why_not(
    rule: syntax.SemanticRule,
    file: syntax.RuleFile,
    compiled: CompiledRule,
    name: Subject,
    present: Present,
    variable: str = "",
) -> WhyNot:
    """The first part of a rule that leaves no solution with an individual.

    Without a ``variable`` the individual is that of the trigger, else the subject in the conditions
    that gets furthest.

    Raises:
        RuleError: a condition cannot be evaluated.
    """
    names = ShortNames(file.prefix_map)
    candidates = [variable] if variable else variables_of(rule, file) or [""]
    tried = [_Question(rule, file, compiled, name, present, names, each) for each in candidates]
    best = tried[0]
    for each in tried:
        each.ask()
        # What gets furthest was meant; what says most of where it ends, if several do.
        if each.rank > best.rank:
            best = each
    return best.told()


def variables_of(rule: syntax.SemanticRule, file: syntax.RuleFile) -> list[str]:
    """The variables of a rule that may be an individual, in order."""
    trigger = rule.trigger
    if isinstance(trigger, syntax.OnInsert | syntax.OnExpire | syntax.OnSilence | syntax.OnUpdate):
        return [trigger.variable.name]
    subjects = [
        pattern.subject
        for condition in conditions_of(rule)
        if isinstance(condition, syntax.Select | syntax.Ask) and not condition.negated
        for block in nodes(parsed_condition(condition.query, file).meaning.form)
        if isinstance(block, BGP)
        for pattern in block.patterns
    ]
    found = (each.name for each in subjects if isinstance(each, Variable) and each.name != NOW)
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class _Question:
    """One rule, and one variable of it that is the individual."""

    rule: syntax.SemanticRule
    file: syntax.RuleFile
    compiled: CompiledRule
    name: Subject
    present: Present
    names: ShortNames
    variable: str
    steps: list[Step] = field(default_factory=list)
    holds: bool = False

    @property
    def rank(self) -> tuple[bool, int]:
        """How far it gets."""
        return self.holds, sum(each.held for each in self.steps)

    def ask(self) -> None:
        """Look at the trigger, each condition, and what is remembered."""
        self._trigger()
        solutions: Sequence[Solution] = [self._start()]
        conditions = sorted(
            conditions_of(self.rule), key=lambda each: isinstance(each, syntax.Select | syntax.Ask)
        )
        for condition in conditions:
            solutions = self._condition(condition, solutions)
            if not solutions:
                return
        self.holds = all(each.held for each in self.steps)
        self._remembered(solutions)

    def told(self) -> WhyNot:
        """The answer."""
        rule, name = self.rule.name, self.names.term(self.name)
        if unmet := first_unmet(self.steps):
            answer = f"rule {rule} does not fire for {name}: {unmet}"
        else:
            answer = (
                f"nothing keeps rule {rule} from firing for {name}: its conditions hold, and "
                f"{_FIRES[type(self.rule.trigger)]}"
            )
        return WhyNot(rule, self.name, self.variable, self.holds, answer, tuple(self.steps))

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
        text = print_node(trigger).split("\n")[0]
        one = present.individual
        where = "not in the window"
        if one is not None:
            where = f"in the window since {self._time(one.entered)}, last said by {one.message}"
        held, note = True, where
        match trigger:
            case syntax.OnInsert(class_name=class_name):
                held = (name, RDF_TYPE, self.file.resolve(class_name)) in present.kb
                classes = [o for _, _, o in present.kb.match(name, RDF_TYPE, None)]
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
        self.steps.append(Step("trigger", text, held, note=note))

    # Conditions

    def _condition(
        self, condition: syntax.Condition, solutions: Sequence[Solution]
    ) -> Sequence[Solution]:
        if isinstance(condition, syntax.Select | syntax.Ask):
            return self._queried(condition, solutions)
        class_name = self.file.resolve(condition.class_name)
        count = self.present.kb.count(RDF_TYPE, class_name)
        holds = count > 0
        if isinstance(condition, syntax.Count):
            holds = COMPARE[condition.comparison](count, condition.number)
        held = holds is not condition.negated
        told = "it has 1 member" if count == 1 else f"it has {count} members"
        self._tell(condition, held, told)
        return solutions if held else ()

    def _tell(self, condition: syntax.Condition, held: bool, note: str, count: int = 0) -> None:
        text = " ".join(print_node(condition).split())
        self.steps.append(Step("condition", text, held, count or None, (), note))

    def _queried(
        self, condition: syntax.Select | syntax.Ask, solutions: Sequence[Solution]
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
        if hidden and isinstance(parsed.form, Select):
            pattern = returning(pattern, sorted(hidden))
        for solution in solutions[:_MOST]:
            found = prober(solution).solutions(pattern)
            if condition.negated:
                after += [] if found else [solution]
            elif isinstance(condition, syntax.Ask):
                after += [solution] if found else []
            else:
                after += [{**solution, **each} for each in found]
        if condition.negated:
            there = "" if after else self.names.solution(prober(solutions[0]).solutions(pattern)[0])
            self._tell(condition, bool(after), f"there is: {there}" if there else "", len(after))
        elif after:
            text = " ".join(print_node(condition).split())
            shown = tuple(map(self.names.solution, after[:3]))
            self.steps.append(Step("condition", text, True, len(after), shown))
        else:
            asked = prober(solutions[0])
            asked.holds(pattern)
            self.steps += asked.steps
        return after

    def _solve(self, query: Query, given: Solution) -> list[dict[str, Term]]:
        condition = condition_query(query, given)
        self.present.evaluator.prepare([(condition,)])
        return self.present.evaluator.select(condition, given)

    def _grouped(
        self, prober: Prober, pattern: Pattern, condition: syntax.Select | syntax.Ask
    ) -> Sequence[Solution]:
        """The solutions of a query that groups, and so hides the individual."""
        found = prober.holds(pattern)
        if not condition.negated:
            self.steps += prober.steps
        else:
            self._tell(condition, not found, self.names.solution(prober.bindings))
        return [dict(prober.bindings)] if found is not condition.negated else ()

    # What is remembered

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
                self.steps.append(Step("held", f"true since {since}", False, 1, (told,), note))
        for (name, key), until in memory.quiet.items():
            if name == rule.name and until > self.present.now and self._concerns(key, solutions):
                note = f"the alert '{key}' is held back until {self._time(until)}"
                self.steps.append(Step("quiet", "alert … for", False, None, (), note))

    def _concerns(self, key: str, solutions: Sequence[Solution]) -> bool:
        """Whether the key of an alert may be that of one of the solutions."""
        texts = {str(value) for each in solutions[:_MOST] for value in each.values()}
        return str(self.name) in key or key in texts
