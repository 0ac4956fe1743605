"""Values, data ranges as sets of values, and the cells into which ranges divide all values.

Two values are equal here if and only if their literals have one value. Whether a value is in a
range is decided for each. Each cell has a known value by which that is decided.

Source: OWL 2 Structural Specification, sections 4 and 7; XSD 1.1 part 2, sections 2.2 (identity)
and 3.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

from sensorstream.errors import TermError
from sensorstream.model import owl, xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.regex import xpath_regex
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import (
    DURATIONS,
    INTEGER_BOUNDS,
    NUMERIC_TYPES,
    RDF_LANG_STRING,
    XSD,
    is_among,
    primitive_of,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import Untreated
from sensorstream.reasoning.dl.datatypes import NOT_A_NUMBER, REAL, Value, place, value_of

_UNION_OF: Final = f"{OWL}unionOf"
_COMPLEMENT: Final = f"{OWL}datatypeComplementOf"
_WITH: Final = f"{OWL}withRestrictions"
_PLAIN: Final = f"{RDF}PlainLiteral"
_EVERYTHING: Final = frozenset(
    {f"{RDFS}Literal", *(f"{XSD}{name}" for name in ("anyType", "anySimpleType", "anyAtomicType"))}
)
_UNDECIDED: Final = frozenset({f"{OWL}real", f"{OWL}rational"})
_DEPTH: Final = 50
_FACETS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    f"{XSD}minInclusive": operator.ge,
    f"{XSD}minExclusive": operator.gt,
    f"{XSD}maxInclusive": operator.le,
    f"{XSD}maxExclusive": operator.lt,
}
_LENGTHS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    f"{XSD}length": operator.eq,
    f"{XSD}minLength": operator.ge,
    f"{XSD}maxLength": operator.le,
}
_PATTERN: Final = f"{XSD}pattern"
_OTHERWISE: Final = re.compile(r"\$|(?<!\[)\^|\\[wWsSicIC]|\]\]")


class DataRange:
    """A set of values."""

    __slots__ = ()

    def holds(self, value: Value) -> bool:
        """Whether the value is in the range.

        Raises:
            TermError: a text is too long for a pattern.
        """
        raise NotImplementedError

    def of_space(self, space: str) -> bool | None:
        """Whether all values of a primitive datatype are in the range, or none; None: some."""
        raise NotImplementedError

    def own_marks(self) -> Iterable[Value]:
        """The values at which membership may change, without those of inner ranges."""
        return ()

    def inside(self) -> tuple[DataRange, ...]:
        """The ranges of which it consists."""
        return ()

    def parts(self) -> Iterator[DataRange]:
        """The range and all those of which it consists."""
        yield self
        for each in self.inside():
            yield from each.parts()


@frozen
class Datatype(DataRange):
    """The values of a datatype."""

    name: str

    def holds(self, value: Value) -> bool:
        if self.name in _EVERYTHING:
            return True
        if self.name == _PLAIN:
            return value.space in (xsd.STRING, RDF_LANG_STRING)
        return is_among(value.content, value.space, self.name)

    def of_space(self, space: str) -> bool | None:
        if self.name in _EVERYTHING or self.name == space:
            return True
        if self.name == _PLAIN:
            return space in (xsd.STRING, RDF_LANG_STRING)
        return None if primitive_of(self.name) == space else False

    def own_marks(self) -> Iterable[Value]:
        bounds = INTEGER_BOUNDS.get(self.name, ())
        return [value_of(Literal(str(each), xsd.DECIMAL)) for each in bounds if each is not None]


@frozen
class Facet(DataRange):
    """The values of an ordered primitive datatype on one side of a limit."""

    name: str
    limit: Value

    def holds(self, value: Value) -> bool:
        # Neither zero is less than the other.
        limit = self.limit.content
        if value.space != self.limit.space or NOT_A_NUMBER in (value.content, limit):
            return False
        if limit in (0, -1) and self.limit.space != REAL:
            limit = -1 if self.name.endswith(("minInclusive", "maxExclusive")) else 0
        return _FACETS[self.name](value.content, limit)

    def of_space(self, space: str) -> bool | None:
        return None if space == self.limit.space else False

    def own_marks(self) -> Iterable[Value]:
        return (self.limit,)


@frozen
class TextFacet(DataRange):
    """The texts of a length, or those that a pattern matches; they have no order."""

    name: str
    limit: int | str

    def holds(self, value: Value) -> bool:
        if value.space != xsd.STRING:
            return False
        if isinstance(self.limit, str):
            return xpath_regex(self.limit).fullmatch(str(value.content)) is not None
        return _LENGTHS[self.name](len(str(value.content)), self.limit)

    def of_space(self, space: str) -> bool | None:
        return None if space == xsd.STRING else False


@frozen
class Listed(DataRange):
    """Some values."""

    values: tuple[Value, ...]

    def holds(self, value: Value) -> bool:
        return value in self.values

    def of_space(self, space: str) -> bool | None:
        return None if any(value.space == space for value in self.values) else False

    def own_marks(self) -> Iterable[Value]:
        return self.values


@frozen
class Complement(DataRange):
    """The values outside a range."""

    inner: DataRange

    def holds(self, value: Value) -> bool:
        return not self.inner.holds(value)

    def of_space(self, space: str) -> bool | None:
        found = self.inner.of_space(space)
        return None if found is None else not found

    def inside(self) -> tuple[DataRange, ...]:
        return (self.inner,)


@frozen
class Combined(DataRange):
    """The values of all ranges, or (``some``) of at least one."""

    among: tuple[DataRange, ...]
    some: bool

    def holds(self, value: Value) -> bool:
        found = (part.holds(value) for part in self.among)
        return any(found) if self.some else all(found)

    def of_space(self, space: str) -> bool | None:
        found = [part.of_space(space) for part in self.among]
        if self.some in found:
            return self.some
        return None if None in found else not self.some

    def inside(self) -> tuple[DataRange, ...]:
        return self.among


EVERYTHING: Final = Datatype(f"{RDFS}Literal")


def without(inner: DataRange) -> DataRange:
    """The values outside a range."""
    return inner.inner if isinstance(inner, Complement) else Complement(inner)


def read_range(axioms: Axioms, node: Term, depth: int = 0) -> DataRange:
    """A data range of an ontology; for a datatype with a definition it is the definition.

    Raises:
        Untreated: it cannot be decided here.
    """
    if depth > _DEPTH:
        raise Untreated("a data range that is nested too deeply")
    about = {str(p): o for _, p, o in axioms.about(node)}

    def parts(word: str) -> tuple[DataRange, ...]:
        return tuple(read_range(axioms, each, depth + 1) for each in axioms.members(about[word]))

    if owl.ONE_OF in about:
        return _listed(axioms.members(about[owl.ONE_OF]))
    if owl.ON_DATATYPE in about:
        return _restricted(axioms, about, depth)
    if _UNION_OF in about:
        return Combined(parts(_UNION_OF), some=True)
    if owl.INTERSECTION_OF in about:
        return Combined(parts(owl.INTERSECTION_OF), some=False)
    for word in (_COMPLEMENT, owl.COMPLEMENT_OF):
        if word in about:
            return without(read_range(axioms, about[word], depth + 1))
    if owl.EQUIVALENT_CLASS in about:
        return read_range(axioms, about[owl.EQUIVALENT_CLASS], depth + 1)
    if isinstance(node, Literal) or node.startswith("_:") or node in _UNDECIDED:
        raise Untreated(f"the data range {node.n3}")
    return EVERYTHING if node in _EVERYTHING else Datatype(str(node))


def _listed(members: list[Term]) -> Listed:
    found: dict[Value, None] = {}
    for each in members:
        if not isinstance(each, Literal):
            raise Untreated(f"{each.n3} among values")
        found[known_value(each)] = None
    return Listed(tuple(found))


def known_value(literal: Literal) -> Value:
    """The value of a literal of the axioms.

    Raises:
        Untreated: its text is not valid, or its datatype has no values that are decided here.
    """
    if literal.datatype in (_PLAIN, *_UNDECIDED):
        raise Untreated(f"the value {literal.n3}")
    try:
        return value_of(literal)
    except (TermError, ValueError) as error:
        raise Untreated(str(error)) from None


def _restricted(axioms: Axioms, about: Mapping[str, Term], depth: int) -> DataRange:
    base = read_range(axioms, about[owl.ON_DATATYPE], depth + 1)
    facets: list[DataRange] = [base]
    for member in axioms.members(about[_WITH]) if _WITH in about else ():
        for _, facet, limit in axioms.about(member):
            if (
                (facet in _LENGTHS or facet == _PATTERN)
                and isinstance(base, Datatype)
                and primitive_of(base.name) == xsd.STRING
            ):
                facets.append(_text_facet(facet, limit))
                continue
            if facet not in _FACETS or not isinstance(limit, Literal):
                raise Untreated(f"the facet {facet.n3}")
            known = known_value(limit)
            # The space of values is certain for a named base only.
            if not isinstance(base, Datatype) or base.name not in NUMERIC_TYPES:
                raise Untreated(f"the facet {facet.n3} of {about[owl.ON_DATATYPE].n3}")
            if known.space != primitive_of(base.name):
                raise Untreated(f"the facet {facet.n3} {limit.n3} of {base.name}")
            facets.append(Facet(str(facet), known))
    return Combined(tuple(facets), some=False)


def _text_facet(facet: IRI, limit: Term) -> TextFacet:
    if not isinstance(limit, Literal):
        raise Untreated(f"the facet {facet.n3}")
    if facet != _PATTERN:
        if not limit.lexical.strip().isdecimal():
            raise Untreated(f"the facet {facet.n3} {limit.n3}")
        return TextFacet(str(facet), int(limit.lexical))
    try:
        # Patterns that XML Schema reads differently from XPath, or alone, are left to the reasoner.
        known = _OTHERWISE.search(limit.lexical) is None
        xpath_regex(limit.lexical)
    except TermError as error:
        raise Untreated(f"the facet {facet.n3}: {error.message}") from None
    if not known:
        raise Untreated(f"the facet {facet.n3} {limit.n3}")
    return TextFacet(str(facet), limit.lexical)


_MANY: Final = 2**20
"""More values than a window names or needs at once."""
_TEXTS: Final = ("\tzq-", " zq-", "zq zq-", "1zq-", ":zq-", "z_q-", "zq-")
"""Beginnings of texts, each of other datatypes derived from ``xsd:string``."""
_VARIED: Final = 5
"""Letters by which texts differ, so that they are many."""
_FREE: Final = 16
_LONGEST: Final = 100_000
_TIMES: Final = ((0, None), (0, 0))
_DURATIONS: Final = ((1, 0), (0, 1), (1, 1))
_NAMED: Final = frozenset(
    {REAL, xsd.DOUBLE, xsd.FLOAT, xsd.STRING, xsd.BOOLEAN, xsd.DATE_TIME, xsd.DURATION}
)
_OTHER: Final = "urn:other-datatype"


@frozen
class Cell:
    """Values that are in the same ranges: one of them, and whether there are ``many``."""

    example: Value
    many: bool


def cells(ranges: Iterable[DataRange]) -> list[Cell]:
    """Cells that none of the ranges divides; together they are all values."""
    ranges = tuple(ranges)
    parts = [part for each in ranges for part in each.parts()]
    marks = {mark for part in parts for mark in part.own_marks()}
    found = [*_numbers(marks), *_stored(marks, xsd.DOUBLE), *_stored(marks, xsd.FLOAT)]
    found += [Cell(Value(xsd.BOOLEAN, each), many=False) for each in (True, False)]
    found += [Cell(mark, many=False) for mark in sorted(marks, key=repr) if _is_point(mark)]
    found += _texts(ranges, marks)
    for clock, zone in _TIMES:
        moments = ((clock + number, zone) for number in itertools.count())
        found.append(Cell(_free(xsd.DATE_TIME, moments, marks), many=True))
    found.append(Cell(Value(xsd.DURATION, (0, 0)), many=False))
    for months, seconds in _DURATIONS:
        lengths = ((months * number, seconds * number) for number in itertools.count(1))
        found.append(Cell(_free(xsd.DURATION, lengths, marks), many=True))
    spaces = {part.name for part in parts if isinstance(part, Datatype)}
    spaces |= {mark.space for mark in marks} | {_OTHER, RDF_LANG_STRING, xsd.ANY_URI}
    for space in sorted(spaces - _NAMED - DURATIONS):
        found.append(Cell(_free(space, _texts_of("zq-"), marks), many=True))
    return found


def _texts(ranges: Sequence[DataRange], marks: set[Value]) -> Iterator[Cell]:
    """Cells of texts; where patterns divide them, only some are found, and not how many there are.
    A missing cell makes the upper bound larger: it assumes that a value is in a known cell, or that
    there is no value, which the reasoner then decides.
    """
    parts = (part for each in ranges for part in each.parts())
    limits = [part.limit for part in parts if isinstance(part, TextFacet)]
    if not limits:
        for beginning in _TEXTS:
            yield Cell(_free(xsd.STRING, _texts_of(beginning), marks), many=True)
        return
    measured = [each for each in limits if isinstance(each, int)]
    tried = {max(0, each + more) for each in measured for more in (-1, 0, 1)}
    tried |= {0, _FREE, max(measured, default=0) + _FREE}
    found: dict[tuple[bool, ...], Cell] = {}
    for length in sorted({min(each, _LONGEST) for each in tried}):
        for beginning in _TEXTS:
            text = beginning[:length] + "x" * (length - len(beginning))
            value = Value(xsd.STRING, text)
            if value not in marks:
                sort = tuple(each.holds(value) for each in ranges)
                many = len(measured) == len(limits) and length - len(beginning) >= _VARIED
                if sort not in found or (many and not found[sort].many):
                    found[sort] = Cell(value, many)
    yield from found.values()


def _is_point(mark: Value) -> bool:
    if mark.space == xsd.DURATION:
        return mark.content != (0, 0)
    return mark.space not in (REAL, xsd.DOUBLE, xsd.FLOAT, xsd.BOOLEAN)


def _numbers(marks: set[Value]) -> Iterator[Cell]:
    known = {mark.content for mark in marks if mark.space == REAL}
    points = sorted(each for each in known | {Fraction(0)} if isinstance(each, Fraction))
    for point in points:
        yield Cell(Value(REAL, point), many=False)
    ends: list[Fraction | None] = [None, *points, None]
    for low, high in itertools.pairwise(ends):
        first = floor(low) + 1 if low is not None else None
        last = ceil(high) - 1 if high is not None else None
        if first is None or last is None:
            whole = first if first is not None else last
            yield Cell(Value(REAL, Fraction(whole or 0)), many=True)
        elif first <= last:
            yield Cell(Value(REAL, Fraction(first)), many=last - first >= _MANY)
        yield Cell(Value(REAL, _broken(low, high)), many=True)


def _broken(low: Fraction | None, high: Fraction | None) -> Fraction:
    """A number between two, and not a whole one."""
    if low is None or high is None:
        end = floor(low) + 1 if low is not None else ceil(high or Fraction(0)) - 2
        return Fraction(end) + Fraction(1, 2)
    while (middle := (low + high) / 2).denominator == 1:
        high = middle
    return middle


def _stored(marks: set[Value], kind: str) -> Iterator[Cell]:
    known = {mark.content for mark in marks if mark.space == kind}
    known |= {place(float(each), kind) for each in ("-INF", "-0.0", "0.0", "INF")}
    points = sorted(each for each in known if isinstance(each, int))
    yield Cell(Value(kind, NOT_A_NUMBER), many=False)
    for point in points:
        yield Cell(Value(kind, point), many=False)
    for low, high in itertools.pairwise(points):
        if high - low > 1:
            yield Cell(Value(kind, low + 1), many=high - low > _MANY)


def _texts_of(beginning: str) -> Iterator[str]:
    """An endless series of texts with a beginning."""
    return (f"{beginning}{number}" for number in itertools.count())


def _free(space: str, contents: Iterable[Hashable], marks: set[Value]) -> Value:
    """The first value that is none of the marks."""
    return next(value for each in contents if (value := Value(space, each)) not in marks)
