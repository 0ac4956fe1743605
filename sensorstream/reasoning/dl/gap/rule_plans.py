"""The evaluation of the rules of bounds: functions that find solutions from one triple."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from sensorstream.errors import InternalFault
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.budget import Meter
from sensorstream.network.operators.delta_join import JoinWriter, Pattern
from sensorstream.network.plan.nodes import End
from sensorstream.network.recursion.derivation_rule import meant
from sensorstream.reasoning.dl.bounds.bound_rules import Conclusion
from sensorstream.reasoning.dl.bounds.clauses import PREFIX, renamed
from sensorstream.reasoning.dl.bounds.foreseen_conclusions import APART, OWN, apart
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.walk import triple_variables, variables

FOUND: Final = f"{PREFIX}found-"
"""Kinds of facts of the lower bound that stand for a search of the upper one."""
_NOBODY: Final = IRI(f"{PREFIX}nobody")
_PAIR: Final = 2


class Searches:
    """Searches of the upper bound's rules in the lower one, as facts that it derives. A search that
    is one triple without variables of its own needs no such fact.
    """

    def __init__(self) -> None:
        self._heads: dict[tuple[object, ...], TriplePattern] = {}
        self.rules: list[Conclusion] = []

    def fact(
        self,
        patterns: Sequence[TriplePattern],
        shared: Sequence[Variable],
        *,
        name: str,
    ) -> TriplePattern:
        """The fact that holds of ``shared`` if the patterns do; ``name`` is the seeking rule's."""
        mine = dict.fromkeys(each for triple in patterns for each in triple_variables(triple))
        if len(shared) > _PAIR:
            raise InternalFault("a bound looks for a pattern about three individuals")
        places = {each: Variable(f"x{place}") for place, each in enumerate(shared)}
        others = [each for each in mine if each not in places]
        places.update((each, Variable(f"y{place}")) for place, each in enumerate(others))
        premises = tuple(renamed(each, places) for each in patterns)
        key = (premises, len(shared))
        head = self._heads.get(key)
        if head is None:
            kind = IRI(f"{FOUND}{len(self._heads)}")
            one = places[shared[0]] if shared else _NOBODY
            head = TriplePattern(one, rdf.TYPE, kind)
            if len(shared) == _PAIR:
                head = TriplePattern(one, kind, places[shared[1]])
            self._heads[key] = head
            self.rules.append(Conclusion(name, premises, (head,)))
        return renamed(head, {place: name for name, place in places.items()})


def conclusions(rules: Iterable[Conclusion], searches: Searches) -> list[Conclusion]:
    """Rules of a bound; the alternatives of one clause become one, and each absent part one triple,
    which is about individuals of the rule alone.
    """
    clauses: dict[Conclusion, dict[TriplePattern, None]] = {}
    for rule in rules:
        clauses.setdefault(replace(rule, heads=()), {}).update(dict.fromkeys(rule.heads))
    # Two axioms may say the same: that each of two properties is the inverse of the other.
    named: dict[Conclusion, str] = {}
    for body, heads in clauses.items():
        named.setdefault(replace(body, name="", heads=tuple(heads)), body.name)
    return [_conclusion(replace(rule, name=name), searches) for rule, name in named.items()]


def together(rules: Iterable[Conclusion]) -> list[Conclusion]:
    """The rules, with those of one premise joined to one conclusion for each premise."""
    made: list[Conclusion] = []
    heads: dict[TriplePattern, list[TriplePattern]] = {}
    for rule in rules:
        if len(rule.premises) != 1 or rule.absent or rule.tests or rule.names:
            made.append(rule)
            continue
        [premise] = rule.premises
        places = {
            each: Variable(f"x{place}") for place, each in enumerate(triple_variables(premise))
        }
        heads.setdefault(renamed(premise, places), []).extend(
            renamed(each, places) for each in rule.heads
        )
    made += [
        Conclusion(f"what follows from {premise.predicate}", (premise,), tuple(told))
        for premise, told in heads.items()
    ]
    return made


def _conclusion(rule: Conclusion, searches: Searches) -> Conclusion:
    if not rule.absent:
        return rule
    bound = {each for triple in rule.premises for each in triple_variables(triple)}
    absent = ((_absent(rule.name, each, bound, searches),) for each in rule.absent)
    return replace(rule, absent=tuple(absent))


def _absent(
    name: str, patterns: tuple[TriplePattern, ...], bound: set[Variable], searches: Searches
) -> TriplePattern:
    mine = dict.fromkeys(each for triple in patterns for each in triple_variables(triple))
    shared = [each for each in mine if each in bound]
    if len(patterns) == 1 and len(shared) == len(mine):
        return patterns[0]
    return searches.fact(patterns, shared, name=name)


