"""The interface of reasoners to the engine, the simple reasoners, and a reasoner aside.

The profile ``none`` derives nothing, ``plain`` subclasses, subproperties, domains and ranges. The
statements of the schema are rules with one premise: all conclusions from a triple are composed once
for each class and each property (:mod:`sensorstream.network.recursion.linear_rules`).

Classifying axioms and deriving a whole window take seconds. So a new reasoner or a new ontology is
made ready in a knowledge base aside, in a separate thread, while messages come in. At the swap only
the changes since then are added.

Source: RDF 1.1 Semantics, section 9.2.1 (rdfs2, rdfs3, rdfs5, rdfs7, rdfs9, rdfs11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from typing import Final, Protocol

from sensorstream.errors import Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, rdfs
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema, is_datatype
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.budget import Budget
from sensorstream.network.recursion.implied_triples import Implied, unknown
from sensorstream.network.recursion.linear_rules import FlatClosure, LinearRule
from sensorstream.sparql.algebra import TriplePattern, Variable


class Reasoner(Protocol):
    """A reasoner: it updates the inferred graph for each change of the window graph."""

    lifted: bool
    """Whether the limits of a change are not in force: what comes was accepted before."""

    def start(self, kb: KnowledgeBase) -> None:
        """Derive the static inferred graph, with an empty window graph; forget any earlier
        knowledge base. A window that exists already (after a restart) is added by one call of
        :meth:`react`.

        Raises:
            OntologyError: the static graph contradicts itself.
            ReasonerError: the reasoner's process failed.
        """

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Follow a change of the window graph; return that of the inferred graph, which is applied.

        ``delta`` is applied to the window graph already. An inferred triple may be asserted too:
        the marks of the knowledge base distinguish the two.

        Raises:
            Inconsistent: window and ontology contradict each other. The inferred graph and the
                reasoner's own state are as before; the caller undoes the delta without another
                call.
            Overrun: what follows is more than the limits allow; the same.
            ReasonerError: the reasoner's process failed; the same.
        """

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """The conclusions of one triple by itself, under the stated schema; without the window."""

    def close(self) -> None:
        """Release processes and memory; a second call does nothing."""


def change_between(time: Instant, before: Iterable[Triple], after: Iterable[Triple]) -> Delta:
    """The change that makes one set of triples of another."""
    held, wanted = dict.fromkeys(before), dict.fromkeys(after)
    return Delta(
        time,
        added=tuple(triple for triple in wanted if triple not in held),
        removed=tuple(triple for triple in held if triple not in wanted),
    )


@contextmanager
def without_limits(reasoner: Reasoner) -> Iterator[None]:
    """Lift the limits for changes that were accepted before, or take such ones back."""
    before, reasoner.lifted = reasoner.lifted, True
    try:
        yield
    finally:
        reasoner.lifted = before


