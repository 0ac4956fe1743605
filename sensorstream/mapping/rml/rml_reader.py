"""The reader of an RML mapping in Turtle, with an error for everything that is not supported.

Source: RML-Core (http://w3id.org/rml/core/spec) and the XPath part of the RML-IO-Registry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast, get_args

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import Hole
from sensorstream.mapping.functions.function_definition import NO_LIBRARY, Library
from sensorstream.mapping.rml.function_executions import ONE_EXPRESSION, ExpressionReader
from sensorstream.mapping.rml.rml_model import (
    JoinCondition,
    LogicalSource,
    ParentMap,
    PredicateObjects,
    RmlMapping,
    Root,
    TriplesMap,
    makes_literals,
)
from sensorstream.mapping.rml.rml_turtle import (
    AT,
    INVALID,
    LITERALS,
    MISSING,
    RULE,
    TERM,
    UPDATE,
    XPATH,
    XPATH_CLASS,
    MappingGraph,
    rml,
)
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    Expression,
    Missing,
    Reference,
    TermMap,
    TermType,
)
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term

(_TRIPLES_MAP,) = rml("TriplesMap")
_ROOTS: Final[Mapping[Term, Root]] = dict(
    zip(rml("MappingDirectory", "CurrentWorkingDirectory"), get_args(Root), strict=True)
)
_MARKS: Final = rml("logicalSource", "subjectMap", "subject", "logicalTable")
"""Properties that only triples maps have, to find triples maps without a type."""


def read_rml(
    text: str, file: str = "", base: str = "", library: Library = NO_LIBRARY
) -> RmlMapping:
    """The mapping in a Turtle document; ``file`` names it in errors.

    ``base`` is the base IRI of triples maps without an ``rml:baseIRI``; if it is empty, that is the
    ``@base`` of the document. ``library`` holds the functions that it may name.

    Raises:
        LanguageError: not Turtle, or a map that violates RML-Core or needs an unsupported feature
            (other reference formulations, logical targets). It names the map and what was expected.
    """
    graph = MappingGraph(text, file)
    listed: dict[Subject, None] = dict.fromkeys(graph.instances(_TRIPLES_MAP))
    for mark in _MARKS:
        listed.update(dict.fromkeys(graph.subjects(mark)))
    if not listed:
        raise LanguageError("there is no rml:TriplesMap here", position=Position(file, 1, 1))
    maps = tuple(
        _Reader(graph, node, library).triples_map(n, base or graph.base)
        for n, node in enumerate(listed, 1)
    )
    mapping = RmlMapping(maps, graph.prefixes, file)
    for each in maps:
        for values in each.properties:
            for value in values.objects:
                if isinstance(value, ParentMap):
                    _check_parent(graph, each, value, mapping)
    return mapping


_TERM_TYPES: Final = {
    "subject map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode"),
    "predicate map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "datatype map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "graph map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "object map": get_args(TermType),
}


class _TermReader(ExpressionReader):
    """A reader of the term maps of one triples map (RML-Core, "Term Maps")."""

    def constant(self, term: Term, kind: str, where: str) -> TermMap:
        where = f"{where}, {kind}"
        if isinstance(term, BlankNode):
            raise self.error(
                where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
            )
        if isinstance(term, Literal) and kind != "object map":
            raise self.error(where, f"{self.graph.shown(term)} is a literal: expected an IRI")
        is_literal = isinstance(term, Literal)
        return TermMap(
            ConstantTerm(term),
            "Literal" if is_literal else "IRI",
            where=where,
            position=self.place,
        )

    def term_map(self, node: Term, kind: str, where: str) -> TermMap:
        graph = self.graph
        self.only(node, kind, where)
        expression = self.expression(node, where)
        datatype = self._inner(node, where, "datatype")
        language = self._inner(node, where, "language")
        written = graph.values(node, *rml("termType"))
        if isinstance(expression, ConstantTerm):
            made = self.constant(expression.term, kind, where.rpartition(",")[0])
            if made.type != "Literal" and (datatype or language):
                raise self.error(where, "a datatype or language belongs to literals")
            if datatype and language:
                raise self.error(where, "expected a datatype or a language, not both")
            return replace(made, datatype=datatype, language=language)
        if len(written) > 1:
            raise self.error(where, "two term types: expected one rml:termType")
        is_literal = kind == "object map" and makes_literals(expression, datatype, language)
        wanted = graph.shown(written[0]) if written else "rml:Literal" if is_literal else "rml:IRI"
        allowed = _TERM_TYPES[kind]
        term_type = next((each for each in allowed if f"rml:{each}" == wanted), None)
        if term_type is None:
            listed = ", ".join(f"rml:{each}" for each in allowed)
            raise self.error(where, f"term type {wanted}: expected one of {listed}")
        if expression is None and term_type != "BlankNode":
            raise self.error(where, ONE_EXPRESSION)
        if term_type != "Literal" and (datatype or language):
            raise self.error(where, f"a datatype or language belongs to literals, not to {wanted}")
        if datatype and language:
            raise self.error(where, "expected a datatype or a language, not both")
        missing, if_valid = self._policies(node, where)
        return TermMap(
            expression, term_type, datatype, language, missing, if_valid, where, position=self.place
        )

    def each(self, node: Term, what: str, where: str) -> tuple[TermMap, ...]:
        """The maps of a node, constants first."""
        constants, maps = self.either(node, what)
        return (
            *(self.constant(each, f"{what} map", where) for each in constants),
            *(self.term_map(each, f"{what} map", f"{where}, {what} map") for each in maps),
        )

    def _policies(self, node: Term, where: str) -> tuple[Missing, bool]:
        missing = self.word(node, where, MISSING, get_args(Missing))
        invalid = self.word(node, where, INVALID, ("reject", "missing"))
        return cast(Missing, missing), invalid == "missing"

    def _inner(self, node: Term, where: str, what: str) -> TermMap | None:
        constants, maps = self.either(node, what)
        if len(constants) + len(maps) > 1:
            raise self.error(where, f"expected one rml:{what} or rml:{what}Map")
        if what == "datatype":
            return next(iter(self.each(node, what, where)), None)
        where = f"{where}, language map"
        for term in constants:
            return self._tag(ConstantTerm(term), where) if isinstance(term, Literal | IRI) else None
        for each in maps:
            self.only(each, "language map", where)
            expression = self.expression(each, where)
            if expression is None:
                raise self.error(where, ONE_EXPRESSION)
            return self._tag(expression, where)
        return None

    def _tag(self, expression: Expression, where: str) -> TermMap:
        if isinstance(expression, ConstantTerm) and not isinstance(expression.term, Literal):
            raise self.error(where, 'expected a language tag in quotes, such as "en"')
        return TermMap(expression, "Literal", where=where, position=self.place)


class _Reader(_TermReader):
    """A reader of one triples map."""

    def triples_map(self, number: int, base: str | None) -> TriplesMap:
        graph, node = self.graph, self.node
        name = graph.shown(node) if isinstance(node, IRI) else f"number {number}"
        where = f"triples map {name}"
        if graph.values(node, *rml("logicalTable")):
            raise self.error(where, "rml:logicalTable is for databases: expected XML messages")
        self.only(node, "triples map", where)
        source = self._source(self.one(node, where, "logicalSource"), where)
        subject, subject_map = self._subject(node, where)
        inner = f"{where}, subject map"
        properties = []
        listed = graph.values(node, *rml("predicateObjectMap"))
        for count, each in enumerate(listed, 1):
            properties.append(self._predicate_objects(each, f"{where}, property {count}"))
        return TriplesMap(
            key=str(node) if isinstance(node, IRI) else f"_:{number}",
            rule=self._rule_name(node, number),
            source=source,
            subject=subject_map,
            classes=tuple(self._classes(subject, inner)),
            properties=tuple(properties),
            graphs=self.each(subject, "graph", inner),
            base=self._base(node, where, base),
            at=self._time(subject, inner),
            update=self.word(subject, inner, UPDATE, ("false", "true")) == "true",
            position=self.place,
        )

    def _subject(self, node: Subject, where: str) -> tuple[Term, TermMap]:
        """The node of the subject map (the constant itself for the shortcut), and the map."""
        constants, maps = self.either(node, "subject")
        if len(constants) + len(maps) != 1:
            count = "no" if not constants and not maps else "more than one"
            raise self.error(where, f"{count} subject: expected one rml:subjectMap or rml:subject")
        if constants:
            return constants[0], self.constant(constants[0], "subject map", where)
        return maps[0], self.term_map(maps[0], "subject map", f"{where}, subject map")

    def _rule_name(self, node: Subject, number: int) -> str:
        for value in self.graph.values(node, RULE):
            if isinstance(value, Literal) and re.fullmatch(r"[^\W\d][\w-]*", value.lexical):
                return value.lexical
            raise self.error("ss:rule", 'expected the name of a rule, such as "face-tracker"')
        local = re.split(r"[/#:]", str(node).rstrip("/#"))[-1] if isinstance(node, IRI) else ""
        name = re.sub(r"[^\w-]+", "-", local).strip("-")
        return name if re.match(r"[^\W\d]", name) else f"map-{name or number}"

    def _base(self, node: Subject, where: str, default: str | None) -> str | None:
        written = self.graph.values(node, *rml("baseIRI"))
        if len(written) > 1 or any(isinstance(value, BlankNode) for value in written):
            raise self.error(where, "expected one IRI as rml:baseIRI")
        if not written:
            return default
        (value,) = written
        return value.lexical if isinstance(value, Literal) else str(value)

    def _time(self, subject: Term, where: str) -> Hole | None:
        written = self.graph.values(subject, AT)
        if not written:
            return None
        if len(written) > 1 or not isinstance(written[0], Literal):
            raise self.error(where, 'expected one XPath in quotes as ss:at, such as "@time"')
        return self.hole(written[0].lexical)

    def _classes(self, subject: Term, where: str) -> list[IRI]:
        found = self.graph.values(subject, *rml("class"))
        for each in found:
            if not isinstance(each, IRI):
                shown = self.graph.shown(each)
                raise self.error(where, f"rml:class {shown}: expected the IRI of a class")
        return [each for each in found if isinstance(each, IRI)]

    # Sources

    def _source(self, node: Term, where: str) -> LogicalSource:
        graph, where = self.graph, f"{where}, logical source"
        self.only(node, "logical source", where)
        formulation = self.one(node, where, "referenceFormulation")
        if formulation != XPATH and XPATH_CLASS not in graph.values(formulation, rdf.TYPE):
            shown = graph.shown(formulation)
            raise self.error(
                where, f"reference formulation {shown}: messages are XML, expected rml:XPath"
            )
        self.only(formulation, "reference formulation", where)
        namespaces = {}
        for each in graph.values(formulation, *rml("namespace")):
            self.only(each, "namespace", where)
            prefix = self.text(each, where, "namespacePrefix")
            namespaces[prefix] = self.text(each, where, "namespaceURL")
        iterator = Hole("/", position=self.place)  # the default of the XPath formulation
        for value in graph.values(node, *rml("iterator")):
            if not isinstance(value, Literal) or iterator.text != "/" or not value.lexical.strip():
                raise self.error(where, "expected one XPath in quotes as rml:iterator")
            iterator = self.hole(value.lexical)
        name, root = self._source_name(node, where)
        return LogicalSource(name, iterator, tuple(namespaces.items()), root)

    def _source_name(self, node: Term, where: str) -> tuple[str, Root | None]:
        """The name of the source, and where to look for it if it is a file."""
        graph, where = self.graph, f"{where}, source"
        sources = graph.values(node, *rml("source"))
        if len(sources) > 1:
            raise self.error(where, "more than one rml:source: expected at most one")
        for source in sources:
            if isinstance(source, Literal):
                return source.lexical, "mapping"
            self.only(source, "source", where)
            paths, roots = (graph.values(source, name) for name in rml("path", "root"))
            if not paths:
                return ("" if isinstance(source, BlankNode) else str(source)), None
            if len(paths) > 1 or not isinstance(paths[0], Literal) or len(roots) > 1:
                raise self.error(where, "expected one rml:path in quotes, and at most one rml:root")
            if roots and roots[0] not in _ROOTS:
                raise self.error(
                    where,
                    f"rml:root {graph.shown(roots[0])}: expected rml:MappingDirectory or "
                    "rml:CurrentWorkingDirectory",
                )
            return paths[0].lexical, _ROOTS[roots[0]] if roots else "mapping"
        return "", None

    # Properties

    def _predicate_objects(self, node: Term, where: str) -> PredicateObjects:
        graph = self.graph
        self.only(node, "predicate-object map", where)
        constants = graph.values(node, *rml("predicate"))
        if constants:
            where = f"{where} ({graph.shown(constants[0])})"
        predicates = self.each(node, "predicate", where)
        objects = (
            *(
                self.constant(each, "object map", where)
                for each in graph.values(node, *rml("object"))
            ),
            *(
                self._object_map(each, f"{where}, object map")
                for each in graph.values(node, *rml("objectMap"))
            ),
        )
        for what, found in (("predicate", predicates), ("object", objects)):
            if not found:
                raise self.error(where, f"no {what}: expected rml:{what} or rml:{what}Map")
        return PredicateObjects(predicates, objects, self.each(node, "graph", where))

    def _object_map(self, node: Term, where: str) -> TermMap | ParentMap:
        parents = self.graph.values(node, *rml("parentTriplesMap"))
        joins = self.graph.values(node, *rml("joinCondition"))
        if not parents:
            if joins:
                raise self.error(where, "rml:joinCondition without rml:parentTriplesMap")
            return self.term_map(node, "object map", where)
        self.only(node, "object map", where)
        others = self.graph.values(node, *TERM, *LITERALS, MISSING, INVALID)
        if others or len(parents) > 1 or not isinstance(parents[0], IRI):
            raise self.error(where, "expected the IRI of one triples map, and join conditions")
        return ParentMap(
            str(parents[0]),
            tuple(self._join(each, where) for each in joins),
            where,
            position=self.place,
        )

    def _join(self, node: Term, where: str) -> JoinCondition:
        where = f"{where}, join condition"
        self.only(node, "join condition", where)
        sides = []
        for side in ("child", "parent"):
            short_form, maps = self.either(node, side)
            if len(short_form) + len(maps) != 1:
                raise self.error(where, f"expected one rml:{side} or rml:{side}Map")
            if maps:
                self.only(maps[0], f"{side} map", where)
                expression = self.expression(maps[0], f"{where}, {side} map")
                if expression is None:
                    raise self.error(where, f"rml:{side}Map is empty: {ONE_EXPRESSION}")
                sides.append(expression)
            elif isinstance(short_form[0], Literal):
                sides.append(Reference(self.hole(short_form[0].lexical)))
            else:
                raise self.error(where, f"rml:{side}: expected an XPath in quotes")
        return JoinCondition(*sides)


def _check_parent(
    graph: MappingGraph, child: TriplesMap, value: ParentMap, mapping: RmlMapping
) -> None:
    parent = mapping.named(value.parent)
    shown = graph.shown(IRI(value.parent))
    what = ""
    if parent is None:
        what = f"there is no triples map {shown} in this document"
    elif parent.source.name != child.source.name and parent.source.root is None:
        what = (
            f"{shown} is about other messages ('{parent.source.name}'): one message is mapped at "
            "a time, expected the same rml:source, or a file"
        )
    elif parent.source.name != child.source.name and parent.subject.type == "BlankNode":
        what = (
            f"the subjects of {shown} are blank nodes: expected IRIs, since a blank node of "
            f"{parent.source.name} is not known in a message"
        )
    elif not value.joins and parent.source != child.source:
        what = f"{shown} has another source or iterator: expected an rml:joinCondition"
    if what:
        raise LanguageError(f"{value.where}: {what}", position=value.position)