def predicate_of(triple: TriplePattern) -> IRI:
    """The property of a triple of a bound, which is always a constant."""
    if not isinstance(triple.predicate, IRI):
        raise InternalFault("a bound has a triple without a fixed property")
    return triple.predicate


def is_search(triple: TriplePattern) -> bool:
    """Whether a premise is a fact that the lower bound finds."""
    kind = triple.object if triple.predicate == rdf.TYPE else triple.predicate
    return isinstance(kind, IRI) and kind.startswith(FOUND)


def is_found(triple: Triple) -> bool:
    """Whether a fact is the result of a search."""
    return triple[1].startswith(FOUND) or (triple[1] == rdf.TYPE and triple[2].startswith(FOUND))


def owner_of(name: IRI) -> IRI | None:
    """The individual for which a name was made; None if it was made for several, or not made."""
    if not name.startswith(OWN):
        return None
    _, separator, owner = name.removeprefix(OWN).partition(":")
    return IRI(owner) if separator else None


class RankedSolution(NamedTuple):
    """A solution: the highest rank of its premises (-1: it has none), and its conclusions."""

    rank: int
    heads: tuple[Triple, ...]


class RankedDerivation(NamedTuple):
    """A solution with its premises."""

    rank: int
    premises: tuple[Triple, ...]
    heads: tuple[Triple, ...]


Find: TypeAlias = Callable[[Term, Term], list[Any] | None]
"""The solutions in which the triple with these ends takes part."""


class RankedTriples:
    """The triples that hold, each with its rank. ``closed`` are the facts of the lower bound that
    are sought there. ``meter`` counts the rows that searches visit.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.ranks: dict[Triple, int] = {}
        self.index = TripleIndex()
        self.closed: dict[Triple, None] = {}

    def insert(self, triple: Triple, rank: int) -> None:
        """Add a triple that is not there."""
        self.ranks[triple] = rank
        self.index.add(triple)

    def remove(self, triple: Triple) -> None:
        """Remove a triple."""
        self.index.discard(triple)
        del self.ranks[triple]


def kind_of(triple: TriplePattern) -> IRI:
    """The key of a triple's functions: its property, or its class if that is rdf:type."""
    predicate = predicate_of(triple)
    if predicate == rdf.TYPE and isinstance(triple.object, IRI):
        return triple.object
    return predicate


