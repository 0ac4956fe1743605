"""The kinds of triples that a rule reads and writes, as far as its text shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, Pattern, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.scope import existences, expressions


@dataclass(frozen=True, slots=True)
class Kind:
    """Triples with this predicate and object (the class, of ``rdf:type``); None is any."""

    predicate: IRI | None
    object: Term | None

    def meets(self, other: Kind) -> bool:
        """Whether a triple may be of both kinds."""
        return (
            self.predicate is None or other.predicate is None or self.predicate == other.predicate
        ) and (self.object is None or other.object is None or self.object == other.object)

    def __str__(self) -> str:
        name = "any property" if self.predicate is None else f"<{self.predicate}>"
        return name if self.object is None else f"{name} {self.object.n3}"


@dataclass(frozen=True, slots=True)
class Read:
    """A kind that a body reads.

    ``through`` names the construct that needs all such triples before it has a result (NOT EXISTS,
    an aggregate), or that merges derivations (DISTINCT, a path); None if each triple counts
    separately. Only reads with ``through`` None may be recursive.
    """

    kind: Kind
    through: str | None


def written(triple: TriplePattern) -> Kind:
    """The kind of triple that a template makes."""
    return _kind(triple.predicate, triple.object)


def reads(pattern: Pattern, through: str | None = None) -> Iterator[Read]:
    """The kinds that a pattern reads of the graph that rules write.

    Windows and named graphs do not contain it.
    """
    for expression in expressions(pattern):
        for found in existences(expression):
            yield from reads(found.pattern, through or "EXISTS")
    match pattern:
        case algebra.BGP(patterns):
            for triple in patterns:
                yield from _of_triple(triple, through)
        case algebra.LeftJoin(left, right):
            yield from reads(left, through)
            yield from reads(right, through or "OPTIONAL")
        case algebra.Minus(left, right):
            yield from reads(left, through)
            yield from reads(right, through or "MINUS")
        case algebra.Join(left, right):
            yield from reads(left, through)
            yield from reads(right, through)
        case algebra.Filter() | algebra.Extend() | algebra.Each():
            yield from reads(pattern.pattern, through)
        case algebra.Window() | algebra.Graph():
            pass
        case _:
            through = through or _whole(pattern)
            for name in ("pattern", "left", "right"):
                if hasattr(pattern, name):
                    yield from reads(getattr(pattern, name), through)


def _whole(pattern: Pattern) -> str:
    match pattern:
        case algebra.Project():
            return "a sub-select"
        case algebra.Group():
            return "an aggregate"
        case algebra.Slice():
            return "LIMIT"
    return type(pattern).__name__.upper()


def _of_triple(triple: TriplePattern, through: str | None) -> Iterator[Read]:
    path = triple.predicate
    if isinstance(path, IRI | Variable):
        yield Read(_kind(path, triple.object), through)
    else:
        for step in steps(path):
            yield Read(Kind(step, None), through or "a property path")


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


def _kind(predicate: Path | Variable, object_: PatternTerm) -> Kind:
    return Kind(
        predicate if isinstance(predicate, IRI) else None,
        None if isinstance(object_, Variable | BlankNode) else object_,
    )
