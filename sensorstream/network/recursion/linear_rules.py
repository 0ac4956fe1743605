"""Rules with one triple as premise, and all that follows from a triple by such rules alone.

The conclusions depend on which constants of the rules a triple contains, and on the kinds of its
ends. So they are found once for each such shape, by forward chaining over a sample, when the shape
is first met, and kept as a flat list: a triple costs one look-up and what it implies, however long
the chain of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.network.recursion.derivation_rule import DerivationRule, meant
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, written
from sensorstream.network.rows import compiled
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Path, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.walk import nodes, triple_variables

_KINDS: Final = frozenset({"ISIRI", "ISURI", "ISBLANK", "ISLITERAL"})
_SUBJECT: Final = IRI("urn:sensorstream:sample#subject")
_BLANK_SUBJECT: Final = BlankNode("_:sample-subject")
_PROPERTY: Final = IRI("urn:sensorstream:sample#property")
_OBJECTS: Final[dict[type, Term]] = {
    IRI: IRI("urn:sensorstream:sample#object"),
    BlankNode: BlankNode("_:sample-object"),
    Literal: Literal("sample object"),
}
_SAMPLES: Final = frozenset((_SUBJECT, _BLANK_SUBJECT, _PROPERTY, *_OBJECTS.values()))
_REMEMBERED: Final = 4096
"""Properties without a rule for which the look-up is kept: there may be any number of them."""
_Make: TypeAlias = list[tuple[IRI, Term]] | Callable[[Subject, IRI, Term], Sequence[Triple]]
"""The conclusions from a triple: properties and values of its subject, or a function."""


@frozen
class LinearRule:
    """A rule whose body is one triple pattern, and conditions that a triple's shape decides."""

    name: str
    premise: TriplePattern
    head: tuple[TriplePattern, ...]
    conditions: tuple[Expression, ...] = ()


class LinearTable(Protocol):
    """A table of linear rules that differ only in constants, by the object of their premise.

    The premise of each is ``?x predicate OBJECT``; its conclusions have the subject ``?x``, too.
    """

    @property
    def predicate(self) -> IRI:
        """The predicate of the premises."""

    @property
    def heads(self) -> Sequence[TriplesRead]:
        """The kinds of all conclusions."""

    def said(self, object_: Term) -> Sequence[tuple[IRI, Term]]:
        """The properties and objects that follow from an object."""

    def names(self, term: Term) -> bool:
        """Whether a rule has a term as the object of its premise or of a conclusion."""


def parted(
    rules: Iterable[DerivationRule],
) -> tuple[list[LinearRule], list[DerivationRule]]:
    """Split rules into the linear ones and the others."""
    linear, others = list[LinearRule](), list[DerivationRule]()
    for rule in rules:
        found = _linear(rule)
        if found is None:
            others.append(rule)
        else:
            linear.append(found)
    return linear, others


def _linear(rule: DerivationRule) -> LinearRule | None:
    conditions, body = list[Expression](), rule.body
    while isinstance(body, algebra.Filter):
        conditions.append(body.condition)
        body = body.pattern
    if not isinstance(body, algebra.BGP) or len(body.patterns) != 1:
        return None
    (premise,) = body.patterns
    predicate = premise.predicate
    if not isinstance(predicate, IRI | Variable):
        return None
    ends = [end for end in (premise.subject, premise.object) if _is_open(end)]
    if predicate in ends or not all(_is_decided(each, ends, predicate) for each in conditions):
        return None
    bound = {*ends, predicate}
    for triple in rule.head:
        if not isinstance(triple.predicate, IRI | Variable):
            return None
        has_blank = any(isinstance(part, BlankNode) for part in triple.parts)
        if has_blank or isinstance(triple.subject, Literal):
            return None
        if not {*triple_variables(triple)} <= bound:
            return None
    return LinearRule(rule.name, premise, rule.head, tuple(conditions))


def _is_open(end: PatternTerm) -> bool:
    return isinstance(end, Variable | BlankNode)


