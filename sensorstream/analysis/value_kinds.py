"""The kinds of values that an expression may have, and the operations that have none.

The network's own operators and functions are tried on samples of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from sensorstream.model import xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import NUMERIC_TYPES, RDF_LANG_STRING, XSD
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Variable
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.functions import CASTS, Trait, named
from sensorstream.sparql.values import compare, is_valid
from sensorstream.sparql.variable_scope import in_scope, plain_keys
from sensorstream.sparql.walk import patterns_in

Kinds: TypeAlias = frozenset[str] | None
"""Datatypes, of which ``xsd:decimal`` stands for all numbers, and :data:`NAME`; None: any."""

NAME: Final = "IRI"
"""The kind of IRIs and blank nodes."""
INVALID: Final = "invalid"
"""The kind of a literal that is not valid in its datatype: no operator accepts it."""
SAMPLES: Final[Mapping[str, tuple[IRI | Literal, ...]]] = {
    xsd.DECIMAL: (Literal("2", xsd.INTEGER),),
    xsd.STRING: (Literal("a"),),
    RDF_LANG_STRING: (Literal("a", language="en"),),
    xsd.BOOLEAN: (Literal("true", xsd.BOOLEAN),),
    NAME: (IRI("urn:a"),),
    INVALID: (Literal("a", xsd.DATE),),
    **{
        datatype: tuple(Literal(text, datatype) for text in texts)
        for datatype, texts in (
            # With and without a time zone; the two are over 14 hours apart, so in order.
            (xsd.DATE_TIME, ("2020-02-01T00:00:00Z", "2024-02-01T00:00:00")),
            (xsd.DATE_TIME_STAMP, ("2020-02-01T00:00:00Z",)),
            (xsd.DATE, ("2020-02-01Z", "2024-02-01")),
            (xsd.TIME, ("01:00:00Z", "23:00:00")),
            (xsd.DURATION, ("P1Y", "PT1H", "-P1Y", "-PT1H")),
            (xsd.DAY_TIME_DURATION, ("PT1H", "-PT1H")),
            (xsd.YEAR_MONTH_DURATION, ("P1Y", "-P1Y")),
        )
    },
}
"""Samples: if an operator accepts values of a kind, it accepts one of these."""

_BY_KIND: Final = named(Trait.BY_KIND)
_NUMBER: Final = frozenset((xsd.DECIMAL,))
_TRUTH: Final = frozenset((xsd.BOOLEAN,))
_TEXT: Final = frozenset((xsd.STRING,))
_NAMES: Final = frozenset((NAME,))
_NO_KINDS: Final[frozenset[str]] = frozenset()


def kind_of(term: Term) -> Kinds:
    """The kind of one term; None: of a datatype that is not known here."""
    if not isinstance(term, Literal):
        return _NAMES
    datatype = xsd.DECIMAL if term.datatype in NUMERIC_TYPES else term.datatype
    if datatype not in SAMPLES:
        return None
    return frozenset((datatype if is_valid(term) else INVALID,))


class KindScope:
    """The variables that may have a value where an expression stands, and the kinds of each.

    Findings on parts of an expression are kept by identity, so the parts must outlive it.
    """

    def __init__(self, variables: Mapping[str, Kinds]) -> None:
        self.variables = variables
        self._found: dict[int, Kinds] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    def kinds(self, expression: Expression) -> Kinds:
        """The kinds of the values that it may have; an operation without a value counts as any."""
        place = id(expression)
        if place not in self._found:
            self._found[place] = self._kinds(expression)
        return self._found[place]

    def _kinds(self, expression: Expression) -> Kinds:
        match expression:
            case IRI() | Literal():
                return kind_of(expression)
            case Variable(name):
                return self.variables.get(name)
            case (
                algebra.And()
                | algebra.Or()
                | algebra.Not()
                | algebra.Comparison()
                | algebra.In()
                | algebra.Exists()
                | algebra.Call("BOUND")
            ):
                return _TRUTH
            case algebra.Call("COALESCE", parts) | algebra.Call("IF", (_, *parts)):
                return _either(map(self.kinds, parts))
            case algebra.Call("NOW"):
                return frozenset((xsd.DATE_TIME,))
            case algebra.FunctionCall(function, _) if function in CASTS:
                return frozenset((xsd.DECIMAL if function in NUMERIC_TYPES else str(function),))
            case algebra.FunctionCall(function, _) if function in EXTENSIONS:
                datatype = EXTENSIONS[function].datatype
                kind = xsd.DECIMAL if datatype in NUMERIC_TYPES else datatype
                return frozenset((kind,)) if kind is not None and kind in SAMPLES else None
            case algebra.Arithmetic() | algebra.Sign() | algebra.Call():
                return self._results(expression) or None
        return None

    def has_no_value(self, operation: Expression) -> bool:
        """Whether an operation fails for all values that its operands may have."""
        match operation:
            case algebra.FunctionCall(function, (argument,)) if function in CASTS:
                given = self.kinds(argument)
                # The characters of a text decide whether it can be cast.
                return (
                    given is not None
                    and not given & _TEXT
                    and self._results(operation) == _NO_KINDS
                )
            case algebra.Comparison() | algebra.Arithmetic() | algebra.Sign() | algebra.Call():
                return self._results(operation) == _NO_KINDS
        return False

    def is_never_equal(self, operation: Expression) -> bool:
        """Whether ``=`` or ``IN`` has operands of kinds whose values are never equal."""
        match operation:
            case algebra.Comparison("=", left, right):
                others: tuple[Expression, ...] = (right,)
            case algebra.In(left, others):
                pass
            case _:
                return False
        one = self.kinds(left)
        return one is not None and not any(
            other is None or _may_be_equal(one, other) for other in map(self.kinds, others)
        )

    def _results(self, operation: Expression) -> Kinds:
        """The kinds of the operation's values on samples; None: any."""
        parts = operands(operation)
        if isinstance(operation, algebra.Call) and (
            operation.name not in _BY_KIND or len(parts) != 1
        ):
            return None
        of_parts = [self.kinds(each) for each in parts]
        if all(each is None for each in of_parts):
            return None
        found: frozenset[str] = frozenset()
        for choice in product(*map(_samples, of_parts)):
            value = value_of(_with(operation, choice), {})(())
            kind = _NO_KINDS if value is None else kind_of(value)
            if kind is None:
                return None
            found |= kind
        return found