class RuleWriter(JoinWriter):
    """A writer of functions that find the solutions of a conclusion in which one triple takes part.
    A function gets the ends of the triple, and returns a :class:`RankedSolution` for each, or
    nothing.
    """

    def __init__(self, conclusion: Conclusion, store: RankedTriples) -> None:
        triples = [
            Pattern(store.index, _end(each.subject), predicate_of(each), _end(each.object))
            for each in conclusion.premises
        ]
        super().__init__(triples, (), (), store.meter, store.ranks)
        self._conclusion = conclusion
        self._conditions = list(conclusion.tests)
        self._absent = [triple for (triple,) in conclusion.absent]
        self._others: list[TriplePattern] = []
        """The triples that the given one must not be."""
        self._tells_premises = False
        subjects = {each.subject for each in conclusion.premises}
        self._may_be_literals = {each.object for each in conclusion.premises} - subjects
        self._given |= {
            "closed": store.closed,
            "max": max,
            "literal": Literal,
            "iri": IRI,
            "blank": BlankNode,
            "isinstance": isinstance,
        }
        self._line("out = []")

    def by_premise(self, place: int) -> Find:
        """The function from a triple that is this premise, and no earlier one."""
        triple = self._conclusion.premises[place]
        self._give(triple)
        self._number(f"s, {self._cell(triple.predicate)}, o")
        rest = [each for at, each in enumerate(self._patterns) if at != place]
        return self._made(rest, place)

    def by_absence(self, place: int) -> Find:
        """The function from a triple that must be absent, and is no earlier one of those."""
        triple = self._absent.pop(place)
        self._others = [
            each
            for each in self._absent[:place]
            if kind_of(each) == kind_of(triple) and each.predicate == triple.predicate
        ]
        self._give(triple)
        return self._made(list(self._patterns))

    def by_head(self, place: int) -> Find:
        """The function from a triple that is this head, to a :class:`RankedDerivation` each."""
        self._tells_premises = True
        self._give(self._conclusion.heads[place])
        # A computed name that is known gives its owner.
        for number, (variable, prefix, owner) in enumerate(self._conclusion.names):
            known = self._known(variable)
            if known is not None and owner.name not in self._bound:
                self._given[f"owned{number}"] = prefix
                self._open(f"if {known}.startswith(owned{number}):")
                self._line(f"{self._fresh(owner)} = iri({known}[{len(prefix)}:])")
        return self._made(list(self._patterns))

    def without_premises(self) -> Find:
        """The one solution of a conclusion that has no premises."""
        return self._made([])

    def _give(self, triple: TriplePattern) -> None:
        """Make the ends of a triple the arguments."""
        self._agree(_end(triple.subject), "s", "return")
        # The function was found by the class of the triple.
        if triple.predicate != rdf.TYPE or isinstance(triple.object, Variable):
            self._agree(_end(triple.object), "o", "return")

    def _made(self, ahead: list[Pattern], trigger: int | None = None) -> Find:
        self._run_tests()
        self._walk(ahead, trigger)
        self._depth = 1
        self._line("return out")
        return self._finish("s, o")

    def _run_tests(self) -> None:
        """Write the conditions on what is known so far: a row that fails is followed no further."""
        for each in list(self._conditions):
            if {variable.name for variable in variables(each)} <= self._bound:
                self._conditions.remove(each)
                self._open(f"if {self._condition(each)}:")

    def _differs(self, pattern: Pattern) -> str:
        # Both have the same property.
        return f"{self._known(pattern.subject)} != s or {self._known(pattern.object)} != o"

    def _row(self) -> str:
        """The last conditions, the computed names, and the conclusions."""
        for each in self._others:
            self._open(f"if {self._cell(each.subject)} != s or {self._cell(each.object)} != o:")
        for each in self._absent:
            self._open(f"if {self._triple(each)} not in closed:")
        for number, (variable, prefix, owner) in enumerate(self._conclusion.names):
            self._given[f"prefix{number}"] = prefix
            made = f"iri(prefix{number} + {self._cell(owner)})"
            known = self._known(variable)
            if known is None:
                self._line(f"{self._fresh(variable)} = {made}")
            else:
                self._open(f"if {known} == {made}:")
        rank = f"max({', '.join(self._numbers)})" if len(self._numbers) > 1 else "-1"
        if len(self._numbers) == 1:
            (rank,) = self._numbers
        cells = [rank]
        if self._tells_premises:
            cells.append(_tuple(map(self._triple, self._conclusion.premises)))
        cells.append(_tuple(map(self._head, self._conclusion.heads)))
        return f"({', '.join(cells)})"

    def _head(self, triple: TriplePattern) -> str:
        conditions = []
        if triple.predicate == owl.SAME_AS:
            conditions.append(f"{self._cell(triple.subject)} != {self._cell(triple.object)}")
        if triple.subject in self._may_be_literals:
            conditions.append(f"not isinstance({self._cell(triple.subject)}, literal)")
        made = self._triple(triple)
        return f"*(({made},) if {' and '.join(conditions)} else ())" if conditions else made

    def _condition(self, test: Expression) -> str:
        """A condition on names: they are compared as they are written."""
        match test:
            case algebra.Not(operand):
                return f"not {self._condition(operand)}"
            case algebra.And(left, right):
                return f"({self._condition(left)} and {self._condition(right)})"
            case algebra.Or(left, right):
                return f"({self._condition(left)} or {self._condition(right)})"
            case algebra.Comparison("!=", left, right):
                return f"{self._cell(left)} != {self._cell(right)}"
            case algebra.Comparison(
                "<", algebra.Call("STR", (left,)), algebra.Call("STR", (right,))
            ):
                return f"{self._cell(left)} < {self._cell(right)}"
            case algebra.Call("ISIRI", (one,)):
                return f"isinstance({self._cell(one)}, iri)"
            case algebra.Call("ISBLANK", (one,)):
                return f"isinstance({self._cell(one)}, blank)"
            case algebra.Call("STRSTARTS", (algebra.Call("STR", (one,)), Literal() as start)):
                name = f"start{len(self._given)}"
                self._given[name] = start.lexical
                return f"{self._cell(one)}.startswith({name})"
            case algebra.Call(name, (one, other, Literal() as table)) if name == APART:
                name = f"apart{len(self._given)}"
                self._given[name] = apart(table.lexical)
                return f"{name}({self._cell(one)}, {self._cell(other)})"
        raise InternalFault(f"a bound has an unknown condition: {test}")

    def _triple(self, triple: TriplePattern) -> str:
        return _tuple(map(self._cell, (triple.subject, triple.predicate, triple.object)))

    def _cell(self, end: object) -> str:
        """The name of a known end in the function."""
        if not isinstance(end, Variable | IRI | Literal):
            raise InternalFault(f"a bound compares {end}")
        known = self._known(_end(end))
        assert known is not None
        return known


def _end(end: PatternTerm) -> End:
    """An end of a pattern, as its term."""
    return end if isinstance(end, Variable) else meant(end)  # type: ignore[arg-type]


def _tuple(cells: Iterable[str]) -> str:
    return f"({''.join(f'{each}, ' for each in cells)})"
