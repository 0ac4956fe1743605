"""The rules of bounds as they are evaluated: functions that find solutions from one triple."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sensorstream.errors import InternalFault
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.network.budget import Meter
from sensorstream.network.recursion.rule import meant
from sensorstream.network.rows import compiled
from sensorstream.reasoning.dl.bounds.clauses import PREFIX, renamed
from sensorstream.reasoning.dl.bounds.foreseen import APART, OWN, apart
from sensorstream.reasoning.dl.bounds.rules import Conclusion
from sensorstream.sparql.algebra import (
    And,
    Call,
    Comparison,
    Expression,
    Not,
    Or,
    PatternTerm,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.walk import triple_variables, variables

FOUND: Final = f"{PREFIX}found-"
"""Kinds of facts of the lower bound that stand for a search of the upper one."""
_NOBODY: Final = IRI(f"{PREFIX}nobody")
_PAIR: Final = 2


class Searches:
    """What rules of the upper bound look for in the lower one, as facts that it derives.

    A search that is one triple without variables of its own needs no such fact.
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
        """The fact that holds of ``shared`` where the patterns do.

        ``name`` is that of the rule which looks for it.
        """
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
            head = TriplePattern(one, RDF_TYPE, kind)
            if len(shared) == _PAIR:
                head = TriplePattern(one, kind, places[shared[1]])
            self._heads[key] = head
            self.rules.append(Conclusion(name, premises, (head,)))
        return renamed(head, {place: name for name, place in places.items()})


def conclusions(rules: Iterable[Conclusion], searches: Searches) -> list[Conclusion]:
    """Rules of a bound; the alternatives of one clause become one, and absent is one triple each.

    That is about individuals of the rule alone.
    """
    clauses: dict[Conclusion, dict[TriplePattern, None]] = {}
    for rule in rules:
        clauses.setdefault(replace(rule, heads=()), {}).update(dict.fromkeys(rule.heads))
    # Two axioms may say one thing: that each of two properties is the inverse of the other.
    named: dict[Conclusion, str] = {}
    for body, heads in clauses.items():
        named.setdefault(replace(body, name="", heads=tuple(heads)), body.name)
    return [_conclusion(replace(rule, name=name), searches) for rule, name in named.items()]


def together(rules: Iterable[Conclusion]) -> list[Conclusion]:
    """What a triple by itself implies as one conclusion, in the place of many."""
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


def term_of(end: PatternTerm) -> Term | None:
    """The term that a constant of a rule means; None for a variable."""
    return None if isinstance(end, Variable) else meant(end)  # type: ignore[arg-type]


def is_search(triple: TriplePattern) -> bool:
    """Whether a premise is a fact that the lower bound finds."""
    kind = triple.object if triple.predicate == RDF_TYPE else triple.predicate
    return isinstance(kind, IRI) and kind.startswith(FOUND)


def is_found(triple: Triple) -> bool:
    """Whether a fact stands for what a search has found."""
    return triple[1].startswith(FOUND) or (triple[1] == RDF_TYPE and triple[2].startswith(FOUND))


def owner_of(name: IRI) -> IRI | None:
    """The individual for which a name was made; None if it was made for several, or not made."""
    if not name.startswith(OWN):
        return None
    _, separator, owner = name.removeprefix(OWN).partition(":")
    return IRI(owner) if separator else None


_TYPE: Final = "t"
_SAME_KIND: Final = "({s} != s or {o} != o)"
_Rows = TypeVar("_Rows", bound=Collection[object])


class Row(NamedTuple):
    """One solution: the highest rank of its premises (-1: it has none), and what it concludes."""

    rank: int
    heads: tuple[Triple, ...]


class Derivation(NamedTuple):
    """One solution with its premises."""

    rank: int
    premises: tuple[Triple, ...]
    heads: tuple[Triple, ...]


Find: TypeAlias = Callable[[Term, Term], list[Any]]
"""The solutions in which the triple with these ends takes part."""