def _is_decided(
    condition: Expression, ends: Sequence[PatternTerm], predicate: IRI | Variable
) -> bool:
    """Whether a condition has one value for all triples of a shape."""
    known = {*ends, predicate}

    def is_operand(each: Expression) -> bool:
        return isinstance(each, IRI) or (isinstance(each, Variable) and each in known)

    match condition:
        case algebra.Not(operand):
            return _is_decided(operand, ends, predicate)
        case algebra.And(left, right) | algebra.Or(left, right):
            return _is_decided(left, ends, predicate) and _is_decided(right, ends, predicate)
        case algebra.Call(name, (Variable() as variable,)):
            return name in _KINDS and variable in known
        case algebra.Comparison("=" | "!=", left, right) | algebra.Call("SAMETERM", (left, right)):
            if not is_operand(left) or not is_operand(right):
                return False
            # The shape tells whether the two ends are equal, but not whether the property is
            # equal to an end.
            pair = {left, right}
            return len([each for each in pair if isinstance(each, Variable)]) < 2 or pair <= {*ends}
        case algebra.In(operand, choices):
            return is_operand(operand) and all(isinstance(each, IRI) for each in choices)
    return False


class _Shape(NamedTuple):
    """A sample triple, in which only the terms that all such triples share are named."""

    predicate: IRI
    subject: Subject
    object: Term


class FlatClosure:
    """Conclusions from one triple by linear rules; O(conclusions) a triple.

    A conclusion that ``holds`` anyway, and always will, is left out if it has no term of the
    triple: that a property is the same as itself, say, which each triple with it would conclude
    again.
    """

    def __init__(
        self,
        rules: Iterable[LinearRule],
        tables: Sequence[LinearTable] = (),
        holds: Callable[[Triple], object] = lambda _: False,
    ) -> None:
        self._holds = holds
        self.rules = tuple(rules)
        self.tables = tuple(tables)
        self._rules: KindIndex[LinearRule] = KindIndex()
        # The terms that may decide whether a rule applies: those in a premise or a condition, and
        # those in heads, which conditions may compare.
        self._constants: dict[Term, None] = {}
        self._flows = _Flows()
        for rule in self.rules:
            premise = rule.premise
            self._rules.add(written(premise), rule)
            self._flows.add(rule)
            for each in (premise, *rule.head):
                for part in each.parts:
                    if isinstance(part, IRI | Literal):
                        self._constants[part] = None
            for condition in rule.conditions:
                found = (each for each in nodes(condition) if isinstance(each, IRI | Literal))
                self._constants.update(dict.fromkeys(found))
        self._tables: dict[IRI, list[LinearTable]] = {}
        for table in self.tables:
            self._tables.setdefault(table.predicate, []).append(table)
            self._flows.add_table(table)
            for property in (table.predicate, *(head.predicate for head in table.heads)):
                assert property is not None
                self._constants[property] = None
        # By shape; and by property, where only the object's kind or the object itself matters.
        self._made: dict[_Shape, _Make] = {}
        # The conclusions by one step of each sample: those of a class are met again below it.
        self._after = cache(lambda triple: [*self._stepped(triple)])
        self._by_class: dict[IRI, dict[type, _Make]] = {}
        self._by_value: dict[IRI, dict[Term, _Make]] = {}

    def conclusions(self, *triples: Triple) -> list[Triple]:
        """The other triples that follow from each of these, except those that hold anyway.

        The same triple may occur twice, but as often at each call.
        """
        found: list[Triple] = []
        classes, values = self._by_class, self._by_value
        for triple in triples:
            subject, predicate, object_ = triple
            if (by_class := classes.get(predicate)) is not None:
                make = by_class.get(object_.__class__)
            else:
                make = values.get(predicate, {}).get(object_)
            if make is None:
                make = self._met(triple)
            if not isinstance(make, list):
                found += make(subject, predicate, object_)
            else:
                for property, value in make:
                    found.append((subject, property, value))
        return found

    def steps(self) -> Iterator[tuple[TriplePattern, tuple[TriplePattern, ...]]]:
        """The premise and conclusions of each rule."""
        for rule in self.rules:
            yield rule.premise, rule.head

    def kinds(self, kind: TriplesRead) -> frozenset[TriplesRead]:
        """A kind, and the kinds of all triples that may follow from triples of it."""
        found = {kind}
        ahead = [kind]
        while ahead:
            for new in self._kinds_after(ahead.pop()):
                if not any(each in found for each in _covering(new)):
                    found.add(new)
                    ahead.append(new)
        return frozenset(found)

    def _kinds_after(self, kind: TriplesRead) -> Iterator[TriplesRead]:
        """The kinds of conclusions by one step."""
        for rule in self._rules.meeting(kind):
            for head in rule.head:
                yield _made(kind, rule.premise, head)
        for property, tables in self._tables.items():
            if kind.predicate is None or kind.predicate == property:
                for table in tables:
                    if kind.object is None:
                        yield from table.heads
                    else:
                        yield from (TriplesRead(p, o) for p, o in table.said(kind.object))

    def _is_constant(self, term: Term) -> bool:
        return term in self._constants or any(table.names(term) for table in self.tables)

    def _met(self, triple: Triple) -> _Make:
        subject, predicate, object_ = triple
        known = predicate in self._constants
        needs = self._flows.needs(predicate if known else None)
        sample: Subject = _BLANK_SUBJECT if isinstance(subject, BlankNode) else _SUBJECT
        value: Term = _OBJECTS[object_.__class__]
        if needs.subject:
            if self._is_constant(subject):
                sample = subject
            if subject == object_:
                value = sample
        is_value = needs.object and self._is_constant(object_)
        if is_value:
            value = object_
        shape = _Shape(predicate if known else _PROPERTY, sample, value)
        make = self._made.get(shape)
        if make is None:
            make = self._made[shape] = self._composed(shape)
        if needs.subject:
            return make
        if not needs.object and (known or len(self._by_class) < _REMEMBERED):
            self._by_class.setdefault(predicate, {})[object_.__class__] = make
        elif is_value and known:
            self._by_value.setdefault(predicate, {})[object_] = make
        return make

    def _composed(self, shape: _Shape) -> _Make:
        """Make the function of a shape by forward chaining over the sample."""
        first: Triple = (shape.subject, shape.predicate, shape.object)
        places: dict[Term, str] = {}
        for place, term in (("o", first[2]), ("s", first[0]), ("p", first[1])):
            if term in _SAMPLES:
                places[term] = place
        found = {first: None}
        ahead = [first]
        while ahead:
            for new in self._after(ahead.pop()):
                if new not in found:
                    found[new] = None
                    ahead.append(new)
        del found[first]
        return _making([each for each in found if not self._holds(each)], places)

    def _stepped(self, triple: Triple) -> Iterator[Triple]:
        """The conclusions by one step."""
        subject, predicate, object_ = triple
        for rule in self._rules.meeting(TriplesRead(predicate, object_)):
            yield from _applied(rule, triple)
        for table in self._tables.get(predicate, ()):
            yield from ((subject, p, o) for p, o in table.said(object_))


