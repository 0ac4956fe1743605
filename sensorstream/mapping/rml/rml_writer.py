"""The writer of an RML mapping as Turtle, in RML-Core's vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sensorstream.language.syntax import Hole
from sensorstream.mapping.functions.function_definition import PARAMETER, VALUE
from sensorstream.mapping.rml.rml_model import (
    JoinCondition,
    LogicalSource,
    ParentMap,
    PredicateObjects,
    RmlMapping,
    TriplesMap,
    makes_literals,
)
from sensorstream.mapping.rml.rml_template import print_template
from sensorstream.mapping.rml.rml_turtle import RML
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Reference,
    StringTemplate,
    TermMap,
)
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import SENSORSTREAM

_LOCAL: Final = re.compile(r"[A-Za-z_](?:[\w-]*\w)?\Z", re.ASCII)


def print_rml(mapping: RmlMapping) -> str:
    """Turtle; ``read_rml`` of it gives an equal mapping, without positions."""
    prefixes = {name: iri for name, iri in mapping.prefixes if name not in ("rml", "ss")}
    prefixes |= {"rml": RML, "ss": SENSORSTREAM}
    head = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
    writer = _Writer(prefixes)
    return "\n".join([head, *(writer.triples_map(each) for each in mapping.maps)])


class _Writer:
    """A writer of terms with the prefixes of one document."""

    def __init__(self, prefixes: dict[str, str]) -> None:
        self._prefixes = prefixes

    def triples_map(self, each: TriplesMap) -> str:
        subject = [*self._term_parts(each.subject)]
        if each.subject.type != "IRI" and not isinstance(each.subject.expression, ConstantTerm):
            subject.append(f"rml:termType rml:{each.subject.type}")
        subject += [f"rml:class {self._iri(name)}" for name in each.classes]
        subject += self._each("graph", each.graphs)
        if each.at is not None:
            subject.append(f"ss:at {_text(each.at.text)}")
        if each.update:
            subject.append("ss:update true")
        lines = [
            f"{self._iri(IRI(each.key))} a rml:TriplesMap",
            f"  ss:rule {_text(each.rule)}",
            *([f"  rml:baseIRI {_text(each.base)}"] if each.base else []),
            f"  rml:logicalSource {self._source(each.source)}",
            f"  rml:subjectMap {_node(subject)}",
            *(f"  rml:predicateObjectMap {self._property(values)}" for values in each.properties),
        ]
        return " ;\n".join(lines) + " .\n"

    def _source(self, source: LogicalSource) -> str:
        formulation = "rml:XPath"
        if source.namespaces:
            spaces = [(_text(prefix), _text(uri)) for prefix, uri in source.namespaces]
            names = (
                f"rml:namespace [ rml:namespacePrefix {prefix} ; rml:namespaceURL {uri} ]"
                for prefix, uri in spaces
            )
            formulation = _node(["a rml:XPathReferenceFormulation", *names])
        parts = [
            *([f"rml:source {_name(source)}"] if source.name else []),
            f"rml:referenceFormulation {formulation}",
            f"rml:iterator {_text(source.iterator.text)}",
        ]
        return _node(parts)

    def _property(self, values: PredicateObjects) -> str:
        return _node(
            [
                *self._each("predicate", values.predicates),
                *self._each("object", values.objects),
                *self._each("graph", values.graphs),
            ]
        )

    def _each(self, what: str, maps: Sequence[TermMap | ParentMap]) -> Iterator[str]:
        """Write maps, constants first, since their shortcuts are read first."""
        front = True
        for each in maps:
            front = front and isinstance(each, TermMap) and _is_plain(each)
            if isinstance(each, ParentMap):
                yield self._parent(each)
            else:
                yield self._either(what, each, shortcut=front)

    def _either(self, what: str, term_map: TermMap, *, shortcut: bool = True) -> str:
        """The constant shortcut if it is sufficient, else the map."""
        expression = term_map.expression
        if isinstance(expression, ConstantTerm) and shortcut and _is_plain(term_map):
            return f"rml:{what} {self._term(expression.term)}"
        parts = [*self._term_parts(term_map)]
        is_literal = what == "object" and makes_literals(
            expression, term_map.datatype, term_map.language
        )
        default = "Literal" if is_literal or what == "language" else "IRI"
        if term_map.type != default and not isinstance(expression, ConstantTerm):
            parts.append(f"rml:termType rml:{term_map.type}")
        return f"rml:{what}Map {_node(parts)}"

    def _parent(self, value: ParentMap) -> str:
        joins = [f"rml:joinCondition {self._join(join)}" for join in value.joins]
        return "rml:objectMap " + _node(
            [f"rml:parentTriplesMap {self._iri(IRI(value.parent))}", *joins]
        )

    def _join(self, join: JoinCondition) -> str:
        return _node(
            [
                f"rml:{side} {_text(expression.xpath.text)}"
                if isinstance(expression, Reference)
                else f"rml:{side}Map {_node([self._expression(expression)])}"
                for side, expression in (("child", join.child), ("parent", join.parent))
            ]
        )

    def _term_parts(self, term_map: TermMap) -> Iterator[str]:
        if term_map.expression is not None:
            yield self._expression(term_map.expression)
        for what, inner in (("datatype", term_map.datatype), ("language", term_map.language)):
            if inner is not None:
                yield self._either(what, inner)
        yield from _policies(term_map)

    def _expression(self, expression: Expression) -> str:
        match expression:
            case ConstantTerm(term=term):
                return f"rml:constant {self._term(term)}"
            case Reference(xpath=Hole(text=text)):
                return f"rml:reference {_text(text)}"
            case StringTemplate(parts=parts):
                return f"rml:template {_text(print_template(parts))}"
            case FunctionValue():
                return f"rml:functionExecution {self._execution(expression)}"

    def _execution(self, value: FunctionValue) -> str:
        inputs = [
            f"rml:input [ rml:parameter <{PARAMETER}{VALUE}> ; "
            f"rml:inputValueMap [ {self._expression(value.value)} ] ]",
            *(
                f"rml:input [ rml:parameter <{PARAMETER}{name}> ; rml:inputValue {_text(text)} ]"
                for name, text in value.arguments
            ),
        ]
        return _node([f"rml:function {self._iri(IRI(value.function))}", *inputs])

    def _term(self, term: IRI | Literal) -> str:
        if isinstance(term, IRI):
            return self._iri(term)
        if term.language is not None or '"^^<' not in term.n3:
            return term.n3
        return f"{_text(term.lexical)}^^{self._iri(IRI(term.datatype))}"

    def _iri(self, iri: IRI) -> str:
        for name, namespace in self._prefixes.items():
            local = iri.removeprefix(namespace)
            if iri.startswith(namespace) and _LOCAL.match(local):
                return f"{name}:{local}"
        return iri.n3


def _is_plain(term_map: TermMap) -> bool:
    """Whether the map is a constant and nothing else."""
    return (
        isinstance(term_map.expression, ConstantTerm)
        and term_map.datatype is None
        and term_map.language is None
        and not any(_policies(term_map))
    )


def _policies(term_map: TermMap) -> Iterator[str]:
    if term_map.missing != "skip":
        yield f"ss:missing {_text(term_map.missing)}"
    if term_map.if_valid:
        yield 'ss:invalid "missing"'


def _name(source: LogicalSource) -> str:
    match source.root:
        case None:
            return IRI(source.name).n3
        case "mapping":
            return _text(source.name)
        case "working":
            return _node([f"rml:path {_text(source.name)}", "rml:root rml:CurrentWorkingDirectory"])


def _node(parts: Sequence[str]) -> str:
    return f"[ {' ; '.join(parts)} ]"


def _text(text: str) -> str:
    return Literal(text).n3
