"""Who makes or derives which kinds of triples: found by a kind without a look at all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.network.components import prune, reached
from sensorstream.network.recursion.reads import Kind

T = TypeVar("T", bound=Hashable)
Conclusions: TypeAlias = Callable[[Triple], Iterable[Triple]]
"""What follows from one triple by the reasoner."""
_ANY = IRI("urn:any")


class KindIndex(Generic[T]):
    """Things, each noted under kinds of triples."""

    def __init__(self) -> None:
        self._found: dict[IRI | None, dict[Term | None, dict[T, None]]] = {}

    def add(self, kind: Kind, thing: T) -> None:
        """Note a thing under a kind."""
        objects = self._found.setdefault(kind.predicate, {})
        objects.setdefault(kind.object, {})[thing] = None

    def remove(self, kind: Kind, thing: T) -> None:
        """Forget what was added."""
        prune(self._found, kind.predicate, kind.object, thing)

    def meeting(self, kind: Kind) -> Iterator[T]:
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


def with_conclusions(kinds: Iterable[Kind], conclusions: Conclusions) -> frozenset[Kind]:
    """Kinds of triples, and those of what the reasoner concludes from such triples."""

    def following(kind: Kind) -> Iterator[Kind]:
        if kind.predicate is not None:
            sample = _ANY if kind.object is None else kind.object
            for _, predicate, object_ in conclusions((_ANY, kind.predicate, sample)):
                yield Kind(predicate, None if object_ == _ANY else object_)

    return frozenset(reached(kinds, following))