def _making(conclusions: Sequence[Triple], places: Mapping[Term, str]) -> _Make:
    """The conclusions by a triple's parts; ``places`` are those of the terms of the sample."""
    if all(places.get(s) == "s" and p not in places and o not in places for s, p, o in conclusions):
        # As of most classes: a text for each would take longer to write than it saves.
        return [(p, o) for _, p, o in conclusions]
    constants: dict[Term, str] = {}
    cells = []
    for triple in conclusions:
        for term in triple:
            if term not in places and term not in constants:
                constants[term] = f"k{len(constants)}"
        cells.append("(" + ",".join([places.get(t) or constants[t] for t in triple]) + ")")
    text = f"lambda {', '.join(constants.values())}: lambda s, p, o: [{', '.join(cells)}]"
    return compiled(text)(*constants)  # type: ignore[no-any-return]


@frozen
class _Needs:
    """The ends of a triple that decide what follows from it, beside the kind of its object."""

    subject: bool
    object: bool


_Flow: TypeAlias = tuple[IRI | None, str, str]
"""A property (None: that of the premise), and the end of the premise at each end: s, o, -."""


class _Flows:
    """The places that the ends of a premise reach by the rules, whatever the constants are."""

    def __init__(self) -> None:
        # By property of the premise (None: any): what its rules test, where its ends go.
        self._tests: dict[IRI | None, set[str]] = {}
        self._moves: dict[IRI | None, dict[_Flow, None]] = {}
        self._needs: dict[IRI | None, _Needs] = {}

    def add(self, rule: LinearRule) -> None:
        premise = rule.premise
        of = premise.predicate if isinstance(premise.predicate, IRI) else None
        tests, moves = self._tests.setdefault(of, set()), self._moves.setdefault(of, {})
        if not _is_open(premise.subject):
            tests.add("s")
        if not _is_open(premise.object):
            tests.add("o")
        if rule.conditions or premise.subject == premise.object:
            tests.update("so")
        for head in rule.head:
            predicate = head.predicate
            if isinstance(predicate, Variable) and predicate != premise.predicate:
                # An end becomes a property, so its value decides.
                tests.update("so")
            to = predicate if isinstance(predicate, IRI) else None
            moves[to, _end(head.subject, premise), _end(head.object, premise)] = None

    def add_table(self, table: LinearTable) -> None:
        self._tests.setdefault(table.predicate, set()).add("o")
        moves = self._moves.setdefault(table.predicate, {})
        for head in table.heads:
            moves[head.predicate, "s", "-"] = None

    def needs(self, predicate: IRI | None) -> _Needs:
        """The needs of triples with a property; None: one that no rule names."""
        found = self._needs.get(predicate)
        if found is None:
            found = self._needs[predicate] = self._walked(predicate)
        return found

    def _walked(self, predicate: IRI | None) -> _Needs:
        first: _Flow = (predicate, "s", "o")
        seen, ahead = {first}, [first]
        needed: set[str] = set()
        while ahead:
            at, subject, object_ = ahead.pop()
            ends = {"s": subject, "o": object_, "-": "-"}
            for of in {at, None}:
                needed |= {ends[each] for each in self._tests.get(of, ())}
                for to, one, other in self._moves.get(of, ()):
                    flow = (at if to is None else to, ends[one], ends[other])
                    if flow not in seen:
                        seen.add(flow)
                        ahead.append(flow)
        return _Needs("s" in needed, "o" in needed)


