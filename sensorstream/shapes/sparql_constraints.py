"""Constraints in SPARQL (SHACL-SPARQL): of shapes, and components with validators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal, Subject, Term
from sensorstream.shapes.shape_graph import SH, ShapeGraph, sh
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Variable
from sensorstream.sparql.query_parser import parse_query, read_query
from sensorstream.sparql.query_printer import pattern_text
from sensorstream.sparql.walk import nodes, replaced, variables, visible

_PATH: Final = re.compile(r"[$?]PATH\b")
_TRUE: Final = Literal("true", xsd.BOOLEAN)
_FORBIDDEN: Final[Mapping[type, str]] = {
    algebra.Minus: "MINUS",
    algebra.Values: "VALUES",
    algebra.Service: "SERVICE",
    algebra.Slice: "LIMIT or OFFSET",
    algebra.Graph: "GRAPH",
}
"""Patterns that pre-bound variables forbid (SHACL, section 5.3.1), or of which none is kept."""
_OWN: Final = f"{SH}SPARQLConstraintComponent"
_NOT_BOUND: Final = ("shapesGraph", "currentShape")


@frozen
class SparqlConstraint:
    """A constraint in SPARQL: ``pattern`` is a group that binds the ``shown`` variables."""

    component: str
    pattern: str
    messages: tuple[Term, ...]
    shown: tuple[str, ...]


@frozen
class _Parameter:
    """A parameter of a component: its property, and its variable."""

    path: IRI
    optional: bool

    @property
    def variable(self) -> Variable:
        return Variable(re.split(r"[/#:]", self.path)[-1])


class SparqlConstraints:
    """The constraints in SPARQL of the shapes of a graph."""

    def __init__(self, shapes: ShapeGraph) -> None:
        self._shapes = shapes
        kinds: list[Subject] = [sh("ConstraintComponent")]
        for each in kinds:
            below = shapes.index.match(None, rdfs.SUBCLASS_OF, each)
            kinds += [s for s, _, _ in below if s not in kinds]
        found = [s for kind in kinds for s, _, _ in shapes.index.match(None, rdf.TYPE, kind)]
        self._components = {each: self._parameters(each) for each in found}

    def constraints(
        self, shape: Term, domain: str, values: str, this: str, value: str
    ) -> Iterator[SparqlConstraint]:
        """The constraints of a shape; ``domain`` binds its focus nodes, ``values`` both nodes.

        Raises:
            ShapesError: a query is not valid, or has a part that SHACL forbids.
        """
        shapes = self._shapes
        for each in shapes.objects(shape, "sparql"):
            if _TRUE in shapes.objects(each, "deactivated"):
                continue
            yield self._selected(shape, each, _OWN, {}, domain, (this, value))
        for component, parameters in self._components.items():
            for given in self._given(shape, parameters):
                yield self._validated(shape, component, given, (domain, values), (this, value))

    def _parameters(self, component: Term) -> list[_Parameter]:
        shapes = self._shapes
        found: list[_Parameter] = []
        for each in shapes.objects(component, "parameter"):
            path = shapes.one(each, "path")
            if not isinstance(path, IRI):
                raise shapes.fault(component, "a parameter without sh:path: expected an IRI")
            found.append(_Parameter(path, _TRUE in shapes.objects(each, "optional")))
        return found

    def _given(
        self, shape: Term, parameters: Sequence[_Parameter]
    ) -> Iterator[Mapping[Variable, Term]]:
        """The values of the parameters in a shape; none if one that is needed is missing."""
        values = {each.variable: self._shapes.objects(shape, each.path) for each in parameters}
        needed = [each.variable for each in parameters if not each.optional]
        if not needed or not all(values[each] for each in needed):
            return
        several = [each for each, found in values.items() if len(found) > 1]
        single = {each: found[0] for each, found in values.items() if found}
        for number in range(len(values[several[0]]) if several else 1):
            yield single | {each: values[each][number] for each in several[:1]}

    def _validated(
        self,
        shape: Term,
        component: Term,
        given: Mapping[Variable, Term],
        groups: tuple[str, str],
        names: tuple[str, str],
    ) -> SparqlConstraint:
        shapes, (domain, values), (this, value) = self._shapes, groups, names
        kind = "nodeValidator" if shapes.one(shape, "path") is None else "propertyValidator"
        for validator in shapes.objects(component, kind):
            if shapes.objects(validator, "select"):
                found = self._selected(shape, validator, str(component), given, domain, names)
                return replace(found, messages=self._messages(validator, component, given))
        validators = [*shapes.objects(component, kind), *shapes.objects(component, "validator")]
        for validator in validators:
            # The value node of a node shape is its focus node.
            own = value if kind == "propertyValidator" else this
            asked = self._query(shape, validator, "ask", given, this, own)
            conforming = _bound(asked, values, tuple({this: None, own: None}))
            return SparqlConstraint(
                str(component),
                f"{values} MINUS {{ {pattern_text(conforming)} }}",
                self._messages(validator, component, given),
                (this, value),
            )
        raise shapes.fault(component, "no validator for this shape: expected sh:validator")

    def _messages(
        self, validator: Term, component: Term, given: Mapping[Variable, Term]
    ) -> tuple[Term, ...]:
        shapes = self._shapes
        found = shapes.objects(validator, "message") or shapes.objects(component, "message")
        texts = [each for each in found if isinstance(each, Literal)]
        for variable, term in given.items():
            told = term.lexical if isinstance(term, Literal) else str(term)
            for hole in (f"{{${variable.name}}}", f"{{?{variable.name}}}"):
                texts = [
                    Literal(each.lexical.replace(hole, told), xsd.STRING, each.language)
                    for each in texts
                ]
        return tuple(texts)

    def _selected(
        self,
        shape: Term,
        node: Term,
        component: str,
        given: Mapping[Variable, Term],
        domain: str,
        variables_: tuple[str, str],
    ) -> SparqlConstraint:
        this, value = variables_
        found = self._query(shape, node, "select", given, this, value)
        names = [each.name for each in visible(found)]
        if this not in names:
            raise self._shapes.fault(shape, "sh:select without $this: expected SELECT $this …")
        bound = _bound(found, domain, (this,))
        pattern = f"{{ {pattern_text(bound)} }}"
        if value not in names and self._shapes.one(shape, "path") is None:
            pattern, names = f"{pattern} BIND(?{this} AS ?{value})", [*names, value]
        messages = tuple(self._shapes.objects(node, "message"))
        if "message" in names:
            messages = (Literal("{?message}"),)
        return SparqlConstraint(component, pattern, messages, tuple(names))

    def _query(
        self,
        shape: Term,
        node: Term,
        form: str,
        given: Mapping[Variable, Term],
        this: str,
        value: str,
    ) -> Pattern:
        """The pattern of a query, its parameters replaced by their values."""
        shapes = self._shapes
        text, path = shapes.one(node, form), shapes.one(shape, "path")
        if not isinstance(text, Literal):
            raise shapes.fault(shape, f"without a query: expected sh:{form}")
        written = text.lexical
        if path is not None:
            written = _PATH.sub(lambda _: shapes.path(path), written)
        try:
            start = Position("query", 1, 1)
            query = read_query(written, start=start, prefixes=self._prefixes(node)).meaning
        except QueryError as error:
            told = f"sh:{form}, line {error.position.line if error.position else 1}"
            raise shapes.fault(shape, f"{told}: {error.message}") from None
        expected = algebra.Select if form == "select" else algebra.Ask
        if not isinstance(query.form, expected):
            raise shapes.fault(shape, f"sh:{form}: expected {form.upper()}")
        pattern: Pattern = query.form.pattern
        self._check(shape, pattern, {"this", *(each.name for each in given)})
        renamed = {Variable("this"): Variable(this), Variable("value"): Variable(value)}
        changed: Mapping[Variable, object] = {**renamed, **given}

        def change(part: object) -> object | None:
            match part:
                case algebra.Call("BOUND", (Variable() as one,)) if one in given:
                    return _TRUE
                case Variable() if part in changed:
                    return changed[part]
            return None

        return replaced(pattern, change)

    def _check(self, shape: Term, pattern: Pattern, bound: set[str]) -> None:
        """Refuse what SHACL forbids where variables are bound beforehand."""
        fault = self._shapes.fault
        for each in nodes(pattern):
            if word := _FORBIDDEN.get(type(each)):
                raise fault(shape, f"it cannot be compiled: {word} in a query of a shape")
            if isinstance(each, algebra.Extend) and each.variable.name in bound:
                raise fault(
                    shape, f"{each.variable} is bound beforehand: expected another variable"
                )
            if isinstance(each, algebra.Project) and Variable("this") not in each.variables:
                raise fault(shape, "a sub-select without $this: expected it among its variables")
            if isinstance(each, Variable) and each.name in _NOT_BOUND:
                raise fault(shape, f"it cannot be compiled: ${each.name}")

    def _prefixes(self, node: Term) -> dict[str, str]:
        shapes, found, seen = self._shapes, dict[str, str](), set[Term]()
        waiting = shapes.objects(node, "prefixes")
        for each in waiting:
            if each in seen:
                continue
            seen.add(each)
            waiting += shapes.objects(each, owl.IMPORTS)
            for declared in shapes.objects(each, "declare"):
                prefix, name = shapes.one(declared, "prefix"), shapes.one(declared, "namespace")
                if isinstance(prefix, Literal) and isinstance(name, Literal):
                    found[prefix.lexical] = name.lexical
        return found


def _bound(pattern: Pattern, domain: str, names: Sequence[str]) -> Pattern:
    """The solutions of a pattern for the values that a domain gives to variables beforehand.

    The domain is joined with the pattern as a whole, and with each block of it that does not match
    the variables itself: filters there see them.
    """
    given = parse_query(f"SELECT * {{ {domain} }}").form
    assert isinstance(given, algebra.Select)
    wanted = tuple(map(Variable, names))
    rows = algebra.Distinct(algebra.Project(given.pattern, wanted))

    def change(part: object) -> object | None:
        match part:
            case algebra.BGP():
                return part if variables(part).issuperset(wanted) else algebra.Join(rows, part)
            case algebra.Project(inner, columns):
                return algebra.Project(whole(inner), columns)
        return None

    def whole(inner: Pattern) -> Pattern:
        match inner:
            case algebra.Filter(condition, below):
                return algebra.Filter(replaced(condition, change), whole(below))
            case algebra.Extend(below, variable, expression):
                return algebra.Extend(whole(below), variable, replaced(expression, change))
            case algebra.Group() | algebra.OrderBy():
                return replace(inner, pattern=whole(inner.pattern))
        return algebra.Join(rows, replaced(inner, change))

    if isinstance(pattern, algebra.Distinct | algebra.Reduced | algebra.OrderBy):
        return replace(pattern, pattern=_bound(pattern.pattern, domain, names))
    if isinstance(pattern, algebra.Project):
        return algebra.Project(whole(pattern.pattern), pattern.variables)
    return whole(pattern)
