"""Shapes as continuous queries: one for each constraint, whose solutions are the violations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from string import Template
from typing import Final, TypeAlias

from sensorstream.errors import QueryError, ShapesError
from sensorstream.model import rdf, rdfs, xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.owl import CLASS as OWL_CLASS
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.vocabulary import RDFS
from sensorstream.network.plan.nodes import Anew
from sensorstream.shapes.constraint_table import (
    CORE,
    IS_A,
    KINDS,
    NOT_COMPILED,
    validity,
)
from sensorstream.shapes.shape_graph import SH, ShapeGraph, Violation, sh
from sensorstream.shapes.sparql_constraints import SparqlConstraints
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.query_planning import planned, sources_of

Domain: TypeAlias = Callable[[str], str]
"""A group that binds a variable of this name to focus nodes."""

_CLASSES: Final = (IRI(f"{RDFS}Class"), OWL_CLASS)
_TARGETS: Final[Mapping[str, str]] = {
    "targetNode": "VALUES ?{x} {{ {p} }}",
    "targetClass": f"?{{x}} {IS_A} {{p}}",
    "targetSubjectsOf": "?{x} {p} []",
    "targetObjectsOf": "[] {p} ?{x}",
}
_SEVERITIES: Final = {f"{SH}Violation": "critical", f"{SH}Warning": "warning", f"{SH}Info": "info"}
_HOLE: Final = re.compile(r"\{\?(\w+)\}")
_WRITTEN: Final = re.compile(r"\{[?$](\w+)\}")
_BRACE: Final = re.compile(r"\{\?\w+\}|([{}])")
_WIDE: Final = {"{": "\uff5b", "}": "\uff5d"}
_WORD: Final = re.compile(r"\W+")


@frozen
class _Constraint:
    """A constraint of a shape: ``pattern`` is a group that binds the variables of a violation."""

    component: str
    pattern: str
    message: str
    shown: tuple[str, ...]
    value: str = "value"
    """The variable of what is at fault."""


@frozen
class ShapeQuery:
    """A continuous query whose solutions are the violations of one constraint of a shape."""

    name: str
    shape: str
    path: str | None
    constraint: _Constraint
    severity: str

    @property
    def text(self) -> str:
        """The text of the query, with its alert."""
        made = self.constraint
        shown = " ".join(f"?{each}" for each in made.shown)
        path = "{?path}" if "path" in made.shown else self.path or ""
        value = f"{{?{made.value}}}" if made.value in made.shown else ""
        told = " ".join(filter(None, ["{?this}", path, value]))
        severity = _SEVERITIES.get(self.severity, "critical")
        # Braces are for values only: others, as in a regular expression, are written wide.
        message = _BRACE.sub(lambda m: _WIDE.get(m[0], m[0]), made.message)
        alert = Literal(f"{told}: {message} (shape {self.shape})").n3
        key = Literal(" ".join(f"{{?{each}}}" for each in made.shown)).n3
        return (
            f"SELECT DISTINCT {shown}\nALERT {severity} {alert} KEY {key}\n"
            f"WHERE {{ {made.pattern} }}"
        )

    def violation(self, variables: Sequence[str], row: Sequence[Term | None]) -> Violation:
        """The violation of a solution."""
        values = dict(zip(variables, row, strict=False))

        def value(match: re.Match[str]) -> str:
            term = values.get(match[1])
            return "" if term is None else str(getattr(term, "lexical", term))

        this, path = values["this"], values.get("path")
        assert this is not None
        return Violation(
            self.shape,
            this,
            self.path if path is None else str(path),
            values.get(self.constraint.value),
            self.constraint.component,
            self.severity,
            _HOLE.sub(value, self.constraint.message),
        )


def compile_shapes(shapes: ShapeGraph) -> tuple[ShapeQuery, ...]:
    """The queries of all constraints of the shapes that have targets, in the order of the files.

    Raises:
        ShapesError: a shape cannot be compiled, as one that is recursive; or it is wrong.
    """
    return tuple(_Compiler(shapes).queries())


class _Compiler:
    def __init__(self, shapes: ShapeGraph) -> None:
        self._shapes = shapes
        self._sparql = SparqlConstraints(shapes)
        self._open: list[Term] = []
        self._names: set[str] = set()

    def queries(self) -> Iterator[ShapeQuery]:
        for shape, domain in self._domains().items():
            path = self._path(shape)
            for each in self._constraints(shape, domain, "this"):
                yield self._query(shape, path, each)

    def _query(self, shape: Term, path: Term | None, made: _Constraint) -> ShapeQuery:
        shapes = self._shapes
        name = shapes.name(shape)
        found = ShapeQuery(
            self._name(name, path, made.component),
            name,
            None if path is None else shapes.path_told(path),
            made,
            str(shapes.one(shape, "severity") or f"{SH}Violation"),
        )
        try:
            query = parse_query(found.text)
            plan = planned(query, sources_of(query, {}, {}), graphs=False)
        except QueryError as error:
            raise shapes.fault(shape, f"it cannot be compiled: {error.message}") from None
        if isinstance(plan, Anew):
            told = f"it cannot be kept in step with the window: {plan.reason}"
            raise shapes.fault(shape, told)
        return found

    def _name(self, shape: str, path: Term | None, component: str) -> str:
        parts = [re.split(r"[/#:]", each)[-1] for each in (shape, str(path or ""), component)]
        told = [_WORD.sub("-", each.removesuffix("ConstraintComponent")) for each in parts]
        base = name = "-".join(["shape", *filter(None, told)])
        number = 1
        while name in self._names:
            number += 1
            name = f"{base}-{number}"
        self._names.add(name)
        return name

    # -- where shapes apply -----------------------------------------------------------------

    def _domains(self) -> dict[Term, Domain]:
        """The shapes whose results are reported, each with its focus nodes."""
        ways: dict[Term, list[Domain]] = {}
        shape: Term
        for shape in dict.fromkeys(s for s, _, _ in self._shapes.index):
            if found := list(self._targets(shape)):
                ways[shape] = found
        order: TopologicalSorter[Term] = TopologicalSorter()
        waiting = list(ways)
        seen: set[Term] = set()
        while waiting:
            shape = waiting.pop()
            order.add(shape)
            if shape in seen or self._is_deactivated(shape):
                continue
            seen.add(shape)
            for part in self._shapes.objects(shape, "property"):
                order.add(part, shape)
                waiting.append(part)
        try:
            ordered = list(order.static_order())
        except CycleError as error:
            raise self._recursive(error.args[1][0]) from None
        domains: dict[Term, Domain] = {}
        for shape in ordered:
            domain = domains[shape] = _either(ways.get(shape, []))
            if not self._is_deactivated(shape):
                for part in dict.fromkeys(self._shapes.objects(shape, "property")):
                    ways.setdefault(part, []).append(self._inner(shape, domain, "that"))
        return {each: domains[each] for each in ordered if not self._is_deactivated(each)}

    def _targets(self, shape: Term) -> Iterator[Domain]:
        for kind, text in _TARGETS.items():
            for target in self._shapes.objects(shape, kind):
                yield _group(text, target)
        kinds = self._shapes.objects(shape, rdf.TYPE)
        if {sh("NodeShape"), sh("PropertyShape")} & set(kinds) and any(map(self._is_class, kinds)):
            yield _group(_TARGETS["targetClass"], shape)

    def _is_class(self, kind: Term) -> bool:
        """Whether the instances of a class are classes."""
        seen, waiting = {kind}, [kind]
        for each in waiting:
            waiting += [c for c in self._shapes.objects(each, rdfs.SUBCLASS_OF) if c not in seen]
            seen.update(waiting)
        return not seen.isdisjoint(_CLASSES)

    def _inner(self, shape: Term, domain: Domain, focus: str) -> Domain:
        """The value nodes of a shape, to which shapes of its constraints apply."""
        if self._path(shape) is None:
            return domain
        return lambda x: f"{{ SELECT DISTINCT ?{x} {{ {self._values(shape, domain, focus, x)} }} }}"

    def _values(self, shape: Term, domain: Domain, focus: str, value: str) -> str:
        """A group that binds focus and value nodes."""
        path = self._path(shape)
        if path is None:
            return f"{domain(focus)} BIND(?{focus} AS ?{value})"
        written = self._shapes.path(path)
        found = f"{domain(focus)} ?{focus} {written} ?{value} ."
        if self._is_empty(path):
            # A path of length zero is there for each focus node, be it in the graph or not.
            found = f"{{ {found} }} UNION {{ {domain(focus)} BIND(?{focus} AS ?{value}) }}"
        return f"{{ {found} }}"

    def _is_empty(self, path: Term) -> bool:
        """Whether a path may have length zero."""
        shapes = self._shapes
        if shapes.objects(path, "zeroOrMorePath") or shapes.objects(path, "zeroOrOnePath"):
            return True
        if found := shapes.objects(path, "alternativePath"):
            return any(map(self._is_empty, shapes.items(found[0])))
        if shapes.objects(path, rdf.FIRST):
            return all(map(self._is_empty, shapes.items(path)))
        inner = [*shapes.objects(path, "inversePath"), *shapes.objects(path, "oneOrMorePath")]
        return any(map(self._is_empty, inner))

    def _path(self, shape: Term) -> Term | None:
        return self._shapes.one(shape, "path")

    def _is_deactivated(self, shape: Term) -> bool:
        return Literal("true", xsd.BOOLEAN) in self._shapes.objects(shape, "deactivated")

    def _recursive(self, shape: Term) -> ShapesError:
        return self._shapes.fault(shape, "it cannot be compiled: a recursive shape, part of itself")

    # -- what they demand -------------------------------------------------------------------

    def _violators(self, shape: Term, domain: Domain, x: str) -> str:
        """A group that binds a variable to the nodes of a domain that violate a shape; "": none."""
        if self._is_deactivated(shape):
            return ""
        if shape in self._open:
            raise self._recursive(shape)
        self._open.append(shape)
        found = [each.pattern for each in self._constraints(shape, domain, x)]
        value = _next(x)
        for part in self._shapes.objects(shape, "property"):
            if self._path(shape) is None:
                found.append(self._violators(part, domain, x))
            elif inner := self._violators(part, self._inner(shape, domain, x), value):
                found.append(f"{self._values(shape, domain, x, value)} {inner}")
        self._open.pop()
        found = [each for each in found if each]
        return f"{{ SELECT DISTINCT ?{x} {{ {_union(found)} }} }}" if found else ""

    def _constraints(self, shape: Term, domain: Domain, this: str) -> Iterator[_Constraint]:
        """The constraints of a shape itself, in the order of the table, then those in SPARQL."""
        shapes = self._shapes
        for name in NOT_COMPILED:
            if shapes.objects(shape, name):
                raise shapes.fault(shape, f"it cannot be compiled: sh:{name}")
        value = _next(this)
        values = self._values(shape, domain, this, value)
        own = shapes.objects(shape, "message")
        for parameter, component in CORE.items():
            for given in dict.fromkeys(shapes.objects(shape, parameter)):
                fields = {"this": this, "value": value, "domain": domain(this), "values": values}
                fields["p"] = given.n3
                inner = self._inner(shape, domain, this)
                if not self._fill(shape, parameter, given, inner, fields):
                    continue
                made = Template(component.pattern).substitute(fields)
                message = _message(own, component.shown)
                plain = given.lexical if isinstance(given, Literal) else fields["p"]
                message = message or Template(component.message).substitute(fields, p=plain)
                kind = f"{SH}{parameter[0].upper()}{parameter[1:]}ConstraintComponent"
                yield _Constraint(kind, made, message, component.shown, component.value)
        for each in self._sparql.constraints(shape, domain(this), values, this, value):
            message = _message(each.messages or own, each.shown) or "violates the constraint"
            yield _Constraint(each.component, each.pattern, message, each.shown)

    def _fill(
        self, shape: Term, parameter: str, given: Term, inner: Domain, fields: dict[str, str]
    ) -> bool:
        """Add what only some components have in their patterns; false if nothing can violate."""
        shapes, value = self._shapes, fields["value"]

        def violators(each: Term) -> str:
            return self._violators(each, inner, value)

        def here(text: str) -> str:
            return Template(text).substitute(value=value)

        match parameter:
            case "datatype":
                fields["valid"] = here(validity(str(given)))
            case "nodeKind":
                kind = KINDS.get(str(given).removeprefix(SH))
                if kind is None:
                    raise shapes.fault(shape, f"sh:nodeKind {given}: expected sh:IRI …")
                fields["kind"] = here(kind)
            case "pattern":
                flags = shapes.one(shape, "flags")
                fields["flags"] = '""' if flags is None else flags.n3
            case "in" | "languageIn":
                found = [each.n3 for each in shapes.items(given) if not each.startswith("_:")]
                fields["terms"] = " ".join(found)
                tests = [f"LANGMATCHES(LANG(?{value}), {each})" for each in found]
                fields["languages"] = " || ".join(tests) or "false"
            case "uniqueLang":
                return given == Literal("true", xsd.BOOLEAN)
            case "closed":
                ignored = shapes.one(shape, "ignoredProperties")
                allowed = [] if ignored is None else shapes.items(ignored)
                for part in shapes.objects(shape, "property"):
                    allowed += [p for p in shapes.objects(part, "path") if isinstance(p, IRI)]
                fields["allowed"] = ", ".join(each.n3 for each in dict.fromkeys(allowed))
                return given == Literal("true", xsd.BOOLEAN)
            case "node" | "not":
                fields["p"] = shapes.name(given)
                fields["shape"] = violators(given)
                if parameter == "not" and not fields["shape"]:
                    fields["shape"] = f"VALUES ?{value} {{ }}"
                return bool(fields["shape"])
            case "and" | "or" | "xone":
                return self._fill_list(parameter, shapes.items(given), violators, fields)
            case "qualifiedMinCount" | "qualifiedMaxCount":
                return self._fill_qualified(shape, violators, fields)
        return True

    def _fill_list(
        self,
        parameter: str,
        members: Sequence[Term],
        violators: Callable[[Term], str],
        fields: dict[str, str],
    ) -> bool:
        found = [violators(each) for each in members]
        there = [each for each in found if each]
        numbered = [f"{each} BIND({n} AS ?k)" for n, each in enumerate(there)]
        fields |= {
            "terms": ", ".join(map(self._shapes.name, members)),
            "any": _union(there),
            "all": " ".join(there),
            "numbered": _union(numbered),
            "others": str(len(members) - 1),
        }
        if parameter == "or":
            return len(there) == len(found)
        return bool(there) if parameter == "and" else bool(there) or len(members) != 1

    def _fill_qualified(
        self, shape: Term, violators: Callable[[Term], str], fields: dict[str, str]
    ) -> bool:
        shapes = self._shapes
        qualified = shapes.one(shape, "qualifiedValueShape")
        if qualified is None:
            return False
        conforming = fields["values"]
        if violating := violators(qualified):
            conforming += f" MINUS {{ {violating} }}"
        if Literal("true", xsd.BOOLEAN) in shapes.objects(shape, "qualifiedValueShapesDisjoint"):
            for sibling in self._siblings(shape, qualified):
                # What conforms to a sibling does not count: it has to violate each of them.
                conforming += f" {violators(sibling) or 'VALUES ?' + fields['value'] + ' { }'}"
        fields |= {"conforming": conforming, "qualified": shapes.name(qualified)}
        return True

    def _siblings(self, shape: Term, qualified: Term) -> list[Term]:
        """The other qualified shapes of the shapes that this shape is a property of."""
        shapes = self._shapes
        found: dict[Term, None] = {}
        for parent, _, _ in shapes.index.match(None, sh("property"), shape):
            for part in shapes.objects(parent, "property"):
                found |= dict.fromkeys(shapes.objects(part, "qualifiedValueShape"))
        return [each for each in found if each != qualified]


def _group(text: str, target: Term) -> Domain:
    return lambda x: f"{{ {text.format(x=x, p=target.n3)} }}"


def _either(ways: Sequence[Domain]) -> Domain:
    return lambda x: _union([each(x) for each in ways])


def _union(groups: Sequence[str]) -> str:
    if len(groups) == 1:
        return groups[0]
    return " UNION ".join(f"{{ {each} }}" for each in groups)


def _next(variable: str) -> str:
    """The variable of the value nodes of a focus node."""
    return "value" if variable == "this" else f"{variable}_"


def _message(messages: Sequence[Term], shown: Sequence[str]) -> str:
    """The message to show: one without a language, or in English, else the first. ``{$name}`` is
    the value of a variable that is shown.
    """
    found = [each for each in messages if isinstance(each, Literal)]
    found.sort(key=lambda each: (each.language or "") not in ("", "en"))
    if not found:
        return ""
    return _WRITTEN.sub(lambda m: f"{{?{m[1]}}}" if m[1] in shown else m[1], found[0].lexical)