def _end(part: PatternTerm, premise: TriplePattern) -> str:
    """The end of the premise that a part of a head is: s, o, or - for neither."""
    if not _is_open(part):
        return "-"
    if part == premise.subject:
        return "s"
    return "o" if part == premise.object else "-"


def _applied(rule: LinearRule, triple: Triple) -> list[Triple]:
    """The conclusions of a rule, by one step, from a triple with its property and object."""
    premise = rule.premise
    subject, predicate, object_ = premise.parts
    if not _is_open(subject) and subject != triple[0]:
        return []
    if subject == object_ and triple[0] != triple[2]:
        return []
    if rule.conditions:
        parts = zip((subject, predicate, object_), triple, strict=True)
        named = {part.name: term for part, term in parts if isinstance(part, Variable)}
        places = {name: place for place, name in enumerate(named)}
        row = tuple(named.values())
        if not all(test_of(each, places)(row) for each in rule.conditions):
            return []

    def told(part: PatternTerm | Path) -> object:
        if part is subject:
            return triple[0]
        if not isinstance(part, Variable):
            return meant(part) if isinstance(part, IRI | Literal) else part
        return triple[0 if part == subject else 2 if part == object_ else 1]

    found: list[Triple] = []
    for head in rule.head:
        s, p, o = told(head.subject), told(head.predicate), told(head.object)
        if not isinstance(s, Literal) and isinstance(p, IRI):
            found.append((s, p, o))  # type: ignore[arg-type]
    return found


def _made(kind: TriplesRead, premise: TriplePattern, head: TriplePattern) -> TriplesRead:
    """The kind of the conclusions of a rule from triples of a kind."""
    own = written(head)
    predicate, object_ = own.predicate, own.object
    if predicate is None and head.predicate == premise.predicate:
        predicate = kind.predicate
    if object_ is None:
        if head.object == premise.object:
            object_ = kind.object
        elif head.object == premise.predicate:
            object_ = kind.predicate
    return TriplesRead(predicate, object_)


def _covering(kind: TriplesRead) -> tuple[TriplesRead, ...]:
    """A kind, and the more general ones."""
    return (
        kind,
        TriplesRead(kind.predicate, None),
        TriplesRead(None, kind.object),
        TriplesRead(None, None),
    )