@dataclass(frozen=True, slots=True)
class Store:
    """The triples that hold, each with its rank, and found by property and one end.

    ``closed`` are the facts of the lower bound that are sought there. ``meter`` counts the rows
    that searches visit.
    """

    meter: Meter
    ranks: dict[Triple, int] = field(default_factory=dict)
    objects: dict[tuple[IRI, Subject], dict[Term, None]] = field(default_factory=dict)
    subjects: dict[tuple[IRI, Term], dict[Subject, None]] = field(default_factory=dict)
    pairs: dict[IRI, dict[tuple[Subject, Term], None]] = field(default_factory=dict)
    closed: dict[Triple, None] = field(default_factory=dict)

    def counted(self, rows: _Rows) -> _Rows:
        """Rows that are about to be visited, where they multiply.

        Raises:
            Overrun: they are too many for this change.
        """
        if len(rows) > 1:
            self.meter.take(len(rows))
        return rows

    def insert(self, triple: Triple, rank: int) -> None:
        """Add a triple that is not there."""
        s, p, o = triple
        self.ranks[triple] = rank
        self.objects.setdefault((p, s), {})[o] = None
        self.subjects.setdefault((p, o), {})[s] = None
        if (pairs := self.pairs.get(p)) is not None:
            pairs[s, o] = None

    def remove(self, triple: Triple) -> None:
        """Remove a triple."""
        s, p, o = triple
        del self.ranks[triple]
        objects = self.objects[p, s]
        del objects[o]
        if not objects:
            del self.objects[p, s]
        subjects = self.subjects[p, o]
        del subjects[s]
        if not subjects:
            del self.subjects[p, o]
        if (pairs := self.pairs.get(p)) is not None:
            del pairs[s, o]


def kind_of(triple: TriplePattern) -> IRI:
    """What finds the functions for a triple: its property, or its class if that is rdf:type."""
    predicate = predicate_of(triple)
    if predicate == RDF_TYPE and isinstance(triple.object, IRI):
        return triple.object
    return predicate


def by_premise(conclusion: Conclusion, place: int, store: Store) -> Find:
    """:class:`Row` for each solution with the triple as this premise, and as no premise before."""
    text = _Text(store, conclusion)
    first = conclusion.premises[place]
    text.bind(first)
    text.ranks.append(text.rank(first))
    rest = [*conclusion.premises[:place], *conclusion.premises[place + 1 :]]
    text.join(rest)
    text.differ(first, conclusion.premises[:place])
    text.finish(conclusion, conclusion.absent)
    return text.rows(conclusion)


def by_absence(conclusion: Conclusion, place: int, store: Store) -> Find:
    """:class:`Row` for each solution that needs the triple to be absent."""
    text = _Text(store, conclusion)
    *before, (first,) = conclusion.absent[: place + 1]
    text.bind(first)
    text.join(conclusion.premises)
    text.differ(first, [triple for (triple,) in before])
    text.finish(conclusion, (*conclusion.absent[:place], *conclusion.absent[place + 1 :]))
    return text.rows(conclusion)


def by_head(conclusion: Conclusion, place: int, store: Store) -> Find:
    """:class:`Derivation` for each solution that has the triple as this head."""
    text = _Text(store, conclusion)
    text.bind(conclusion.heads[place])
    text.unname(conclusion)
    text.join(conclusion.premises)
    text.finish(conclusion, conclusion.absent)
    return text.rows(conclusion, premises=True)


def without_premises(conclusion: Conclusion, store: Store) -> Find:
    """:class:`Row` for the one solution of a conclusion that has no premises."""
    text = _Text(store, conclusion)
    text.finish(conclusion, conclusion.absent)
    return text.rows(conclusion)


