"""The first part of a query without solutions: patterns and filters are tried in turn."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final, Protocol

from sensorstream.errors import TermError
from sensorstream.model import rdf, xsd
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.model.xsd import RDF_LANG_STRING
from sensorstream.rules.conditions import Solution
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.query_printer import part_text, pattern_text
from sensorstream.sparql.values import equal
from sensorstream.sparql.variable_scope import conjuncts, names_in, plain_keys
from sensorstream.sparql.walk import replaced, visible

_IRI: Final = re.compile(r"<([^<>\s]*)>")
_LOCAL: Final = re.compile(r"[A-Za-z_][\w-]*")


@mutable
class ShortNames:
    """Writes terms and texts of queries with the prefixes of a rule file."""

    prefixes: Mapping[str, str]

    def short(self, text: str) -> str:
        """The text with prefixes instead of IRIs."""
        return _IRI.sub(self._short, text)

    def term(self, term: Term) -> str:
        """A term; a number or a time by its text alone."""
        if isinstance(term, Literal) and term.datatype not in (xsd.STRING, RDF_LANG_STRING):
            return term.lexical
        return self.short(term.n3)

    def solution(self, solution: Solution) -> str:
        """A solution as ``?x = :ann, ?v = 31``."""
        told = (
            f"?{n} = {self.term(v)}" for n, v in sorted(solution.items()) if not n.startswith("__")
        )
        return ", ".join(told)

    def _short(self, match: re.Match[str]) -> str:
        if match[1] == rdf.TYPE:
            return "a"
        for prefix, start in self.prefixes.items():
            local = match[1].removeprefix(start)
            if local != match[1] and _LOCAL.fullmatch(local):
                return f"{prefix}:{local}"
        return match[0]


_SHOWN: Final = 3
"""The most solutions, values and individuals that are shown."""
_LEFT: Final = Variable("__left")
_RIGHT: Final = Variable("__right")

Within = Callable[[Pattern], Pattern]
Solve = Callable[[Query, Mapping[str, Term]], list[dict[str, Term]]]
"""The solutions of a query that agree with some values."""


class GraphStatements(Protocol):
    """The statements of a graph."""

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The statements that fit a pattern; None matches any term."""


@frozen
class TriedPart:
    """A tried part: ``solutions`` are left after it, some of them in ``found``.

    ``kind`` is ``trigger``, ``condition``, ``pattern``, ``filter``, ``held`` and the like. ``note``
    says what is known instead, where nothing is left.
    """

    kind: str
    text: str
    held: bool
    solutions: int | None = None
    found: tuple[str, ...] = ()
    note: str = ""


def first_unmet(steps: Iterable[TriedPart]) -> str:
    """The first part that leaves nothing, and what is known instead; "" if all of them hold."""
    failed = next((each for each in steps if not each.held), None)
    if failed is None:
        return ""
    told = "; ".join(filter(None, (failed.note, *failed.found)))
    return f"{failed.text}: {told or 'nothing matches'}"


