"""Axioms, values and data ranges in the form that HermiT and Pellet handle correctly.

*Opaque* values, of datatypes outside OWL 2's datatype map (``xsd:date``, durations, times, WKT, …),
become points of time in a ten-year *era* per datatype, before the year -10: so both reasoners
compare them with each other and keep them apart from all other values. No message can have such a
point of time. The datatype becomes the interval of its era, ``xsd:dateTime`` everything after all
eras.

HermiT compares a negative assertion of a value with the other assertions of a document by their
text: if ``4`` is denied it accepts ``"04"``. It compares values in classes as values, so the
individual is put outside the class of those that have the value, which means the same.

Pellet 2.3.1 throws an UnsupportedOperationException on ``xsd:pattern``, and refuses values of a
length that ``xsd:minLength`` and ``xsd:maxLength`` allow: it gets no axiom with such a facet.

Source: OWL 2 Structural Specification, section 4; OWL 2 Direct Semantics, sections 2.2.3 and 2.3.3;
OWL 2 Mapping to RDF Graphs, section 3.2; XSD 1.1 part 2, sections 3.3 and 3.4.
"""

from __future__ import annotations

import binascii
import re
import struct
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from sensorstream.errors import OntologyError, TermError
from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import (
    DATE_TIMES,
    DURATIONS,
    GEO_JSON,
    GEO_WKT,
    NUMERIC_TYPES,
    RDF_LANG_STRING,
    XSD,
    Duration,
    primitive_of,
)
from sensorstream.reasoning.dl.axioms import Axioms

_SOURCE: Final = IRI(f"{OWL}sourceIndividual")
_PROPERTY: Final = IRI(f"{OWL}assertionProperty")
_VALUE: Final = IRI(f"{OWL}targetValue")


def with_values_denied_by_class(triples: Sequence[Triple]) -> list[Triple]:
    """The triples, with each negative assertion of a value as the assertion of a class. Negative
    assertions of links stay, and so do those that lack a part.
    """
    axioms = Axioms(triples)
    replaced: set[Triple] = set()
    made: list[Triple] = []
    for node in axioms.typed(owl.NEGATIVE_ASSERTION):
        match tuple(axioms.value(node, each) for each in (_SOURCE, _PROPERTY, _VALUE)):
            case (IRI() | BlankNode() as one, IRI() as prop, Literal() as value):
                said = ((_SOURCE, one), (_PROPERTY, prop), (_VALUE, value))
                replaced.update((node, p, o) for p, o in said)
                replaced.add((node, rdf.TYPE, owl.NEGATIVE_ASSERTION))
                made.extend(_outside(one, prop, value, len(made)))
    return [*(each for each in triples if each not in replaced), *made] if made else [*triples]


def _outside(one: Subject, prop: IRI, value: Literal, number: int) -> Iterator[Triple]:
    """Triples that an individual does not have a value; ``number`` makes the names of nodes new."""
    others, holders = BlankNode(f"_:without{number}"), BlankNode(f"_:with{number}")
    yield one, rdf.TYPE, others
    yield others, rdf.TYPE, owl.CLASS
    yield others, owl.COMPLEMENT_OF, holders
    yield holders, rdf.TYPE, owl.RESTRICTION
    yield holders, owl.ON_PROPERTY, prop
    yield holders, owl.HAS_VALUE, value


DATATYPES: Final = NUMERIC_TYPES | {
    *(f"{XSD}{name}" for name in ("normalizedString", "token", "language", "Name", "NCName")),
    f"{XSD}NMTOKEN",
    RDF_LANG_STRING,
    xsd.ANY_URI,
    xsd.BOOLEAN,
    xsd.DATE_TIME,
    xsd.DATE_TIME_STAMP,
    xsd.STRING,
}
"""The datatype map of OWL 2 (section 4), as far as both reasoners have it."""

