"""Turtle to an RML mapping, with an error for all that SensorStream would not do.

Source: RML-Core (http://w3id.org/rml/core/spec) and the XPath part of the RML-IO-Registry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast, get_args

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import Hole
from sensorstream.mapping.rml.model import (
    Constant,
    Expression,
    Join,
    LogicalSource,
    Missing,
    ParentMap,
    PredicateObjects,
    Reference,
    RmlMapping,
    Template,
    TermMap,
    TermType,
    TriplesMap,
)
from sensorstream.mapping.rml.template import parse_template
from sensorstream.mapping.rml.turtle import MappingGraph
from sensorstream.mapping.rml.vocabulary import RML, short
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import RDF_TYPE, SENSORSTREAM


def _rml(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(RML + name) for name in names)


_AT: Final = IRI(f"{SENSORSTREAM}at")
_UPDATE: Final = IRI(f"{SENSORSTREAM}update")
_RULE: Final = IRI(f"{SENSORSTREAM}rule")
_MISSING: Final = IRI(f"{SENSORSTREAM}missing")
_INVALID: Final = IRI(f"{SENSORSTREAM}invalid")
_XPATH, _XPATH_CLASS, _DEFAULT_GRAPH, _LITERAL = _rml(
    "XPath", "XPathReferenceFormulation", "defaultGraph", "Literal"
)

_EXPRESSION: Final = _rml("constant", "reference", "template")
_GRAPHS: Final = _rml("graph", "graphMap")
_TERM: Final = (*_EXPRESSION, *_rml("termType"))
_LITERALS: Final = _rml("datatype", "datatypeMap", "language", "languageMap")
_ALLOWED: Final = {
    "triples map": (
        *_rml("logicalSource", "subject", "subjectMap", "predicateObjectMap", "baseIRI"),
        _RULE,
    ),
    "logical source": _rml("source", "iterator", "referenceFormulation"),
    "reference formulation": _rml("namespace"),
    "namespace": _rml("namespacePrefix", "namespaceURL"),
    "subject map": (*_TERM, *_GRAPHS, *_rml("class"), _AT, _UPDATE, _MISSING, _INVALID),
    "predicate-object map": (
        *_rml("predicate", "predicateMap", "object", "objectMap"),
        *_GRAPHS,
    ),
    "predicate map": _TERM,
    "object map": (
        *(*_TERM, *_LITERALS, *_rml("parentTriplesMap", "joinCondition")),
        *(_MISSING, _INVALID),
    ),
    "datatype map": _TERM,
    "language map": _EXPRESSION,
    "join condition": _rml("child", "childMap", "parent", "parentMap"),
    "child map": _EXPRESSION,
    "parent map": _EXPRESSION,
}
_TERM_TYPES: Final = {
    "subject map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode"),
    "predicate map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "datatype map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "object map": get_args(TermType),
}


def read_rml(text: str, file: str = "") -> RmlMapping:
    """The mapping that a Turtle document describes; ``file`` names it in errors.

    Raises:
        LanguageError: not Turtle, or a map that breaks RML-Core or asks for what SensorStream
            does not have (other reference formulations, named graphs, functions). It names the
            map and what was expected.
    """
    return _Reader(MappingGraph(text, file)).mapping()


class _Reader:
    """Walks one document; ``self._map`` is the triples map that it is in."""

    def __init__(self, graph: MappingGraph) -> None:
        self._graph = graph
        self._map: Term = IRI("")
        self._place = Position(graph.file, 1, 1)

    def mapping(self) -> RmlMapping:
        graph = self._graph
        (triples_map,) = _rml("TriplesMap")
        marks = _rml("logicalSource", "subjectMap", "subject", "logicalTable")
        listed: dict[Subject, None] = dict.fromkeys(graph.instances(triples_map))
        for mark in marks:
            listed.update(dict.fromkeys(graph.subjects(mark)))
        if not listed:
            raise LanguageError("there is no rml:TriplesMap here", position=self._place)
        maps = tuple(self._triples_map(node, number) for number, node in enumerate(listed, 1))
        mapping = RmlMapping(maps, graph.prefixes, graph.file)
        self._check_parents(mapping)
        return mapping

    # Triples maps

    def _triples_map(self, node: Subject, number: int) -> TriplesMap:
        graph = self._graph
        self._map, self._place = node, graph.position_of(node)
        name = graph.shown(node) if isinstance(node, IRI) else f"number {number}"
        where = f"triples map {name}"
        if graph.values(node, *_rml("logicalTable")):
            raise self._error(where, "rml:logicalTable is for databases: expected XML messages")
        self._only(node, "triples map", where)
        source = self._source(self._one(node, where, "logicalSource"), where)
        subject, subject_map = self._subject(node, where)
        inner = f"{where}, subject map"
        properties = []
        listed = graph.values(node, *_rml("predicateObjectMap"))
        for count, each in enumerate(listed, 1):
            properties.append(self._predicate_objects(each, f"{where}, property {count}"))
        return TriplesMap(
            key=str(node) if isinstance(node, IRI) else f"_:{number}",
            rule=self._rule_name(node, number),
            source=source,
            subject=subject_map,
            classes=tuple(self._classes(subject, inner)),
            properties=tuple(properties),
            base=self._base(node, where),
            at=self._time(subject, inner),
            update=self._word(subject, inner, _UPDATE, ("false", "true")) == "true",
            position=self._place,
        )

    def _subject(self, node: Subject, where: str) -> tuple[Term, TermMap]:
        """The node of the subject map (the constant itself for the shortcut), and the map."""
        constants = self._graph.values(node, *_rml("subject"))
        maps = self._graph.values(node, *_rml("subjectMap"))
        if len(constants) + len(maps) != 1:
            count = "no" if not constants and not maps else "more than one"
            raise self._error(where, f"{count} subject: expected one rml:subjectMap or rml:subject")
        if constants:
            return constants[0], self._constant(constants[0], "subject map", where)
        return maps[0], self._term_map(maps[0], "subject map", f"{where}, subject map")

    def _rule_name(self, node: Subject, number: int) -> str:
        for value in self._graph.values(node, _RULE):
            if isinstance(value, Literal) and re.fullmatch(r"[^\W\d][\w-]*", value.lexical):
                return value.lexical
            raise self._error("ss:rule", 'expected the name of a rule, such as "face-tracker"')
        local = re.split(r"[/#:]", str(node).rstrip("/#"))[-1] if isinstance(node, IRI) else ""
        name = re.sub(r"[^\w-]+", "-", local).strip("-")
        return name if re.match(r"[^\W\d]", name) else f"map-{name or number}"

    def _base(self, node: Subject, where: str) -> str | None:
        written = self._graph.values(node, *_rml("baseIRI"))
        if len(written) > 1 or any(isinstance(value, BlankNode) for value in written):
            raise self._error(where, "expected one IRI as rml:baseIRI")
        if not written:
            return self._graph.base
        (value,) = written
        return value.lexical if isinstance(value, Literal) else str(value)

    def _time(self, subject: Term, where: str) -> Hole | None:
        written = self._graph.values(subject, _AT)
        if not written:
            return None
        if len(written) > 1 or not isinstance(written[0], Literal):
            raise self._error(where, 'expected one XPath in quotes as ss:at, such as "@time"')
        return self._hole(written[0].lexical)

    def _classes(self, subject: Term, where: str) -> list[IRI]:
        found = self._graph.values(subject, *_rml("class"))
        for each in found:
            if not isinstance(each, IRI):
                shown = self._graph.shown(each)
                raise self._error(where, f"rml:class {shown}: expected the IRI of a class")
        self._default_graph(subject, where)
        return [each for each in found if isinstance(each, IRI)]

    # Sources

    def _source(self, node: Term, where: str) -> LogicalSource:
        graph, where = self._graph, f"{where}, logical source"
        self._only(node, "logical source", where)
        formulation = self._one(node, where, "referenceFormulation")
        if formulation != _XPATH and _XPATH_CLASS not in graph.values(formulation, RDF_TYPE):
            shown = graph.shown(formulation)
            raise self._error(
                where, f"reference formulation {shown}: messages are XML, expected rml:XPath"
            )
        self._only(formulation, "reference formulation", where)
        namespaces = {}
        for each in graph.values(formulation, *_rml("namespace")):
            self._only(each, "namespace", where)
            prefix = self._text(each, where, "namespacePrefix")
            namespaces[prefix] = self._text(each, where, "namespaceURL")
        iterator = Hole("/", position=self._place)  # the default of the XPath formulation
        for value in graph.values(node, *_rml("iterator")):
            if not isinstance(value, Literal) or iterator.text != "/" or not value.lexical.strip():
                raise self._error(where, "expected one XPath in quotes as rml:iterator")
            iterator = self._hole(value.lexical)
        return LogicalSource(self._source_name(node), iterator, tuple(namespaces.items()))

    def _source_name(self, node: Term) -> str:
        """What the document calls its source; messages come from anywhere."""
        for source in self._graph.values(node, *_rml("source")):
            paths = self._graph.values(source, *_rml("path"))
            if isinstance(source, BlankNode):
                others = self._graph.values(source, *self._graph.own_properties(source))
                named = next((each for each in (*paths, *others)), Literal(""))
            else:
                named = paths[0] if paths else source
            return named.lexical if isinstance(named, Literal) else str(named)
        return ""

    # Properties

    def _predicate_objects(self, node: Term, where: str) -> PredicateObjects:
        graph = self._graph
        self._only(node, "predicate-object map", where)
        self._default_graph(node, where)
        constants = graph.values(node, *_rml("predicate"))
        if constants:
            where = f"{where} ({graph.shown(constants[0])})"
        predicates = [
            *(self._constant(each, "predicate map", where) for each in constants),
            *(
                self._term_map(each, "predicate map", f"{where}, predicate map")
                for each in graph.values(node, *_rml("predicateMap"))
            ),
        ]
        objects = [
            *(
                self._constant(each, "object map", where)
                for each in graph.values(node, *_rml("object"))
            ),
            *(
                self._object_map(each, f"{where}, object map")
                for each in graph.values(node, *_rml("objectMap"))
            ),
        ]
        for what, found in (("predicate", predicates), ("object", objects)):
            if not found:
                raise self._error(where, f"no {what}: expected rml:{what} or rml:{what}Map")
        return PredicateObjects(tuple(predicates), tuple(objects))

    def _object_map(self, node: Term, where: str) -> TermMap | ParentMap:
        parents = self._graph.values(node, *_rml("parentTriplesMap"))
        joins = self._graph.values(node, *_rml("joinCondition"))
        if not parents:
            if joins:
                raise self._error(where, "rml:joinCondition without rml:parentTriplesMap")
            return self._term_map(node, "object map", where)
        self._only(node, "object map", where)
        others = self._graph.values(node, *_TERM, *_LITERALS)
        if others or len(parents) > 1 or not isinstance(parents[0], IRI):
            raise self._error(where, "expected the IRI of one triples map, and join conditions")
        return ParentMap(
            str(parents[0]), tuple(self._join(each, where) for each in joins), where, self._place
        )

    def _join(self, node: Term, where: str) -> Join:
        where = f"{where}, join condition"
        self._only(node, "join condition", where)
        sides = []
        for side in ("child", "parent"):
            short_form = self._graph.values(node, *_rml(side))
            maps = self._graph.values(node, *_rml(f"{side}Map"))
            if len(short_form) + len(maps) != 1:
                raise self._error(where, f"expected one rml:{side} or rml:{side}Map")
            if maps:
                self._only(maps[0], f"{side} map", where)
                expression = self._expression(maps[0], f"{where}, {side} map")
                if expression is None:
                    raise self._error(where, f"rml:{side}Map is empty: {_ONE_EXPRESSION}")
                sides.append(expression)
            elif isinstance(short_form[0], Literal):
                sides.append(Reference(self._hole(short_form[0].lexical)))
            else:
                raise self._error(where, f"rml:{side}: expected an XPath in quotes")
        return Join(*sides)

    # Terms

    def _constant(self, term: Term, kind: str, where: str) -> TermMap:
        where = f"{where}, {kind}"
        if isinstance(term, BlankNode):
            raise self._error(
                where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
            )
        if isinstance(term, Literal) and kind != "object map":
            raise self._error(where, f"{self._graph.shown(term)} is a literal: expected an IRI")
        is_literal = isinstance(term, Literal)
        return TermMap(
            Constant(term), "Literal" if is_literal else "IRI", where=where, position=self._place
        )

    def _term_map(self, node: Term, kind: str, where: str) -> TermMap:
        graph = self._graph
        self._only(node, kind, where)
        expression = self._expression(node, where)
        datatype = self._inner(node, where, "datatype")
        language = self._inner(node, where, "language")
        written = graph.values(node, *_rml("termType"))
        if isinstance(expression, Constant):
            return self._constant(expression.term, kind, where.rpartition(",")[0])
        if len(written) > 1:
            raise self._error(where, "two term types: expected one rml:termType")
        is_literal = kind == "object map" and (
            isinstance(expression, Reference) or datatype is not None or language is not None
        )
        wanted = graph.shown(written[0]) if written else "rml:Literal" if is_literal else "rml:IRI"
        allowed = _TERM_TYPES[kind]
        term_type = next((each for each in allowed if f"rml:{each}" == wanted), None)
        if term_type is None:
            listed = ", ".join(f"rml:{each}" for each in allowed)
            raise self._error(where, f"term type {wanted}: expected one of {listed}")
        if expression is None and term_type != "BlankNode":
            raise self._error(where, _ONE_EXPRESSION)
        if term_type != "Literal" and (datatype or language):
            raise self._error(where, f"a datatype or language belongs to literals, not to {wanted}")
        if datatype and language:
            raise self._error(where, "expected a datatype or a language, not both")
        missing, if_valid = self._policies(node, where)
        return TermMap(
            expression, term_type, datatype, language, missing, if_valid, where, self._place
        )

    def _policies(self, node: Term, where: str) -> tuple[Missing, bool]:
        missing = self._word(node, where, _MISSING, get_args(Missing))
        invalid = self._word(node, where, _INVALID, ("reject", "missing"))
        return cast(Missing, missing), invalid == "missing"

    def _word(self, node: Term, where: str, name: IRI, words: Sequence[str]) -> str:
        """One of some words, the first of them if the property is not there."""
        written = self._graph.values(node, name)
        if not written:
            return words[0]
        if len(written) == 1 and isinstance(written[0], Literal) and written[0].lexical in words:
            return written[0].lexical
        raise self._error(where, f"{short(name)}: expected one of {', '.join(words)}")

    def _inner(self, node: Term, where: str, what: str) -> TermMap | None:
        constants = self._graph.values(node, *_rml(what))
        maps = self._graph.values(node, *_rml(f"{what}Map"))
        if len(constants) + len(maps) > 1:
            raise self._error(where, f"expected one rml:{what} or rml:{what}Map")
        if what == "datatype":
            for term in constants:
                return self._constant(term, "datatype map", where)
            for each in maps:
                return self._term_map(each, "datatype map", f"{where}, datatype map")
            return None
        where = f"{where}, language map"
        for term in constants:
            return self._tag(Constant(term), where) if isinstance(term, Literal | IRI) else None
        for each in maps:
            self._only(each, "language map", where)
            expression = self._expression(each, where)
            if expression is None:
                raise self._error(where, _ONE_EXPRESSION)
            return self._tag(expression, where)
        return None

    def _tag(self, expression: Expression, where: str) -> TermMap:
        if isinstance(expression, Constant) and not isinstance(expression.term, Literal):
            raise self._error(where, 'expected a language tag in quotes, such as "en"')
        return TermMap(expression, "Literal", where=where, position=self._place)

    def _expression(self, node: Term, where: str) -> Expression | None:
        constant, reference, template = (self._graph.values(node, each) for each in _EXPRESSION)
        if len(constant) + len(reference) + len(template) > 1:
            raise self._error(where, _ONE_EXPRESSION)
        for term in constant:
            if isinstance(term, BlankNode):
                raise self._error(
                    where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
                )
            return Constant(term)
        for term in (*reference, *template):
            if not isinstance(term, Literal):
                shown = self._graph.shown(term)
                raise self._error(where, f"{shown}: expected an XPath or template in quotes")
            if reference:
                return Reference(self._hole(term.lexical))
            place = self._graph.position_of_text(term.lexical, self._map)
            try:
                return Template(parse_template(term.lexical, place))
            except LanguageError as error:
                raise LanguageError(f"{where}: {error.message}", position=error.position) from None
        return None

    def _hole(self, text: str) -> Hole:
        return Hole(text.strip(), position=self._graph.position_of_text(text, self._map))

    # The document's shape

    def _one(self, node: Term, where: str, name: str) -> Term:
        found = self._graph.values(node, *_rml(name))
        if len(found) != 1:
            count = "more than one" if found else "no"
            raise self._error(where, f"{count} rml:{name}: expected one")
        return found[0]

    def _text(self, node: Term, where: str, name: str) -> str:
        value = self._one(node, where, name)
        if isinstance(value, BlankNode):
            raise self._error(where, f"rml:{name}: expected a text in quotes")
        return value.lexical if isinstance(value, Literal) else str(value)

    def _only(self, node: Term, kind: str, where: str) -> None:
        """Nothing of RML's own vocabulary is passed over in silence."""
        for predicate in self._graph.own_properties(node):
            if predicate not in _ALLOWED[kind]:
                listed = ", ".join(short(each) for each in _ALLOWED[kind])
                raise self._error(
                    where, f"{short(predicate)} is not supported here: expected one of {listed}"
                )

    def _default_graph(self, node: Term, where: str) -> None:
        for each in self._graph.values(node, *_GRAPHS):
            named = each
            for constant in self._graph.values(each, *_rml("constant")):
                named = constant
            if named != _DEFAULT_GRAPH:
                raise self._error(
                    where,
                    f"graph {self._graph.shown(named)}: all events go to the window's graph, "
                    "expected rml:defaultGraph or no graph",
                )

    def _check_parents(self, mapping: RmlMapping) -> None:
        for each in mapping.maps:
            for values in each.properties:
                for value in values.objects:
                    if not isinstance(value, ParentMap):
                        continue
                    self._check_parent(each, value, mapping)

    def _check_parent(self, child: TriplesMap, value: ParentMap, mapping: RmlMapping) -> None:
        parent = mapping.named(value.parent)
        shown = self._graph.shown(IRI(value.parent))
        what = ""
        if parent is None:
            what = f"there is no triples map {shown} in this document"
        elif parent.source.name != child.source.name:
            what = (
                f"{shown} reads another source ('{parent.source.name}'): one message is mapped at "
                "a time, expected the same rml:source"
            )
        elif not value.joins and parent.source != child.source:
            what = f"{shown} has another iterator: expected an rml:joinCondition"
        if what:
            raise LanguageError(f"{value.where}: {what}", position=value.position)

    def _error(self, where: str, what: str) -> LanguageError:
        return LanguageError(f"{where}: {what}", position=self._place)


_ONE_EXPRESSION: Final = "expected one of rml:constant, rml:reference and rml:template"