@mutable
class Prober:
    """Evaluates parts of one query, with the values that its variables have from outside.

    ``known`` is its default graph; ``windows`` are those that WINDOW names.
    """

    known: GraphStatements
    solve: Solve
    names: ShortNames
    dataset: algebra.Dataset
    base: IRI | None
    bindings: dict[str, Term]
    windows: Mapping[IRI, GraphStatements] = field(default_factory=dict)
    steps: list[TriedPart] = field(default_factory=list)

    def solutions(self, pattern: Pattern) -> list[dict[str, Term]]:
        """The solutions of a pattern that agree with the values from outside.

        Raises RuleError if it cannot be evaluated.
        """
        for each in visible(pattern):
            if each.name.startswith("."):
                # An aggregate needs a name to be shown.
                pattern = algebra.Extend(pattern, Variable(f"__{each.name[1:]}"), each)
        shown = [each for each in visible(pattern) if not each.name.startswith(".")]
        given = {n: term for n, term in self.bindings.items() if n in names_in(pattern)}
        inner = {each.name for each in shown}
        shown += [Variable(name) for name in sorted(given) if name not in inner]
        made = Query(
            algebra.Select(algebra.Project(pattern, tuple(shown))), self.dataset, base=self.base
        )
        return self.solve(made, given)

    def holds(self, pattern: Pattern) -> bool:
        """Whether a query has solutions; the steps show where they end."""
        if isinstance(pattern, algebra.Project):
            return self.holds(pattern.pattern)
        if isinstance(pattern, algebra.Modifier):
            held = self.holds(pattern.pattern)
            return held and self._whole(pattern, "modifier", "LIMIT or OFFSET")
        return self._holds(pattern, _alone)

    def _holds(self, pattern: Pattern, within: Within) -> bool:
        match pattern:
            case algebra.BGP(patterns):
                return self._triples(patterns, within)
            case algebra.Join(left, right):
                return self._holds(left, within) and self._holds(
                    right, lambda part: within(algebra.Join(left, part))
                )
            case algebra.LeftJoin(left, _, _):
                return self._holds(left, within)
            case algebra.Filter(condition, inner):
                return self._holds(inner, within) and self._filter(condition, inner, within)
            case algebra.Union():
                return self._either(pattern, within)
            case algebra.Minus(left, right):
                return self._holds(left, within) and self._without(left, right, within)
            case algebra.Graph(name, inner):
                return self._holds(inner, lambda part: within(algebra.Graph(name, part)))
            case algebra.Window(IRI() as name, inner) if name in self.windows:
                outside, self.known = self.known, self.windows[name]
                held = self._holds(inner, lambda part: within(algebra.Window(name, part)))
                self.known = outside
                return held
            case algebra.Project(inner, columns):
                # A hidden variable differs from the one of the same name outside.
                hidden = names_in(inner) - {each.name for each in columns}
                outer = self.bindings
                self.bindings = {n: term for n, term in outer.items() if n not in hidden}
                held = self._holds(inner, lambda part: within(algebra.Project(part, columns)))
                self.bindings = outer
                return held
            case algebra.Group():
                return self._group(pattern, within)
            case algebra.Extend(inner, variable, expression):
                told = f"BIND({self._text(expression, inner)} AS {variable})"
                return self._holds(inner, within) and self._whole(within(pattern), "value", told)
            case _ if isinstance(pattern, algebra.Modifier):
                held = self._holds(pattern.pattern, within)
                return held and self._whole(within(pattern), "modifier", "LIMIT or OFFSET")
        text = self.names.short(" ".join(pattern_text(pattern).split()))
        return self._whole(within(pattern), "pattern", text)

    def _whole(self, pattern: Pattern, kind: str, text: str) -> bool:
        """Whether a part that cannot be divided has solutions; a step is added if not."""
        found = self.solutions(pattern)
        if not found or kind == "pattern":
            self._step(kind, text, found)
        return bool(found)

    def _step(self, kind: str, text: str, found: Sequence[Solution], note: str = "") -> None:
        told = tuple(dict.fromkeys(map(self.names.solution, found[:_SHOWN])))
        self.steps.append(
            TriedPart(kind, text, bool(found), len(found), tuple(filter(None, told)), note)
        )

    # Triples

    def _triples(self, patterns: Sequence[TriplePattern], within: Within) -> bool:
        done: list[TriplePattern] = []
        before: Sequence[Solution] = ()
        for each in _ordered(patterns, self.bindings.keys()):
            done.append(each)
            found = self.solutions(within(algebra.BGP(tuple(done))))
            text = self.names.short(part_text(each))
            note = ""
            if not found:
                # Before the first of them, the patterns outside had solutions.
                before = before or self.solutions(within(algebra.BGP(()))) or [self.bindings]
                note = self._near(each, {**self.bindings, **before[0]})
            self._step("pattern", text, found, note)
            if not found:
                return False
            before = found
        return True

    def _near(self, pattern: TriplePattern, known: Solution) -> str:
        """The known statements in the place of a missing triple."""
        if not isinstance(pattern.predicate, IRI):
            return ""
        subject, value = (
            known.get(each.name) if isinstance(each, Variable) else each
            for each in (pattern.subject, pattern.object)
        )
        predicate, short = pattern.predicate, self.names.term
        named = self.names.short(predicate.n3)
        if isinstance(subject, Literal):
            return f"{short(subject)} is a literal, and has no properties"
        if isinstance(subject, IRI):
            others = [o for _, _, o in self.known.match(subject, predicate, None)]
            if isinstance(value, Literal) and any(equal(value, each) for each in others):
                return (
                    f"{short(subject)} has this value in another form, {others[0].n3}: compare "
                    "values with FILTER"
                )
            if others:
                return f"{short(subject)} {named} is {self._listed(others)}"
            known_of = dict.fromkeys(p for _, p, _ in self.known.match(subject, None, None))
            if not known_of:
                return f"nothing is known of {short(subject)}"
            return f"{short(subject)} has no {named}; it has {self._listed(known_of)}"
        if isinstance(value, IRI | Literal):
            subjects = [s for s, _, _ in self.known.match(None, predicate, value)]
            if subjects:
                return f"others have it: {self._listed(subjects)}"
        if next(iter(self.known.match(None, predicate, None)), None) is None:
            return f"there is no statement with {named}"
        return ""

    def _listed(self, terms: Sequence[Term] | Mapping[IRI, None]) -> str:
        told = [self.names.term(each) for each in list(terms)[:_SHOWN]]
        more = len(terms) - len(told)
        return ", ".join(told) + (f" and {more} more" if more else "")

    # Filters

    def _filter(self, condition: Expression, inner: Pattern, within: Within) -> bool:
        kept = inner
        for part in conjuncts(condition):
            before, kept = kept, algebra.Filter(part, kept)
            found = self.solutions(within(kept))
            text = f"FILTER({self._text(part, inner)})"
            note = "" if found else self._missed(part, before, within)
            self._step("filter", text, found, note)
            if not found:
                return False
        return True

    def _missed(self, part: Expression, before: Pattern, within: Within) -> str:
        """The values for which a filter was false; the closest numbers and times."""
        if isinstance(part, algebra.Not) and isinstance(part.operand, algebra.Exists):
            there = self.solutions(within(algebra.Join(before, part.operand.pattern)))
            return f"there is: {self.names.solution(there[0])}" if there else ""
        if not isinstance(part, algebra.Comparison):
            mentioned = names_in(part)
            first = self.solutions(within(before))[0]
            values = {n: v for n, v in first.items() if n in mentioned}
            return self.names.solution(values) or "its variables have no value"
        valued = algebra.Extend(algebra.Extend(before, _LEFT, part.left), _RIGHT, part.right)
        rows = self.solutions(within(valued))
        nearest = min(rows, key=_distance)
        told = []
        for side, variable in ((part.left, _LEFT), (part.right, _RIGHT)):
            if not isinstance(side, IRI | Literal):
                value = nearest.get(variable.name)
                shown = "has no value" if value is None else f"is {self.names.term(value)}"
                told.append(f"{self._text(side, before)} {shown}")
        if len(rows) > 1 and _distance(nearest) < math.inf:
            told.append(f"the nearest of {len(rows)}")
        return ", ".join(told)

    def _text(self, expression: Expression, inner: Pattern) -> str:
        """An expression as it is written, with its aggregates."""
        group = inner
        while isinstance(group, algebra.Filter | algebra.Extend):
            group = group.pattern
        written = dict(group.aggregates) if isinstance(group, algebra.Group) else {}
        whole = replaced(expression, lambda node: written.get(node) if _is_name(node) else None)
        text = part_text(whole)
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1]
        numbers = re.sub(r'"([^"]*)"\^\^<[^>]*#(?:integer|decimal|double)>', r"\1", text)
        return self.names.short(numbers)

    # Others

    def _either(self, pattern: algebra.Union, within: Within) -> bool:
        found = self.solutions(within(pattern))
        self._step("union", "one of the sides of UNION", found)
        if found:
            return True
        for side in (pattern.left, pattern.right):
            self._holds(side, within)
        return False

    def _without(self, left: Pattern, right: Pattern, within: Within) -> bool:
        found = self.solutions(within(algebra.Minus(left, right)))
        note = ""
        if not found and (there := self.solutions(within(algebra.Join(left, right)))):
            note = f"there is: {self.names.solution(there[0])}"
        text = f"MINUS {{ {self.names.short(pattern_text(right))} }}"
        self._step("minus", " ".join(text.split()), found, note)
        return bool(found)

    def _group(self, pattern: algebra.Group, within: Within) -> bool:
        # Without keys, no solutions are a group, too.
        if pattern.keys and not self._holds(pattern.pattern, _alone):
            return False
        keys = plain_keys(pattern.keys)
        if keys.isdisjoint(self.bindings) and not names_in(pattern.pattern).isdisjoint(
            self.bindings
        ):
            # The individual is in some group: look at the first one.
            first = self.solutions(pattern.pattern)[0]
            self.bindings |= {name: first[name] for name in sorted(keys) if name in first}
        return self._whole(within(pattern), "group", "GROUP BY")


def _alone(pattern: Pattern) -> Pattern:
    return pattern


def _is_name(node: object) -> bool:
    return isinstance(node, Variable) and node.name.startswith(".")


def _ordered(patterns: Sequence[TriplePattern], known: Iterable[str]) -> Iterator[TriplePattern]:
    """The patterns, each joined to those before it if it can be, the most definite ones first."""
    bound = set(known)
    left = list(patterns)
    while left:
        best = max(
            left,
            key=lambda each: (
                not bound or bool(bound & names_in(each)) or not names_in(each),
                -len(names_in(each) - bound),
            ),
        )
        left.remove(best)
        bound |= names_in(best)
        yield best


def _distance(row: Solution) -> float:
    """The distance between the sides of a comparison."""
    left, right = row.get(_LEFT.name), row.get(_RIGHT.name)
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return math.inf
    try:
        apart = left.value - right.value  # type: ignore[operator]
        return abs(apart.total_seconds() if isinstance(apart, timedelta) else float(apart))
    except (TermError, TypeError, ValueError, OverflowError):
        return math.inf