class Limited:
    """A reasoner with a budget for each change."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @property
    def lifted(self) -> bool:
        """See :class:`Reasoner`."""
        return self.budget.lifted

    @lifted.setter
    def lifted(self, lifted: bool) -> None:
        self.budget.lifted = lifted


class NoReasoner:
    """Profile ``none``: nothing is derived."""

    lifted = False

    def start(self, kb: KnowledgeBase) -> None:
        """Do nothing."""

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        return Delta(delta.time)

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        return ()

    def close(self) -> None:
        """Nothing to release."""


class Aside:
    """Static graph, a copy of the window, and everything that the reasoner derives from them."""

    def __init__(self, static: Iterable[Triple], reasoner: Reasoner) -> None:
        """Start the reasoner over the static graph and an empty window.

        Raises:
            OntologyError: the static graph contradicts itself.
            ReasonerError: the reasoner's process failed.
        """
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, static)
        self.reasoner = reasoner
        reasoner.start(self.kb)

    def follow(self, window: Iterable[Triple]) -> None:
        """Apply the changes of the window to the copy; O(changes).

        Raises:
            Inconsistent: window and ontology contradict each other; the copy is as before.
            Overrun: rules conclude too much; the copy is as before.
            ReasonerError: the reasoner's process failed; the copy is as before.
        """
        delta = change_between(0, self.kb.triples(Origin.WINDOW), window)
        if delta.added or delta.removed:
            self.change(delta)

    def admit(self, parts: Iterable[Sequence[Triple]]) -> list[Triple]:
        """Add the parts of the window to the copy, one by one; return the triples of those that
        contradict the ontology and earlier parts, or from which too much follows.
        """
        refused: list[Triple] = []
        for part in parts:
            new = tuple(t for t in part if not self.kb.origins(t) & Origin.WINDOW)
            try:
                self.change(Delta(0, added=new))
            except (Inconsistent, Overrun):
                refused += new
        return refused

    def change(self, delta: Delta) -> Delta:
        """Change the copy of the window; return the change of what is inferred.

        Raises:
            Inconsistent, Overrun, ReasonerError: as :meth:`follow`.
        """
        self.kb.apply(Origin.WINDOW, delta)
        try:
            return self.reasoner.react(self.kb, delta)
        except (Inconsistent, Overrun, ReasonerError):
            self.kb.apply(Origin.WINDOW, delta.inverse())
            raise


_X: Final = Variable("x")
_Y: Final = Variable("y")


class SchemaClosure:
    """Incremental materialisation of the stated schema; O(conclusions) per triple. With
    ``types=False`` only subproperties are followed, which a description logic reasoner does not
    return with types.
    """

    __slots__ = ("_closure", "_implied", "_schema", "lifted")

    def __init__(self, schema: Schema, *, types: bool = True) -> None:
        self.lifted = False
        self._schema = schema
        self._closure = _closure(schema, types)
        self._implied = Implied(self._closure.conclusions)

    def start(self, kb: KnowledgeBase) -> None:
        """Close the static graph, its hierarchies of classes and properties included."""
        self._implied.clear()
        if kb.size(Origin.STATIC_INFERRED):
            # It has begun with what another one has closed.
            return
        schema = self._schema
        derived: dict[Triple, None] = {}
        for predicate, closed in (
            (rdfs.SUBCLASS_OF, schema.superclasses_of),
            (rdfs.SUBPROPERTY_OF, schema.superproperties_of),
        ):
            for name, above in closed.items():
                derived.update(((name, predicate, each), None) for each in sorted(above))
        for triple in kb.triples(Origin.STATIC):
            derived.update(dict.fromkeys(self._closure.conclusions(triple)))
        kb.add(Origin.STATIC_INFERRED, derived)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        change = self.count(kb, delta)
        kb.apply(Origin.INFERRED, change)
        return change

    def count(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Update the counts of conclusions; return the change of the inferred graph."""
        return unknown(kb, self._implied.change(delta))

    def close(self) -> None:
        """Remove all counts."""
        self._implied.clear()

    def conclusions(self, triple: Triple) -> Sequence[Triple]:
        """The conclusions of one triple under the schema."""
        return self._closure.conclusions(triple)


@lru_cache(8)
def _closure(schema: Schema, types: bool) -> FlatClosure:
    """The rules of a schema: what they have met is the same for all engines of a process."""
    return FlatClosure(_rules(schema, types=types))


def _rules(schema: Schema, *, types: bool) -> Iterator[LinearRule]:
    for name in schema.superproperties_of:
        above = _nearest(name, schema.superproperties_of)
        heads = (TriplePattern(_X, each, _Y) for each in above)
        yield LinearRule("rdfs7", TriplePattern(_X, name, _Y), tuple(heads))
    if not types:
        return
    # Each pattern is made once.
    subject, object_ = (cache(partial(_typed, each)) for each in (_X, _Y))
    for name in schema.superclasses_of:
        if above := _nearest(name, schema.superclasses_of):
            yield LinearRule("rdfs9", subject(name), tuple(map(subject, above)))
    for name, classes in schema.domains_of.items():
        typed = tuple(subject(each) for each in sorted(classes) if not is_datatype(each))
        yield LinearRule("rdfs2", TriplePattern(_X, name, _Y), typed)
    for name, classes in schema.ranges_of.items():
        typed = tuple(object_(each) for each in sorted(classes) if not is_datatype(each))
        yield LinearRule("rdfs3", TriplePattern(_X, name, _Y), typed)


def _nearest(name: IRI, above: Mapping[IRI, frozenset[IRI]]) -> list[IRI]:
    """The names above one without those that are above another of them, unless all are equal."""
    found = above[name]
    if len(found) > 1:
        further = (above.get(each, frozenset()) for each in found)
        found = found.difference(*(each for each in further if name not in each))
    return sorted(found)


def _typed(variable: Variable, name: IRI) -> TriplePattern:
    return TriplePattern(variable, rdf.TYPE, name)
