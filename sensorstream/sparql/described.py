"""The classes that a query describes, as OWL writes class expressions: by blank nodes.

``?x a [ owl:onProperty :p ; owl:someValuesFrom :C ]`` asks for the members of a class that may
have no name. Reasoners know classes by their names, so each description gets one.

Source: SPARQL 1.1 Entailment Regimes, section 6.1; OWL 2 Mapping to RDF Graphs, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from typing import Final

from sensorstream.errors import UnsupportedQuery
from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import DESCRIBING, missing_kinds
from sensorstream.model.terms import IRI, BlankNode, Triple
from sensorstream.model.vocabulary import RESERVED
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, PatternTerm, Query, TriplePattern, Variable
from sensorstream.sparql.text_places import give_place
from sensorstream.sparql.walk import nodes, replaced

NAMES: Final = f"{RESERVED}described:"
"""Prefix of the names that described classes get."""
_OF_TWO_CLASSES: Final = frozenset({rdfs.SUBCLASS_OF, owl.EQUIVALENT_CLASS, owl.DISJOINT_WITH})
_OF_A_CLASS: Final = _OF_TWO_CLASSES | {rdf.TYPE, rdfs.DOMAIN, rdfs.RANGE}
"""Axioms and assertions whose object is a class."""


@frozen
class DescribedClass:
    """A class without a name of its own: ``node`` is it in its ``description``.

    Equal descriptions have equal names.
    """

    name: IRI
    node: BlankNode
    description: tuple[Triple, ...]


def described(query: Query) -> tuple[Query, tuple[DescribedClass, ...]]:
    """The classes that a query describes completely, and the query that asks for them by name.

    Patterns about such a class are matched in a named graph of its own (see :func:`graph_of`), so
    that no variable finds the class. A description with a variable is not replaced, nor is one
    whose nodes the query also uses for anything but a class.
    """
    found: dict[IRI, DescribedClass] = {}

    def changed(part: object) -> Pattern | None:
        return _renamed(part.patterns, found) if isinstance(part, algebra.BGP) else None

    return replaced(query, changed), tuple(found.values())


def check_named(query: Query) -> None:
    """Refuse a query that describes a class, where classes are known only by name.

    Raises UnsupportedQuery with the place and the definition to write.
    """
    classes = described(query)[1]
    if classes:
        node = classes[0].node
        told = (
            "the query describes a class, and HermiT and Pellet tell members of classes with names "
            "only: put a definition into the ontology, <NAME> <http://www.w3.org/2002/07/owl#"
            f"equivalentClass> {_text(node, dict.fromkeys(classes[0].description))} , and ask for "
            "its name; or ask once with 'sensorstream query --on ontology'"
        )
        raise give_place(UnsupportedQuery(told, part=node), query.places)


def graph_of(subject: object, object_: object) -> IRI | None:
    """The named graph of a statement about described classes; None: it is about none."""
    names = [
        each for each in (subject, object_) if isinstance(each, IRI) and each.startswith(NAMES)
    ]
    return IRI("+".join(names)) if names else None


def name_of(description: str) -> IRI:
    """The name of the class of a description."""
    return IRI(NAMES + sha256(description.encode()).hexdigest()[:16])


def descriptions(query: Query) -> Iterator[TriplePattern]:
    """The patterns of a query about the form of a class."""
    for part in nodes(query, TriplePattern):
        if part.predicate in DESCRIBING:
            yield part


def _renamed(patterns: Sequence[TriplePattern], found: dict[IRI, DescribedClass]) -> Pattern | None:
    """Patterns with the classes by name; None if they describe none."""
    classes: dict[PatternTerm, DescribedClass] = {
        each.node: each for each in _Group(patterns).classes()
    }
    if not classes:
        return None
    found.update((each.name, each) for each in classes.values())
    inner = {triple for each in classes.values() for triple in each.description}
    plain: list[TriplePattern] = []
    asked: list[Pattern] = []
    for each in patterns:
        if _ground(each) in inner:
            continue
        by_name = TriplePattern(
            _outside(each.subject, classes), each.predicate, _outside(each.object, classes)
        )
        graph = graph_of(by_name.subject, by_name.object)
        if graph is None:
            plain.append(by_name)
        else:
            asked.append(algebra.Graph(graph, algebra.BGP((by_name,))))
    if plain:
        asked.insert(0, algebra.BGP(tuple(plain)))
    return reduce(algebra.Join, asked)


def _outside(part: PatternTerm, classes: Mapping[PatternTerm, DescribedClass]) -> PatternTerm:
    """The term for a pattern in another graph: patterns there share variables, not blank nodes."""
    if part in classes:
        return classes[part].name
    return Variable(f".{part[2:]}") if isinstance(part, BlankNode) else part


class _Group:
    """The triple patterns among which a blank node has its meaning."""

    def __init__(self, patterns: Sequence[TriplePattern]) -> None:
        self._of: dict[BlankNode, list[TriplePattern]] = {}
        self._into: dict[BlankNode, list[TriplePattern]] = {}
        for each in patterns:
            if isinstance(each.subject, BlankNode):
                self._of.setdefault(each.subject, []).append(each)
            if isinstance(each.object, BlankNode):
                self._into.setdefault(each.object, []).append(each)

    def classes(self) -> Iterator[DescribedClass]:
        """The described classes, without those that are only part of another."""
        for node, told in self._of.items():
            is_described = any(each.predicate in DESCRIBING for each in told)
            if is_described and any(each.predicate in _OF_A_CLASS for each in self._uses(node)):
                described = self._class(node)
                if described is not None:
                    yield described

    def _uses(self, node: BlankNode) -> Iterator[TriplePattern]:
        """The patterns about a class that do not describe it."""
        yield from self._into.get(node, ())
        yield from (each for each in self._of[node] if each.predicate in _OF_TWO_CLASSES)

    def _class(self, node: BlankNode) -> DescribedClass | None:
        description: dict[Triple, None] = {}
        parts = [node]
        for part in parts:  # grows while it is read
            for each in self._of.get(part, ()):
                if part == node and each.predicate in _OF_TWO_CLASSES:
                    continue
                triple = _ground(each)
                if triple is None:
                    return None
                description[triple] = None
                value = triple[2]
                if isinstance(value, BlankNode):
                    if value in parts or value not in self._of:
                        # Expressions are trees, of parts that are described.
                        return None
                    parts.append(value)
        outside = (
            each
            for part in parts
            for each in self._into.get(part, ())
            if _ground(each) not in description
        )
        if not all(each.object == node and each.predicate in _OF_A_CLASS for each in outside):
            return None
        name = name_of(_text(node, description))
        return DescribedClass(name, node, (*description, *missing_kinds(description)))


def _ground(pattern: TriplePattern) -> Triple | None:
    s, p, o = pattern.subject, pattern.predicate, pattern.object
    if isinstance(s, BlankNode) and isinstance(p, IRI) and not isinstance(o, Variable):
        return s, p, o
    return None


def _text(node: BlankNode, description: dict[Triple, None]) -> str:
    """A description without its labels, and with its parts in one order."""
    parts = sorted(
        f"{p.n3} {_text(o, description) if isinstance(o, BlankNode) else o.n3}"
        for s, p, o in (*description, *missing_kinds(description))
        if s == node
    )
    return f"[ {' ; '.join(parts)} ]"