class _Text:
    """The text of a function, and the constants that it uses."""

    def __init__(self, store: Store, conclusion: Conclusion) -> None:
        self.ranks: list[str] = []
        self._store = store
        self._tests = list(conclusion.tests)
        self._names: dict[Variable, str] = {}
        self._constants: dict[str, object] = {
            "ranks": store.ranks.get,
            "rank_of": store.ranks,
            "objects": store.objects.get,
            "subjects": store.subjects.get,
            "closed": store.closed,
            "counted": store.counted,
            "max": max,
            "literal": Literal,
            "iri": IRI,
            "blank": BlankNode,
            "isinstance": isinstance,
        }
        self._known: dict[Term, str] = {}
        # Parts of a comprehension: "for …" and "if …".
        self._parts: list[str] = []
        self._literals: set[Variable] = set()

    def bind(self, triple: TriplePattern) -> None:
        """The ends of a triple are the arguments."""
        predicate_of(triple)
        ends: list[tuple[PatternTerm, str]] = [(triple.subject, "s"), (triple.object, "o")]
        for end, argument in ends:
            if not isinstance(end, Variable):
                if not (argument == "o" and triple.predicate == RDF_TYPE):
                    self._parts.append(f"if {argument} == {self._cell(end)}")
            elif end in self._names:
                self._parts.append(f"if {argument} == {self._names[end]}")
            else:
                self._names[end] = argument
        if isinstance(triple.object, Variable):
            self._literals.add(triple.object)

    def join(self, premises: list[TriplePattern] | tuple[TriplePattern, ...]) -> None:
        """Find the premises one after the other, those with known ends first."""
        ahead = list(premises)
        self._test()
        while ahead:
            best = min(ahead, key=self._cost)
            ahead.remove(best)
            self._add(best)
            self._test()

    def differ(self, first: TriplePattern, others: Iterable[TriplePattern]) -> None:
        """The triple that is given is none of these others."""
        for other in others:
            if kind_of(other) == kind_of(first) and other.predicate == first.predicate:
                ends = {"s": self._cell(other.subject), "o": self._cell(other.object)}
                self._parts.append("if " + _SAME_KIND.format(**ends))

    def finish(self, conclusion: Conclusion, absent: Iterable[tuple[TriplePattern, ...]]) -> None:
        """The conditions, and the computed names."""
        for (triple,) in absent:
            self._parts.append(f"if {self._triple(triple)} not in closed")
        for number, (variable, prefix, owner) in enumerate(conclusion.names):
            self._constants[f"prefix{number}"] = prefix
            made = f"iri(prefix{number} + {self._names[owner]})"
            if variable in self._names:
                self._parts.append(f"if {self._names[variable]} == {made}")
            else:
                name = self._names[variable] = f"v{len(self._names)}"
                self._parts.append(f"for {name} in ({made},)")

    def _test(self) -> None:
        """The conditions on what is known so far: a row that fails is followed no further."""
        for test in [each for each in self._tests if variables(each) <= self._names.keys()]:
            self._tests.remove(test)
            self._parts.append(f"if {self._condition(test)}")

    def _condition(self, test: Expression) -> str:
        """A condition on names: they are compared as they are written."""
        match test:
            case Not(operand):
                return f"not {self._condition(operand)}"
            case And(left, right):
                return f"({self._condition(left)} and {self._condition(right)})"
            case Or(left, right):
                return f"({self._condition(left)} or {self._condition(right)})"
            case Comparison("!=", left, right):
                return f"{self._operand(left)} != {self._operand(right)}"
            case Comparison("<", Call("STR", (left,)), Call("STR", (right,))):
                return f"{self._operand(left)} < {self._operand(right)}"
            case Call("ISIRI", (one,)):
                return f"isinstance({self._operand(one)}, iri)"
            case Call("ISBLANK", (one,)):
                return f"isinstance({self._operand(one)}, blank)"
            case Call("STRSTARTS", (Call("STR", (one,)), Literal() as start)):
                name = f"start{len(self._constants)}"
                self._constants[name] = start.lexical
                return f"{self._operand(one)}.startswith({name})"
            case Call(name, (one, other, Literal() as table)) if name == APART:
                name = f"apart{len(self._constants)}"
                self._constants[name] = apart(table.lexical)
                return f"{name}({self._operand(one)}, {self._operand(other)})"
        raise InternalFault(f"a bound has an unknown condition: {test}")

    def _operand(self, each: Expression) -> str:
        if isinstance(each, Variable | IRI | Literal):
            return self._cell(each)
        raise InternalFault(f"a bound compares {each}")

    def unname(self, conclusion: Conclusion) -> None:
        """Computed names that are known tell their owners."""
        for number, (variable, prefix, owner) in enumerate(conclusion.names):
            known = self._names.get(variable)
            if known is None or owner in self._names:
                continue
            self._constants[f"owned{number}"] = prefix
            name = self._names[owner] = f"v{len(self._names)}"
            self._parts.append(f"if {known}.startswith(owned{number})")
            self._parts.append(f"for {name} in (iri({known}[{len(prefix)}:]),)")

    def rows(self, conclusion: Conclusion, *, premises: bool = False) -> Find:
        """The function."""
        cells = []
        for head in conclusion.heads:
            conditions = []
            if head.predicate == OWL_SAME_AS:
                conditions.append(f"{self._cell(head.subject)} != {self._cell(head.object)}")
            if head.subject in self._literals:
                conditions.append(f"not isinstance({self._cell(head.subject)}, literal)")
            cell = self._triple(head)
            if conditions:
                cell = f"*(({cell},) if {' and '.join(conditions)} else ())"
            cells.append(f"{cell}, ")
        rank = "-1"
        if self.ranks:
            rank = self.ranks[0] if len(self.ranks) == 1 else f"max({', '.join(self.ranks)})"
        told = ""
        if premises:
            told = "(" + "".join(f"{self._triple(e)}, " for e in conclusion.premises) + "), "
        parts = ["for _ in (0,)", *self._parts]
        text = f"[({rank}, {told}({''.join(cells)})) {' '.join(parts)}]"
        arguments = ", ".join(self._constants)
        made = compiled(f"lambda {arguments}: lambda s, o: {text}")(*self._constants.values())
        return made  # type: ignore[no-any-return]

    def rank(self, triple: TriplePattern) -> str:
        """The rank of a triple that holds."""
        name = f"r{len(self.ranks)}"
        self._parts.append(f"if ({name} := rank_of[{self._triple(triple)}]) >= 0")
        return name

    def _cost(self, triple: TriplePattern) -> tuple[int, bool]:
        known = sum(
            not isinstance(end, Variable) or end in self._names
            for end in (triple.subject, triple.object)
        )
        # The members of a class are many.
        return 2 - known, triple.predicate == RDF_TYPE

    def _add(self, triple: TriplePattern) -> None:
        s, o = triple.subject, triple.object
        property_ = self._cell(predicate_of(triple))
        open_ = [end for end in (s, o) if isinstance(end, Variable) and end not in self._names]
        if len(open_) == 1 or (open_ and s == o):
            (new, *_) = open_
            name = self._names[new] = f"v{len(self._names)}"
            if s == o:
                pairs = self._pairs(triple)
                self._parts.append(f"for {name}, same in counted({pairs}) if same == {name}")
            elif s == new:
                found = f"subjects(({property_}, {self._cell(o)}), ())"
                self._parts.append(f"for {name} in counted({found})")
            else:
                found = f"objects(({property_}, {self._cell(s)}), ())"
                self._parts.append(f"for {name} in counted({found})")
        elif open_:
            first, second = f"v{len(self._names)}", f"v{len(self._names) + 1}"
            assert isinstance(s, Variable)
            assert isinstance(o, Variable)
            self._names[s], self._names[o] = first, second
            self._parts.append(f"for {first}, {second} in counted({self._pairs(triple)})")
        else:
            name = f"r{len(self.ranks)}"
            self._parts.append(f"if ({name} := ranks({self._triple(triple)})) is not None")
            self.ranks.append(name)
            return
        if isinstance(o, Variable):
            self._literals.add(o)
        self.ranks.append(self.rank(triple))

    def _pairs(self, triple: TriplePattern) -> str:
        predicate = predicate_of(triple)
        pairs = self._store.pairs.setdefault(predicate, {})
        name = f"pairs{len(self._constants)}"
        self._constants[name] = pairs
        return name

    def _triple(self, triple: TriplePattern) -> str:
        cells = (triple.subject, predicate_of(triple), triple.object)
        return f"({', '.join(map(self._cell, cells))})"

    def _cell(self, end: PatternTerm) -> str:
        if isinstance(end, Variable):
            return self._names[end]
        term = term_of(end)
        assert term is not None
        name = self._known.get(term)
        if name is None:
            name = self._known[term] = f"k{len(self._known)}"
            self._constants[name] = term
        return name
