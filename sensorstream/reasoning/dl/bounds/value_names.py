"""Values as parts of clauses: each has a name, and datatype properties link to the names.

A literal cannot be the subject of a triple, and two literals may be one value. The data ranges of a
value are given with its literal (:meth:`ValueNames.facts_of`).

The upper bound also has names for values that axioms only say exist (:func:`stand_ins`). In a model
such a name is some value of its range. If there is a *quiet* cell, of many values for which no
condition of the axioms holds that does not hold in all of the range, it is one of these that no
other name has. If not, it may be any value of the range: it meets every condition that any of them
meets, and may be each value that the axioms mention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, TypeAlias
from urllib.parse import quote

from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import (
    DIFFERENT_VALUE,
    SAME_VALUE,
    VALUES,
    BoundClause,
    ClauseHead,
    PropertyRole,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import (
    EVERYTHING,
    Cell,
    DataRange,
    cells,
    known_value,
    without,
)
from sensorstream.reasoning.dl.datatypes import Datatypes, Value, value_of
from sensorstream.sparql.algebra import TriplePattern, Variable

WRITTEN: Final = IRI(f"{VALUES}written")
"""Links the name of a value to literals of it."""
_TOLD: Final = IRI(f"{VALUES}told")
"""Links the name of a value to the literal that answers show."""
_LITERAL: Final = IRI(f"{VALUES}literal")
_LINK: Final = f"{VALUES}of:"
_REASON: Final = "values"
_Checks: TypeAlias = tuple[tuple[IRI, ...], tuple[tuple[DataRange, IRI], ...]]
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")


class ValueNames:
    """The values, data ranges and datatype properties of some axioms, as clauses need them."""

    def __init__(self, axioms: Axioms) -> None:
        """Read the datatype properties.

        Raises:
            OntologyError: as :class:`Datatypes`.
        """
        self.properties = frozenset(
            each for each in axioms.typed(f"{OWL}DatatypeProperty") if isinstance(each, IRI)
        )
        self.asked: dict[IRI, dict[DataRange, None]] = {}
        """The ranges that conditions ask about, for each family of properties."""
        self.made: dict[IRI, dict[DataRange, None]] = {}
        """The ranges that a value is to exist in, for each family of properties."""
        self.compared = False
        """Whether values may have to be the same."""
        self._datatypes = Datatypes(axioms.triples)
        self._families = _families(axioms, self.properties)
        self._links: dict[IRI, None] = {}
        self._classes: dict[DataRange, int] = {}
        self._known: dict[Value, Literal] = {}
        self._above: dict[tuple[str, IRI, IRI], None] = {}
        self._domains: dict[tuple[str, IRI, IRI], None] = {}
        self._filled: set[IRI] = set()
        self._checks: dict[str, _Checks] = {}

    def role(self, name: IRI) -> PropertyRole:
        """The link to values for a datatype property."""
        self._links[name] = None
        return PropertyRole(IRI(f"{_LINK}{name}"))

    def include(self, name: str, one: IRI, other: IRI) -> None:
        """Make every value of the property ``one`` a value of ``other``."""
        self._above[name, one, other] = None

    def domain(self, name: str, one: IRI, of_class: IRI) -> None:
        """Put everyone with a value of the property in the class."""
        self._domains[name, one, of_class] = None

    def known(self, role: PropertyRole, literal: Literal) -> IRI:
        """The name of a value that axioms give someone.

        Raises:
            Untreated: the literal is not valid.
        """
        self._filled.add(self.family(role))
        value = known_value(literal)
        self._known.setdefault(value, literal)
        return value_name(value)

    def within(self, role: PropertyRole, asked: DataRange) -> IRI:
        """The class of the values in a range, for a condition on the role's values."""
        self.asked.setdefault(self.family(role), {})[asked] = None
        return self.class_of(asked)

    def some(self, role: PropertyRole, made: DataRange) -> tuple[IRI, IRI]:
        """The class of the values in a range, and that of those that are only said to exist."""
        family = self.family(role)
        self._filled.add(family)
        self.made.setdefault(family, {})[made] = None
        return self.class_of(made), self.made_class(family, made)

    def same(self, one: Variable, other: Variable) -> TriplePattern:
        """The triple that two values are one."""
        self.compared = True
        return TriplePattern(one, SAME_VALUE, other)

    def different(self, one: Variable, other: Variable) -> tuple[TriplePattern, ...]:
        """The condition that two values with different names are not one."""
        self.compared = True
        return member(one, _LITERAL), member(other, _LITERAL)

    def family(self, role: PropertyRole) -> IRI:
        """The common name of all datatype properties that share values with the role's."""
        name = property_of(role.name)
        return self._families.get(name, name)

    def class_of(self, asked: DataRange) -> IRI:
        """The class of the values in a range."""
        return IRI(f"{VALUES}in-{self._number(asked)}")

    def made_class(self, family: IRI, made: DataRange) -> IRI:
        """The class of the values in a range that are only said to exist."""
        return IRI(f"{VALUES}made-{self._number(made)}:{family}")

    def links(self, family: IRI) -> list[IRI]:
        """The links to values of the properties in a family."""
        return [
            IRI(f"{_LINK}{name}")
            for name in self._links
            if self._families.get(name, name) == family
        ]

    def connect(self) -> None:
        """Link the properties between those that are linked; call it before :meth:`clauses`."""
        used = {self._families.get(each, each) for each in self._links}
        for _, one, other in self._above:
            if self._families[one] in used:
                self._links |= {one: None, other: None}

    def clauses(self) -> Iterator[BoundClause]:
        """The clauses about the values of assertions and axioms; call it last."""
        for each in self._links:
            link = self.role(each).name
            given = (TriplePattern(_X, each, _Y), TriplePattern(_Z, WRITTEN, _Y))
            yield implies(_REASON, given, TriplePattern(_X, link, _Z))
            if self._families.get(each, each) in self._filled:
                told = (TriplePattern(_X, link, _Z), TriplePattern(_Z, _TOLD, _Y))
                yield implies(_REASON, told, TriplePattern(_X, each, _Y))
        for name, one, other in self._above:
            yield implies(name, (TriplePattern(_X, one, _Y),), TriplePattern(_X, other, _Y))
            if self._is_filled(one):
                ends = (TriplePattern(_X, self.role(each).name, _Y) for each in (one, other))
                yield implies(name, (next(ends),), next(ends))
        for name, one, of_class in self._domains:
            yield implies(name, (TriplePattern(_X, one, _Y),), member(_X, of_class))
            if self._is_filled(one):
                link = self.role(one).name
                yield implies(name, (TriplePattern(_X, link, _Y),), member(_X, of_class))
        if self.compared:
            both = (TriplePattern(_X, SAME_VALUE, _Y), *self.different(_X, _Y))
            yield BoundClause("two values are not one", both, (), ((_X, _Y),))
        for value, literal in self._known.items():
            given_ones = [*self.facts_of(literal), (value_name(value), _TOLD, literal)]
            for s, p, o in given_ones:
                assert isinstance(s, IRI)
                assert isinstance(o, IRI | Literal)
                yield implies(_REASON, (), TriplePattern(s, p, o))

    def facts_of(self, literal: Literal) -> tuple[Triple, ...]:
        """The facts to give about a literal: the name of its value, and the ranges it is in.

        Raises:
            TermError: the text is not in the datatype's lexical space.
        """
        if not self._links or not self._datatypes.is_told(literal.datatype):
            return ()
        value = value_of(literal)
        name = value_name(value)
        if value.space not in self._checks:
            self._checks[value.space] = self._checked(value.space)
        always, sometimes = self._checks[value.space]
        facts: list[Triple] = [(name, WRITTEN, literal)]
        facts += [(name, rdf.TYPE, each) for each in always]
        facts += [(name, rdf.TYPE, each) for asked, each in sometimes if asked.holds(value)]
        return tuple(facts)

    def _checked(self, space: str) -> _Checks:
        """The classes of all values of a primitive datatype, and those of some."""
        checks = [(asked, self.class_of(asked)) for asked in self._classes]
        if self.compared:
            checks.append((EVERYTHING, _LITERAL))
            made = {each: None for ranges in self.made.values() for each in ranges}
            checks += [(without(each), outside(self.class_of(each))) for each in made]
        always = tuple(each for asked, each in checks if asked.of_space(space))
        return always, tuple(check for check in checks if check[0].of_space(space) is None)

    def tell(self, value: Value, family: IRI, literal: Literal) -> IRI:
        """The name of a value that someone may have."""
        self._filled.add(family)
        self._known.setdefault(value, literal)
        return value_name(value)

    def _is_filled(self, name: IRI) -> bool:
        return name in self._links and self._families.get(name, name) in self._filled

    def _number(self, asked: DataRange) -> int:
        return self._classes.setdefault(asked, len(self._classes))


