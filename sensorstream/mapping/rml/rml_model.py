"""An RML mapping as data: the triples maps of RML-Core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, TypeAlias

from sensorstream.language.syntax import Hole, SyntaxNode
from sensorstream.mapping.term_recipe import Expression, FunctionValue, Reference, TermMap
from sensorstream.model.terms import IRI


def makes_literals(
    expression: Expression | None, datatype: TermMap | None, language: TermMap | None
) -> bool:
    """Whether an object map without a term type does (RML-Core, "Default Term Types")."""
    typed = datatype is not None or language is not None
    return typed or isinstance(expression, Reference | FunctionValue)


class JoinCondition(SyntaxNode):
    """``rml:joinCondition``: child and parent have a value in common."""

    child: Expression
    parent: Expression


class ParentMap(SyntaxNode):
    """``rml:parentTriplesMap``: the subjects of another triples map (a referencing object map),
    whose key in :class:`Mapping` is ``parent``.
    """

    parent: str
    joins: tuple[JoinCondition, ...]
    where: str = field(default="", compare=False)


class PredicateObjects(SyntaxNode):
    """``rml:predicateObjectMap``: every predicate with every object. ``graphs`` are its graph maps:
    its triples are in their graphs and in those of the subject map.
    """

    predicates: tuple[TermMap, ...]
    objects: tuple[TermMap | ParentMap, ...]
    graphs: tuple[TermMap, ...] = ()


Root: TypeAlias = Literal["mapping", "working"]
"""``rml:root``: the folder of the mapping document, or the one in which the program runs."""


class LogicalSource(SyntaxNode):
    """``rml:logicalSource``: the messages, or those of one source of messages, or a file.

    ``name`` names the source, "" if it has no name. With a ``root`` it is the path of a file, from
    there. ``iterator`` is an absolute path; each node that it finds is an iteration.
    """

    name: str
    iterator: Hole
    namespaces: tuple[tuple[str, str], ...] = ()
    root: Root | None = None


class TriplesMap(SyntaxNode):
    """``rml:TriplesMap``: makes triples of one subject for each iteration.

    ``key`` is its IRI, or its label if it has none. ``rule`` is the name that outcomes show.
    ``graphs`` are the graph maps of the subject map; without any graph map, triples are in the
    default graph. ``base`` completes IRIs that are not absolute. ``at`` finds the event's time, as
    in a rule; ``update`` replaces earlier values.
    """

    key: str
    rule: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[IRI, ...]
    properties: tuple[PredicateObjects, ...]
    graphs: tuple[TermMap, ...] = ()
    base: str | None = None
    at: Hole | None = None
    update: bool = False

    @property
    def parents(self) -> Iterator[ParentMap]:
        """The references to other triples maps."""
        for values in self.properties:
            yield from (each for each in values.objects if isinstance(each, ParentMap))


class RmlMapping(SyntaxNode):
    """An RML document. ``prefixes`` are those of the file, for printing."""

    maps: tuple[TriplesMap, ...]
    prefixes: tuple[tuple[str, str], ...] = ()
    file: str = field(default="", compare=False)

    def named(self, key: str) -> TriplesMap | None:
        """The triples map of that key."""
        return next((each for each in self.maps if each.key == key), None)
