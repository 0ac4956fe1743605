"""Kinds of triples: those that rules read and write, as far as their text shows, and an index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeAlias, TypeVar

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.network.graph_components import prune, reached
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, Pattern, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.variable_scope import existences, expressions
from sensorstream.sparql.walk import kept_in, optional_in, patterns_in

T = TypeVar("T", bound=Hashable)
Conclusions: TypeAlias = Callable[[Triple], Iterable[Triple]]
"""The triples that follow from one triple by the reasoner."""
_ANY: Final = IRI("urn:any")
_NAMES: Final[Mapping[type, str]] = {
    algebra.LeftJoin: "OPTIONAL",
    algebra.Project: "a sub-select",
    algebra.Group: "an aggregate",
    algebra.Slice: "LIMIT",
}
"""Names of patterns for people, where they differ from the name of the class."""


@frozen
class TriplesRead:
    """A kind of triples: this predicate and object (the class, of ``rdf:type``); None is any."""

    predicate: IRI | None
    object: Term | None

    def meets(self, other: TriplesRead) -> bool:
        """Whether a triple may be of both kinds."""
        return (
            self.predicate is None or other.predicate is None or self.predicate == other.predicate
        ) and (self.object is None or other.object is None or self.object == other.object)

    def __str__(self) -> str:
        name = "any property" if self.predicate is None else f"<{self.predicate}>"
        return name if self.object is None else f"{name} {self.object.n3}"


@frozen
class Read:
    """A kind that a body reads.

    ``through`` names the construct that needs all such triples before it has a result (NOT EXISTS,
    an aggregate), or that merges derivations (DISTINCT, a path); None if each triple counts
    separately. Only reads with ``through`` None may be recursive.
    """

    kind: TriplesRead
    through: str | None


def written(triple: TriplePattern) -> TriplesRead:
    """The kind of triple that a template makes."""
    return _kind(triple.predicate, triple.object)


def reads(pattern: Pattern, through: str | None = None) -> Iterator[Read]:
    """The kinds that a pattern reads of the graph that rules write, outside windows and GRAPH."""
    for expression in expressions(pattern):
        for found in existences(expression):
            yield from reads(found.pattern, through or "EXISTS")
    match pattern:
        case algebra.BGP(patterns):
            for triple in patterns:
                yield from _of_triple(triple, through)
        case algebra.Window() | algebra.Graph():
            pass
        case _ if isinstance(pattern, algebra.OneByOne | algebra.Each):
            for each in kept_in(pattern):
                yield from reads(each, through)
            for each in optional_in(pattern):
                yield from reads(each, through or _name(pattern))
        case _:
            for each in patterns_in(pattern):
                yield from reads(each, through or _name(pattern))


def _name(pattern: Pattern) -> str:
    return _NAMES.get(type(pattern)) or type(pattern).__name__.upper()


def _of_triple(triple: TriplePattern, through: str | None) -> Iterator[Read]:
    path = triple.predicate
    if isinstance(path, IRI | Variable):
        yield Read(_kind(path, triple.object), through)
    else:
        for step in steps(path):
            yield Read(TriplesRead(step, None), through or "a property path")


def steps(path: Path) -> Iterator[IRI | None]:
    """The properties that a path may use; None: it may use any."""
    match path:
        case algebra.Inverse(inner) | algebra.OneOrMore(inner):
            yield from steps(inner)
        case algebra.Sequence(left, right) | algebra.Alternative(left, right):
            yield from steps(left)
            yield from steps(right)
        case algebra.ZeroOrMore() | algebra.ZeroOrOne() | algebra.NegatedSet():
            # A path of length zero begins at every node of the graph.
            yield None
        case _:
            yield path


def _kind(predicate: Path | Variable, object_: PatternTerm) -> TriplesRead:
    return TriplesRead(
        predicate if isinstance(predicate, IRI) else None,
        None if isinstance(object_, Variable | BlankNode) else object_,
    )


class KindIndex(Generic[T]):
    """An index of things by kinds of triples, to find them without a look at all of them."""

    def __init__(self) -> None:
        self._found: dict[IRI | None, dict[Term | None, dict[T, None]]] = {}

    def add(self, kind: TriplesRead, thing: T) -> None:
        objects = self._found.setdefault(kind.predicate, {})
        objects.setdefault(kind.object, {})[thing] = None

    def remove(self, kind: TriplesRead, thing: T) -> None:
        prune(self._found, kind.predicate, kind.object, thing)

    def meeting(self, kind: TriplesRead) -> Iterator[T]:
        """The things under kinds that a triple of this kind may be of; some perhaps twice."""
        predicate, object_ = kind.predicate, kind.object
        near: Iterable[dict[Term | None, dict[T, None]]] = self._found.values()
        if predicate is not None:
            near = [self._found[each] for each in (predicate, None) if each in self._found]
        for objects in near:
            if object_ is None:
                for things in objects.values():
                    yield from things
            else:
                yield from objects.get(object_, ())
                yield from objects.get(None, ())


def with_conclusions(
    kinds: Iterable[TriplesRead], conclusions: Conclusions
) -> frozenset[TriplesRead]:
    """Kinds of triples, and those of the conclusions of the reasoner from such triples."""

    def following(kind: TriplesRead) -> Iterator[TriplesRead]:
        if kind.predicate is not None:
            sample = _ANY if kind.object is None else kind.object
            for _, predicate, object_ in conclusions((_ANY, kind.predicate, sample)):
                yield TriplesRead(predicate, None if object_ == _ANY else object_)

    return frozenset(reached(kinds, following))