_NATIVE: Final = DATATYPES | {
    f"{RDFS}Literal",
    f"{RDF}PlainLiteral",
    f"{OWL}real",
    f"{OWL}rational",
}
_ANYTHING: Final = frozenset(
    f"{XSD}{name}" for name in ("anyType", "anySimpleType", "anyAtomicType")
)
# Their values are those of xsd:NCName (XSD 1.1 part 2, sections 3.4.8-3.4.11).
_HEX: Final = f"{XSD}hexBinary"
_BINARY: Final = frozenset({_HEX, f"{XSD}base64Binary"})
_NAMES: Final = frozenset(f"{XSD}{name}" for name in ("ID", "IDREF", "ENTITY"))
_NC_NAME: Final = f"{XSD}NCName"
_WELL_KNOWN: Final = frozenset(
    {GEO_WKT, GEO_JSON, *(f"{RDF}{name}" for name in ("XMLLiteral", "HTML", "JSON"))}
)
_DATATYPE: Final = IRI(f"{RDFS}Datatype")
_LITERAL: Final = IRI(f"{RDFS}Literal")
_UNION_OF: Final = IRI(f"{OWL}unionOf")
_FILLERS: Final = frozenset(
    IRI(f"{OWL}{word}") for word in ("someValuesFrom", "allValuesFrom", "onDataRange")
)
_WITH: Final = IRI(f"{OWL}withRestrictions")
_FROM: Final = IRI(f"{XSD}minInclusive")
_BEFORE: Final = IRI(f"{XSD}maxExclusive")
_FIRST_YEAR: Final = 9990
_YEARS: Final = 10
_MOST: Final = 990
"""Eras; more datatypes in one ontology are refused."""
# Durations by whether they have months and seconds: the derived types share the zero.
_PARTS: Final = ("months", "zero", "seconds", "both")
_HELD: Final = {
    xsd.YEAR_MONTH_DURATION: ("months", "zero"),
    xsd.DAY_TIME_DURATION: ("zero", "seconds"),
    xsd.DURATION: _PARTS,
}
_OTHER: Final = ""
"""The era of the datatypes that no axiom mentions."""
_LATER: Final = Literal("-0002-01-01T00:00:00Z", xsd.DATE_TIME)
_LOWEST: Final = {kind: Literal("-INF", kind) for kind in (xsd.DOUBLE, xsd.FLOAT)}
_WRITTEN_RANGE: Final = re.compile(r"(dateTime(?:Stamp)?)\[([^\[\]]*)\]")
_WRITTEN_ERA: Final = re.compile(r'"-(\d{4})-01-01T00:00:00Z"')
_WRITTEN_VALUE: Final = re.compile(r'"(-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"\^\^\S*dateTime')
_WRITTEN_REAL: Final = re.compile(
    r"\(?(?:\{NaNf?\} or (double|float)\[>= -INFf?\]"
    r"|(double|float)\[>= -INFf?\] or \{NaNf?\})\)?"
)


REAL: Final = xsd.DECIMAL
NOT_A_NUMBER: Final = "NaN"
"""The content of that value of ``xsd:double`` and ``xsd:float``."""
_STORED: Final = {xsd.DOUBLE: ("d", "q"), xsd.FLOAT: ("f", "i")}


@frozen
class Value:
    """A value: its primitive datatype, and what tells it from others of that datatype.

    The content is a fraction for numbers, the :func:`place` for ``xsd:double`` and ``xsd:float``, a
    moment for times, months and seconds for durations, and mostly text for the others.
    """

    space: str
    content: Hashable


def value_of(literal: Literal) -> Value:
    """The value of a literal; each text of an unknown datatype is a value.

    Raises:
        TermError: the text is not in the datatype's lexical space.
    """
    if literal.language is not None:
        return Value(RDF_LANG_STRING, (literal.lexical, literal.language))
    space, value = primitive_of(literal.datatype), literal.value
    match value:
        case bool():
            return Value(space, value)
        case int() | Decimal():
            return Value(space, Fraction(value))
        case float():
            return Value(space, place(value, space))
        case tuple():
            return Value(space, _exact(value))
    if space == xsd.STRING:
        return Value(space, literal.lexical)
    if space in _BINARY:
        return Value(space, _bytes(literal))
    return Value(space, literal.lexical.strip())


def _exact(parts: Iterable[object]) -> tuple[object, ...]:
    """The parts, with equal decimals in one form: 60 and 60.0 are written alike."""
    return tuple(Fraction(each) if isinstance(each, Decimal) else each for each in parts)


def place(number: float, kind: str) -> Hashable:
    """The place of a number among all of ``xsd:double`` or ``xsd:float``: zero is 0, -0.0 is -1."""
    if number != number:
        return NOT_A_NUMBER
    written, read = _STORED[kind]
    try:
        stored = struct.pack(f">{written}", number)
    except OverflowError:
        stored = struct.pack(f">{written}", float("inf") if number > 0 else float("-inf"))
    bits: int = struct.unpack(f">{read}", stored)[0]
    if bits >= 0:
        return bits
    return -1 - (bits + (1 << 8 * len(stored) - 1))


