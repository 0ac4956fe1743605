"""Values that axioms only say exist: what the upper bound derives about their names.

In a model such a name is some value of its range. If there is a *quiet* cell, of many values for
which no condition of the axioms holds that does not hold in all of the range, it is one of these
that no other name has. If not, it may be any value of the range: it meets every condition that any
of them meets, and may be each value that the axioms mention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final

from sensorstream.model.terms import IRI, Literal
from sensorstream.reasoning.dl.bounds.clauses import (
    DIFFERENT_VALUE,
    SAME_VALUE,
    VALUES,
    Alternative,
    Clause,
    implies,
    member,
)
from sensorstream.reasoning.dl.bounds.data_ranges import DataRange
from sensorstream.reasoning.dl.bounds.literal_values import Value
from sensorstream.reasoning.dl.bounds.value_cells import Cell, cells
from sensorstream.reasoning.dl.bounds.values import Values, outside
from sensorstream.sparql.algebra import TriplePattern, Variable

_FEW: Final = IRI(f"{VALUES}few")
"""The class of names that may have to be the same value as others."""
_MAY_BE: Final = IRI(f"{VALUES}may-be")
_MOST: Final = 6
"""Ranges that values of one property, and those above and below it, are said to exist in."""
_REASON: Final = "values that exist"
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")


def stand_ins(
    values: Values, mentioned: dict[Value, Literal]
) -> tuple[list[Clause], list[str], list[TriplePattern]]:
    """Clauses of the upper bound, what is left out, and whom that may concern.

    ``mentioned`` are the axioms' values. What is left out concerns ``?x`` if it has one of the
    patterns returned.
    """
    found: list[Clause] = []
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
        found.append(Clause(_REASON, body, ()))
    return found, left_out, concerned


def loosened(clause: Clause) -> Iterator[Clause]:
    """The clause for names that may be the same value, where it compares values."""
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
            yield Clause(clause.name, (*body, condition), clause.heads, clause.apart)


def _numbered(variable: object, place: int) -> Variable:
    assert isinstance(variable, Variable)
    return Variable(f"{variable.name}-{place}")


def _of_family(values: Values, family: IRI, mentioned: dict[Value, Literal]) -> Iterator[Clause]:
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
                yield Clause(_REASON, body, ())
                continue
            sure = [each for each in asked if all(each.holds(cell.example) for cell in room)]
            heads = [member(_Y, values.class_of(each)) for each in sure if each not in ranges]
            if not _quiet(room, [each for each in asked if each not in sure]):
                heads += _loose(values, family, asked, room, mentioned)
            for head in heads:
                yield Clause(_REASON, body, (Alternative((head,)),))
    for link in values.links(family):
        body = (TriplePattern(_X, link, _Y), TriplePattern(_Y, _MAY_BE, _Z))
        yield Clause(_REASON, body, (Alternative((TriplePattern(_X, link, _Z),)),))


def _quiet(room: Iterable[Cell], conditions: Iterable[DataRange]) -> bool:
    conditions = tuple(conditions)
    return any(
        cell.many and not any(each.holds(cell.example) for each in conditions) for cell in room
    )


def _loose(
    values: Values,
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


def _equal(values: Values, found: list[Clause]) -> Iterator[Clause]:
    """Names of one value have all that is said of each."""
    same = TriplePattern(_Y, SAME_VALUE, _Z)
    yield implies(_REASON, (same,), TriplePattern(_Z, SAME_VALUE, _Y))
    yield implies(
        _REASON, (TriplePattern(_X, SAME_VALUE, _Y), same), TriplePattern(_X, SAME_VALUE, _Z)
    )
    yield implies(_REASON, (TriplePattern(_Y, _MAY_BE, _X), same), TriplePattern(_Z, _MAY_BE, _X))
    yield Clause(_REASON, (same, TriplePattern(_Y, DIFFERENT_VALUE, _Z)), ())
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
            yield Clause(_REASON, body, ())
        for link in values.links(family):
            yield implies(_REASON, (TriplePattern(_X, link, _Y), same), TriplePattern(_X, link, _Z))
    for of_class in classes:
        yield implies(_REASON, (member(_Y, of_class), same), member(_Z, of_class))