def property_of(link: IRI) -> IRI:
    """The datatype property of a link to values; any other name unchanged."""
    return IRI(link.removeprefix(_LINK))


def outside(of_class: IRI) -> IRI:
    """The class of the values of literals that are not in a range."""
    return IRI(f"{of_class}-not")


def value_name(value: Value) -> IRI:
    """The name of a value."""
    content = value.content
    if isinstance(content, tuple):
        content = " ".join(map(str, content))
    return IRI(f"{VALUES}is:{quote(str(content), safe='')}:{value.space}")


def _families(axioms: Axioms, properties: frozenset[IRI]) -> dict[IRI, IRI]:
    """Map each datatype property to one of those that inclusions connect it with."""
    found = {each: each for each in properties}

    def first(each: IRI) -> IRI:
        while found[each] != each:
            each = found[each]
        return each

    for s, p, o in axioms.triples:
        if p in (rdfs.SUBPROPERTY_OF, owl.EQUIVALENT_PROPERTY) and {s, o} <= properties:
            assert isinstance(s, IRI)
            assert isinstance(o, IRI)
            found[first(s)] = first(o)
    return {each: first(each) for each in properties}


_FEW: Final = IRI(f"{VALUES}few")
"""The class of names that may have to be the same value as others."""
_MAY_BE: Final = IRI(f"{VALUES}may-be")
_MOST: Final = 6
"""Ranges that values of one property, and those above and below it, are said to exist in."""
_OF_EXISTING: Final = "values that exist"