_OPERANDS: Final[Mapping[type, tuple[str, ...]]] = {
    algebra.Comparison: ("left", "right"),
    algebra.Arithmetic: ("left", "right"),
    algebra.Sign: ("operand",),
}


def operands(operation: Expression) -> tuple[Expression, ...]:
    """The operands of an operator, or the arguments of a function."""
    if isinstance(operation, algebra.In):
        return (operation.operand, *operation.choices)
    if isinstance(operation, algebra.Call | algebra.FunctionCall):
        return operation.arguments
    return tuple(getattr(operation, name) for name in _OPERANDS.get(type(operation), ()))


def pattern_kinds(pattern: Pattern, schema: Schema, given: Mapping[str, Kinds]) -> dict[str, Kinds]:
    """The kinds of the values of each variable in the scope of a pattern; ``given`` are those of
    variables that have a value from outside.

    A property has values of the datatype that the ontology states.
    """
    found = _pattern_kinds(pattern, schema, given)
    # A variable may have its value from either.
    return {
        name: _either(each[name] for each in (found, given) if name in each)
        for name in in_scope(pattern) & found.keys()
    }


def all_kinds(
    patterns: Iterable[Pattern], schema: Schema, given: Mapping[str, Kinds]
) -> dict[str, Kinds]:
    """The kinds of all variables of some patterns, and of those with a value from outside."""
    parts = [pattern_kinds(each, schema, given) for each in patterns]
    names = {name for part in parts for name in part}
    return {**given, **{n: _either(part[n] for part in parts if n in part) for n in names}}


