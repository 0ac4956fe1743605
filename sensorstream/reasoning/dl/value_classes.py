"""Classes of values that no axiom can distinguish.

Data ranges are built from datatypes, facets and enumerations with union, intersection and
complement. Two values with the same order relative to every number and text in the axioms, and in
the same datatypes, are in the same ranges. If axioms compare values with each other (by counting
them, or as keys), every value is a separate class.

Source: OWL 2 Structural Specification, sections 4 and 7 (value spaces of different primitive
datatypes are disjoint; integers are decimals).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.vocabulary import OWL
from sensorstream.model.xsd import DATATYPES, DATE_TIMES, INTEGER_BOUNDS, INTEGER_TYPES
from sensorstream.network.graph_components import reached
from sensorstream.reasoning.dl.axioms import COUNTS, HAS_KEY, Axioms, has_keys, has_rules
from sensorstream.reasoning.dl.datatypes import TEXT_FACETS, Datatypes

_ZONE: Final = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_EXACT: Final = INTEGER_TYPES | {xsd.DECIMAL}
_BOUNDS: Final = frozenset(
    bound for bounds in INTEGER_BOUNDS.values() for bound in bounds if bound is not None
)
_TEXT_TYPES: Final = frozenset(
    name for name, each in DATATYPES.items() if each.primitive == xsd.STRING != name
)
_DISJOINT: Final = frozenset(
    f"{OWL}{word}" for word in ("propertyDisjointWith", "AllDisjointProperties")
)
Value: TypeAlias = tuple[int, str, str, str, str | None]
"""The number of its owner, property, text, datatype and language."""
_BELOW: Final = frozenset({rdfs.SUBPROPERTY_OF, owl.EQUIVALENT_PROPERTY})
_UNIVERSAL: Final = frozenset(f"{OWL}{word}" for word in ("topDataProperty", "bottomDataProperty"))


class ValueClasses:
    """Classes of values under one set of axioms; ``objects`` are the object properties."""

    def __init__(
        self, axioms: Axioms, objects: frozenset[IRI], datatypes: Datatypes | None = None
    ) -> None:
        self._datatypes = datatypes or Datatypes(axioms.triples)
        # If axioms compare values with each other, all values are told apart.
        others = _compares_values(axioms, objects)
        self._by_value = others or has_keys(axioms)
        self._keyed = None if others else _in_keys(axioms)
        terms = {term for triple in axioms.triples for term in triple}
        self._literals = frozenset(t for t in terms if isinstance(t, Literal))
        # Literals that are not valid are not compared.
        written = [] if others else [t for t in terms if isinstance(t, Literal)]
        exact: set[Any] = {t.value for t in written if t.datatype in _EXACT}
        if not terms.isdisjoint(INTEGER_TYPES - {xsd.INTEGER}):
            exact.update(_BOUNDS)
        self._exact = sorted(exact)
        doubles: set[Any] = {t.value for t in written if t.datatype == xsd.DOUBLE}
        self._inexact = sorted(each for each in doubles if not math.isnan(each))
        self._compares_times = any(t.datatype in DATE_TIMES for t in written)
        self._texts = frozenset(t.lexical for t in written)
        self._texts_by_value = not (TEXT_FACETS | _TEXT_TYPES).isdisjoint(terms)

    def of(self, lexical: str, datatype: str, language: str | None) -> Hashable:
        """The class of a valid literal."""
        if self._by_value or language is not None:
            return lexical, datatype, language
        return self._class_of(lexical, datatype)

    def is_key(self, prop: IRI, value: Literal) -> bool:
        """Whether only keys compare a value, which is one of arbitrarily many."""
        return (
            self._keyed is not None
            and prop in self._keyed
            and value.datatype == xsd.STRING
            and not self._texts_by_value
            and value.lexical not in self._texts
        )

    def class_of(self, value: Literal, props: Iterable[str], *, alone: bool) -> Hashable:
        """The class of a value that someone has by some properties; ``alone``: nobody else has it.

        Raises:
            TermError: its text is not in the datatype's lexical space.
        """
        told = self._datatypes.numbers().tell(value)
        if self._keyed is None or told.language is not None or value in self._literals:
            return value
        if not alone and not self._keyed.isdisjoint(props):
            return value
        return self._class_of(told.lexical, told.datatype)

    def told(self, values: Sequence[Value]) -> Iterator[tuple[int, str, Hashable]]:
        """The owner, property and class of each value of a question.

        If only keys compare values, those of other properties are in the classes of any. So is a
        value that nobody else has, if its class has arbitrarily many: which one it is cannot
        matter.
        """
        if self._keyed is None:
            yield from ((n, prop, self.of(text, kind, tag)) for n, prop, text, kind, tag in values)
            return
        owners: dict[tuple[str, str, str | None], set[int]] = {}
        for n, _, text, kind, language in values:
            owners.setdefault((text, kind, language), set()).add(n)
        for n, prop, text, kind, language in values:
            endless = kind == xsd.STRING or (kind == xsd.INTEGER and not self._exact)
            alone = endless and len(owners[text, kind, language]) == 1
            if language is None and (alone or prop not in self._keyed):
                yield n, prop, self._class_of(text, kind)
            else:
                yield n, prop, self.of(text, kind, language)

    def _class_of(self, lexical: str, datatype: str) -> Hashable:
        if datatype in _EXACT:
            try:
                number = int(lexical) if datatype != xsd.DECIMAL else Decimal(lexical)
            except ValueError:  # more digits than Python accepts
                return lexical, datatype
            place = bisect_left(self._exact, number), bisect_right(self._exact, number)
            return datatype, number == round(number), place
        if datatype == xsd.DOUBLE:
            real = float(lexical)
            # Zeros of both signs are equal and not identical: they are not decided here.
            if real and not math.isnan(real):
                place = bisect_left(self._inexact, real), bisect_right(self._inexact, real)
                return datatype, math.isinf(real), place
        elif datatype == xsd.DATE_TIME:
            opaque = self._datatypes.class_of(lexical)
            if opaque is not None:
                return datatype, opaque
            if not self._compares_times:
                return datatype, _ZONE.search(lexical) is not None
        elif datatype == xsd.STRING and not self._texts_by_value:
            return datatype, lexical if lexical in self._texts else None
        return lexical, datatype


def _in_keys(axioms: Axioms) -> frozenset[Term]:
    """The properties of keys, and all below them."""
    below: dict[Term, list[Term]] = {}
    for s, p, o in axioms.triples:
        if p in _BELOW:
            below.setdefault(o, []).append(s)
        if p == owl.EQUIVALENT_PROPERTY:
            below.setdefault(s, []).append(o)
    keys = (each for _, p, o in axioms.triples if p == HAS_KEY for each in axioms.members(o))
    return frozenset(reached(keys, lambda each: below.get(each, ())))


def _compares_values(axioms: Axioms, objects: frozenset[IRI]) -> bool:
    if has_rules(axioms):
        return True
    for s, p, o in axioms.triples:
        if p in COUNTS and axioms.value(s, owl.ON_PROPERTY) not in objects:
            return True
        if p == rdf.TYPE and o == f"{OWL}FunctionalProperty" and s not in objects:
            return True
        if p in _DISJOINT or o in _DISJOINT or not _UNIVERSAL.isdisjoint((s, p, o)):
            return True
    try:
        for triple in axioms.triples:
            if isinstance(triple[2], Literal):
                _ = triple[2].value
    except (TermError, ValueError):  # not valid, or more digits than Python accepts
        return True
    return False