def _bytes(value: Literal) -> bytes:
    text = "".join(value.lexical.split())
    try:
        if value.datatype == _HEX:
            return binascii.unhexlify(text)
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        name = value.datatype.removeprefix(XSD)
        raise TermError(f"'{value.lexical}' is not an xsd:{name}: expected e.g. 0AFF") from None


# The point of time of each value, and the literal it was first written as.
_Known: TypeAlias = dict[Value, tuple[str, Literal]]


class Datatypes:
    """The datatypes of one set of axioms, and the points of time of the opaque values in them."""

    __slots__ = ("_defined", "_eras", "_opaque", "_points", "_written")

    def __init__(self, axioms: Sequence[Triple]) -> None:
        """Read the datatypes that ``axioms`` mention.

        Raises:
            OntologyError: facets restrict an opaque datatype, or there are too many of them.
        """
        declared = {s for s, p, o in axioms if p == rdf.TYPE and o == _DATATYPE}
        self._defined = frozenset(
            s for s, p, _ in axioms if s in declared and p == owl.EQUIVALENT_CLASS
        )
        data = {s for s, p, o in axioms if p == rdf.TYPE and o == f"{OWL}DatatypeProperty"}
        of_values = {(rdfs.RANGE, s) for s in data}
        of_values |= {
            (filler, s)
            for s, p, o in axioms
            if p == owl.ON_PROPERTY and o in data
            for filler in _FILLERS
        }
        found: set[str] = {s for s in declared if isinstance(s, IRI)} | _WELL_KNOWN
        for s, p, o in axioms:
            if isinstance(o, Literal):
                found.add(o.datatype)
            elif isinstance(o, IRI) and (
                o.startswith(XSD) or ((p, s) in of_values and not o.startswith((OWL, RDFS, RDF)))
            ):
                found.add(o)
        mentioned = {o for _, _, o in axioms if isinstance(o, IRI)}
        mentioned |= {IRI(o.datatype) for _, _, o in axioms if isinstance(o, Literal)}
        self._opaque = frozenset(
            name for name in found & mentioned if self.is_opaque(name) and name not in _ANYTHING
        )
        eras = [_OTHER, *_PARTS, *sorted(self._opaque - DURATIONS)]
        if len(eras) > _MOST:
            raise OntologyError(
                f"the axioms use {len(eras)} datatypes outside OWL 2's datatype map: "
                f"at most {_MOST - len(_PARTS) - 1} can be told to the reasoner"
            )
        self._eras = {name: number for number, name in enumerate(eras)}
        self._written: _Known = {}
        for s, p, o in axioms:
            if p == owl.ON_DATATYPE and o in self._opaque:
                name = str(o).removeprefix(XSD)
                raise OntologyError(
                    f"a data range ({s}) restricts <{o}> by facets, but HermiT and Pellet know no "
                    f"order of its values: expected the whole datatype {name}, an enumeration "
                    "(owl:oneOf), or facets of xsd:dateTime or of numbers"
                )
            if isinstance(o, Literal) and self.is_opaque(o.datatype):
                OpaqueValues(self, self._written).literal(o)
        self._points = frozenset(point for point, _ in self._written.values())

    def is_opaque(self, datatype: str) -> bool:
        """Whether values of a datatype are told as points of time."""
        return datatype not in _NATIVE and datatype not in _NAMES and datatype not in self._defined

    def is_told(self, datatype: str) -> bool:
        """Whether the reasoner gets values of a datatype, as it does unless axioms define it."""
        return datatype in DATATYPES or datatype in _NAMES or self.is_opaque(datatype)

    def numbers(self) -> OpaqueValues:
        """A numbering of the values of one question."""
        return OpaqueValues(self, dict(self._written))

    def era(self, value: Literal) -> int:
        """The number of the era of an opaque value."""
        if value.datatype in DURATIONS:
            length = value.value
            assert isinstance(length, Duration)
            months, seconds = length
            part = ("both" if seconds else "months") if months else "seconds" if seconds else "zero"
            return self._eras[part]
        return self._eras.get(value.datatype, self._eras[_OTHER])

    def class_of(self, lexical: str) -> Hashable | None:
        """The class of a told point of time: its era, or itself if axioms have it; None: none."""
        if not lexical.startswith("-"):
            return None
        return lexical if lexical in self._points else lexical[:4]

    def rewritten(
        self, axioms: Iterable[Triple], numbers: OpaqueValues | None = None
    ) -> Iterator[Triple]:
        """The axioms, with data ranges and literals in the reasoner's form. Assertions may be among
        them; ``numbers`` then number their values too.
        """
        numbers = self.numbers() if numbers is None else numbers
        made = _Ranges()
        axioms = with_values_denied_by_class(list(axioms))
        of_time = {s for s, p, o in axioms if p == owl.ON_DATATYPE and o in DATE_TIMES}
        for s, p, o in axioms:
            if s in self._opaque or s in _NAMES:
                continue  # a declaration: for the reasoner there is no such datatype
            if isinstance(o, Literal):
                yield s, p, numbers.literal(o)
            elif p == _WITH and s in of_time:
                yield s, p, made.node
                yield from made.and_facet(_FROM, _LATER, o)
            elif not isinstance(o, IRI) or p in (rdf.TYPE, owl.ON_DATATYPE):
                yield s, p, o
            elif o in self._opaque:
                yield s, p, made.node
                yield from made.interval(*self._interval(o))
            elif o in DATE_TIMES:
                yield s, p, made.node
                yield from made.facets(o, ((_FROM, _LATER),))
            elif o in _LOWEST:
                yield s, p, made.node
                yield from made.reals(o)
            elif o in _ANYTHING:
                yield s, p, _LITERAL
            elif o in _NAMES:
                yield s, p, IRI(_NC_NAME)
            else:
                yield s, p, o

    def readable(self, axiom: str) -> str:
        """An axiom in Manchester syntax with the datatypes and values of the ontology's author."""
        names = {
            tuple(map(_year, self._interval(name))): _short(name)
            for name in (*self._opaque - DURATIONS, *_HELD)
        }

        def shown(found: re.Match[str]) -> str:
            facets = [each.strip() for each in found[2].split(",")]
            own = [each for each in facets if _LATER.lexical not in each]
            if len(own) < len(facets):
                return f"{found[1]}[{', '.join(own)}]" if own else found[1]
            return names.get(tuple(_WRITTEN_ERA.findall(found[2])), found[0])

        values = {told: value.lexical for told, value in self._written.values()}
        text = _WRITTEN_RANGE.sub(shown, axiom)
        text = _WRITTEN_REAL.sub(lambda found: found[1] or found[2], text)
        return _WRITTEN_VALUE.sub(
            lambda found: f'"{values[found[1]]}"' if found[1] in values else found[0], text
        )

    def _interval(self, name: str) -> tuple[int, int]:
        """The first era of a datatype, and the one after its last."""
        parts = [self._eras[part] for part in _HELD.get(name, (name,))]
        return parts[0], parts[-1] + 1