def stand_ins(
    values: ValueNames, mentioned: dict[Value, Literal]
) -> tuple[list[BoundClause], list[str], list[TriplePattern]]:
    """Clauses of the upper bound, the axioms left out, and patterns: a left out axiom may concern
    ``?x`` if it has one of these. ``mentioned`` are the axioms' values.
    """
    found: list[BoundClause] = []
    left_out: list[str] = []
    concerned: list[TriplePattern] = []
    for family, made in values.made.items():
        if len(made) > _MOST and values.compared:
            left_out.append(f"{family.n3}: values in {len(made)} data ranges")
            concerned += [TriplePattern(_X, link, _Y) for link in values.links(family)]
            continue
        found += _of_family(values, family, mentioned)
    if found and values.compared:
        found += _equal(values, found)
    for one, other in ((_X, _Y), (_Y, _X)):
        body = (member(_X, _FEW), TriplePattern(one, DIFFERENT_VALUE, other))
        found.append(BoundClause(_OF_EXISTING, body, ()))
    return found, left_out, concerned


def loosened(clause: BoundClause) -> Iterator[BoundClause]:
    """The clause for names that may be the same value, if it compares values."""
    ends = Counter(
        triple.object
        for triple in clause.body
        if str(triple.predicate).startswith(VALUES) and isinstance(triple.object, Variable)
    )
    for end, times in ends.items():
        for few in range(times if times > 1 else 0):
            body, place = [], 0
            for triple in clause.body:
                if triple.object == end:
                    triple = TriplePattern(triple.subject, triple.predicate, _numbered(end, place))
                    place += 1
                body.append(triple)
            condition = member(_numbered(end, few), _FEW)
            yield BoundClause(clause.name, (*body, condition), clause.heads, clause.apart)