def _pattern_kinds(
    pattern: Pattern, schema: Schema, given: Mapping[str, Kinds]
) -> dict[str, Kinds]:
    match pattern:
        case algebra.BGP():
            return _of_triples(pattern, schema)
        case algebra.Values(columns, rows):
            return {
                each.name: _either(kind_of(t) for row in rows if (t := row[place]) is not None)
                for place, each in enumerate(columns)
            }
        case algebra.Extend(inner, variable, expression):
            before = all_kinds((inner,), schema, given)
            return {**before, variable.name: KindScope(before).kinds(expression)}
        case algebra.Group(inner, keys, aggregates):
            before = all_kinds((inner,), schema, given)
            scope = KindScope(before)
            kept: dict[str, Kinds] = {name: before.get(name) for name in plain_keys(keys)}
            for key in keys:
                if key.variable is not None:
                    kept[key.variable.name] = scope.kinds(key.expression)
            for variable, aggregate in aggregates:
                kept[variable.name] = _of_aggregate(aggregate, scope)
            return kept
        case algebra.Project(inner, variables):
            names = {each.name for each in variables}
            inside = {name: each for name, each in given.items() if name in names}
            found = all_kinds((inner,), schema, inside)
            return {name: found.get(name) for name in names}
        case algebra.Minus(left, _):
            return pattern_kinds(left, schema, given)
        case algebra.Service():
            return dict.fromkeys(in_scope(pattern))
    found = all_kinds(patterns_in(pattern), schema, given)
    return {name: found.get(name) for name in in_scope(pattern)}


def _of_triples(block: algebra.BGP, schema: Schema) -> dict[str, Kinds]:
    found: dict[str, Kinds] = dict.fromkeys(in_scope(block))
    for triple in block.patterns:
        predicate, value = triple.predicate, triple.object
        if isinstance(triple.subject, Variable):
            found[triple.subject.name] = _NAMES
        if isinstance(predicate, IRI) and isinstance(value, Variable):
            datatype = schema.datatype_of(predicate)
            kind = xsd.DECIMAL if datatype in NUMERIC_TYPES else datatype
            if kind is not None and kind in SAMPLES and found[value.name] is None:
                found[value.name] = frozenset((kind,))
    return found


def _of_aggregate(aggregate: algebra.Aggregate, scope: KindScope) -> Kinds:
    if aggregate.name in ("COUNT", "SUM", "AVG"):
        return _NUMBER
    if aggregate.name not in ("MIN", "MAX", "SAMPLE") or aggregate.expression is None:
        return None
    return scope.kinds(aggregate.expression)


def _either(parts: Iterable[Kinds]) -> Kinds:
    found: frozenset[str] = frozenset()
    for each in parts:
        if each is None:
            return None
        found |= each
    return found or None


def _samples(of: Kinds) -> Iterator[IRI | Literal]:
    """Samples of these kinds; of all for any kind, since no operator accepts another datatype."""
    for kind in SAMPLES if of is None else of:
        yield from SAMPLES[kind]


def _with(operation: Expression, terms: tuple[IRI | Literal, ...]) -> Expression:
    """The operation on other operands."""
    if isinstance(operation, algebra.Call | algebra.FunctionCall):
        return replace(operation, arguments=terms)
    names = _OPERANDS[type(operation)]
    changed: Expression = replace(operation, **dict(zip(names, terms, strict=True)))  # type: ignore[type-var]
    return changed


def _may_be_equal(one: frozenset[str], other: frozenset[str]) -> bool:
    if one & other:
        # Even a literal that is not valid is equal to itself.
        return True
    pairs = product(_samples(one), _samples(other))
    return any(compare(a, b) is not None for a, b in pairs)


_SHOWN: Final[Mapping[str, str]] = {
    xsd.DECIMAL: "a number",
    xsd.STRING: "a text",
    RDF_LANG_STRING: "a text with a language",
    NAME: "an IRI",
    INVALID: "a literal that is not valid in its datatype",
}


def shown(kind: str) -> str:
    """A kind as people say it."""
    return _SHOWN.get(kind) or f"an xsd:{kind.removeprefix(XSD)}"