class OpaqueValues:
    """Points of time for the opaque values of one question, in the order of their appearance."""

    __slots__ = ("_datatypes", "_known")

    def __init__(self, datatypes: Datatypes, known: _Known) -> None:
        self._datatypes = datatypes
        self._known = known

    def original(self, told: Literal) -> Literal:
        """The first literal that was told as this one; O(values)."""
        if told.datatype == xsd.DATE_TIME and told.lexical.startswith("-"):
            for point, value in self._known.values():
                if point == told.lexical:
                    return value
        return told

    def tell(self, value: Literal) -> Literal:
        """A literal in the reasoner's form.

        Raises:
            TermError: the text is not in the datatype's lexical space.
        """
        if not self._datatypes.is_opaque(value.datatype):
            _ = value.value
            if value.datatype in _NAMES:
                return Literal(value.lexical.strip(), _NC_NAME)
            if value.language is not None or value.datatype == xsd.STRING:
                return value
            text = value.lexical.strip()
            return value if text == value.lexical else Literal(text, value.datatype)
        key = value_of(value)
        known = self._known.get(key)
        if known is None:
            known = _point(self._datatypes.era(value), len(self._known)), value
            self._known[key] = known
        return Literal(known[0], xsd.DATE_TIME)

    def literal(self, value: Literal) -> Literal:
        """A literal in the reasoner's form; one whose text is not valid stays as it is."""
        try:
            return self.tell(value)
        except TermError:
            return value