def _numbered(variable: object, place: int) -> Variable:
    assert isinstance(variable, Variable)
    return Variable(f"{variable.name}-{place}")


def _of_family(
    values: ValueNames, family: IRI, mentioned: dict[Value, Literal]
) -> Iterator[BoundClause]:
    made = tuple(values.made[family])
    asked = tuple(values.asked.get(family, ()))
    parts = cells((*made, *asked))
    empty: list[set[DataRange]] = []
    for size in range(1, (len(made) if values.compared else 1) + 1):
        for ranges in combinations(made, size):
            if any(each <= set(ranges) for each in empty):
                continue
            room = [cell for cell in parts if all(each.holds(cell.example) for each in ranges)]
            body = tuple(member(_Y, values.made_class(family, each)) for each in ranges)
            if not room:
                empty.append(set(ranges))
                yield BoundClause(_OF_EXISTING, body, ())
                continue
            sure = [each for each in asked if all(each.holds(cell.example) for cell in room)]
            heads = [member(_Y, values.class_of(each)) for each in sure if each not in ranges]
            if not _quiet(room, [each for each in asked if each not in sure]):
                heads += _loose(values, family, asked, room, mentioned)
            for head in heads:
                yield BoundClause(_OF_EXISTING, body, (ClauseHead((head,)),))
    for link in values.links(family):
        body = (TriplePattern(_X, link, _Y), TriplePattern(_Y, _MAY_BE, _Z))
        yield BoundClause(_OF_EXISTING, body, (ClauseHead((TriplePattern(_X, link, _Z),)),))


def _quiet(room: Iterable[Cell], conditions: Iterable[DataRange]) -> bool:
    conditions = tuple(conditions)
    return any(
        cell.many and not any(each.holds(cell.example) for each in conditions) for cell in room
    )


def _loose(
    values: ValueNames,
    family: IRI,
    asked: Iterable[DataRange],
    room: list[Cell],
    mentioned: dict[Value, Literal],
) -> Iterator[TriplePattern]:
    yield member(_Y, _FEW)
    for each in asked:
        if any(each.holds(cell.example) for cell in room):
            yield member(_Y, values.class_of(each))
    within = {cell.example for cell in room}
    for value, literal in mentioned.items():
        if value in within:
            yield TriplePattern(_Y, _MAY_BE, values.tell(value, family, literal))


def _equal(values: ValueNames, found: list[BoundClause]) -> Iterator[BoundClause]:
    """Clauses that give names of one value all facts about each."""
    same = TriplePattern(_Y, SAME_VALUE, _Z)
    yield implies(_OF_EXISTING, (same,), TriplePattern(_Z, SAME_VALUE, _Y))
    yield implies(
        _OF_EXISTING, (TriplePattern(_X, SAME_VALUE, _Y), same), TriplePattern(_X, SAME_VALUE, _Z)
    )
    yield implies(
        _OF_EXISTING, (TriplePattern(_Y, _MAY_BE, _X), same), TriplePattern(_Z, _MAY_BE, _X)
    )
    yield BoundClause(_OF_EXISTING, (same, TriplePattern(_Y, DIFFERENT_VALUE, _Z)), ())
    classes = {_FEW: None}
    for family, made in values.made.items():
        for each in values.asked.get(family, ()):
            classes[values.class_of(each)] = None
        for each in made:
            classes[values.class_of(each)] = None
            classes[values.made_class(family, each)] = None
            body = (
                member(_Y, values.made_class(family, each)),
                member(_Y, outside(values.class_of(each))),
            )
            yield BoundClause(_OF_EXISTING, body, ())
        for link in values.links(family):
            yield implies(
                _OF_EXISTING, (TriplePattern(_X, link, _Y), same), TriplePattern(_X, link, _Z)
            )
    for of_class in classes:
        yield implies(_OF_EXISTING, (member(_Y, of_class), same), member(_Z, of_class))