class _Ranges:
    """Data ranges in RDF; :attr:`node` is the one made next."""

    def __init__(self) -> None:
        self._count = 0
        self.node = self._fresh()

    def _fresh(self) -> BlankNode:
        self._count += 1
        return BlankNode(f"_:range{self._count}")

    def interval(self, first: int, end: int) -> Iterator[Triple]:
        """A data range from the beginning of one era up to that of another."""
        ends = ((_FROM, _point_literal(first)), (_BEFORE, _point_literal(end)))
        yield from self.facets(IRI(xsd.DATE_TIME), ends)

    def facets(self, base: IRI, facets: Sequence[tuple[IRI, Literal]]) -> Iterator[Triple]:
        """A datatype restricted by facets."""
        node, self.node = self.node, self._fresh()
        yield node, rdf.TYPE, _DATATYPE
        yield node, owl.ON_DATATYPE, base
        members: list[Term] = []
        for facet, bound in facets:
            member = self._fresh()
            members.append(member)
            yield member, facet, bound
        yield from self._list(node, _WITH, members)

    def and_facet(self, facet: IRI, bound: Literal, others: Term) -> Iterator[Triple]:
        """A list of facets with one more."""
        cell, member = self.node, self._fresh()
        self.node = self._fresh()
        yield member, facet, bound
        yield cell, rdf.FIRST, member
        yield cell, rdf.REST, others

    def reals(self, base: IRI) -> Iterator[Triple]:
        """The whole of ``xsd:double`` or ``xsd:float``: HermiT takes any literal for the name."""
        union, numbers, nan = self.node, self._fresh(), self._fresh()
        yield union, rdf.TYPE, _DATATYPE
        yield from self._list(union, _UNION_OF, [numbers, nan])
        yield nan, rdf.TYPE, _DATATYPE
        yield from self._list(nan, owl.ONE_OF, [Literal("NaN", base)])
        self.node = numbers
        yield from self.facets(base, ((_FROM, _LOWEST[base]),))

    def _list(self, node: Subject, link: IRI, members: Sequence[Term]) -> Iterator[Triple]:
        cells = [self._fresh() for _ in members]
        yield node, link, cells[0]
        rests: list[Term] = [*cells[1:], rdf.NIL]
        for cell, member, rest in zip(cells, members, rests, strict=True):
            yield cell, rdf.FIRST, member
            yield cell, rdf.REST, rest


def _year(era: int) -> str:
    return f"{_FIRST_YEAR - era * _YEARS:04}"


def _point(era: int, number: int) -> str:
    """A point of time, at most 290,000,000 of each era; days after the 28th are left out."""
    rest, second = divmod(number, 86_400)
    months, day = divmod(rest, 28)
    years, month = divmod(months, 12)
    year = _FIRST_YEAR - era * _YEARS - years
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"-{year:04}-{month + 1:02}-{day + 1:02}T{clock}Z"


def _point_literal(era: int) -> Literal:
    return Literal(_point(era, 0), xsd.DATE_TIME)


def _short(name: str) -> str:
    return re.split("[#/]", name)[-1]


TEXT_FACETS: Final = frozenset(
    {*(f"{XSD}{word}" for word in ("length", "minLength", "maxLength", "pattern"))}
    | {f"{RDF}langRange"}
)
"""The facets that restrict the length or the form of texts."""


def without_text_facets(axioms: Collection[Triple]) -> list[Triple]:
    """The axioms without such a facet in any part: leaving out others says less, never more."""
    parts = _parts_with(axioms)
    if not parts:
        return list(axioms)
    kept = [each for each in axioms if each[0] not in parts and each[2] not in parts]
    # Parts that only left out axioms have are left out, too.
    while orphans := _blank(each[0] for each in kept) & _blank(o for _, _, o in axioms) - _blank(
        o for _, _, o in kept
    ):
        kept = [each for each in kept if each[0] not in orphans]
    return kept


def _parts_with(axioms: Collection[Triple]) -> set[Subject]:
    """The expressions, and the datatypes that are defined by them, with such a facet."""
    defined = {s for s, p, o in axioms if p == rdf.TYPE and o == f"{RDFS}Datatype"}
    found: set[Subject] = {s for s, p, _ in axioms if p in TEXT_FACETS}
    while more := {
        s
        for s, p, o in axioms
        if o in found
        and s not in found
        and (isinstance(s, BlankNode) or (s in defined and p == owl.EQUIVALENT_CLASS))
    }:
        found |= more
    return found


def _blank(terms: Iterable[object]) -> set[BlankNode]:
    return {each for each in terms if isinstance(each, BlankNode)}
