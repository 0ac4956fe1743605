"""HermiT or Pellet as a reasoner of the engine: deltas in, deltas out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.errors import Inconsistent, OntologyError, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.closure import Closure
from sensorstream.reasoning.dl.decisions import Decisions
from sensorstream.reasoning.dl.islands import Island, Islands, names
from sensorstream.reasoning.dl.neighbours import set_apart
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.terminology import HELPER, Terminology

# A type that one of these graphs holds is no news.
_KNOWN: Final = Origin.STATIC | Origin.WINDOW | Origin.STATIC_INFERRED
# The time limit is for one question, so a big change is several.
_AT_ONCE: Final = 64
_NONE: Final[frozenset[IRI]] = frozenset()


class DlReasoner:
    """Keeps every named class that each individual provably belongs to.

    Per change the reasoner's process is asked about the islands of the changed individuals, or
    about all individuals where ``terminology.whole`` says why. Inferred are the entailed types
    that nobody asserted, and the triples of the properties above each asserted one.
    """

    def __init__(self, terminology: Terminology, worker: Worker) -> None:
        self._terminology = terminology
        self._worker = worker
        self._closure = Closure(terminology.schema, types=False)
        self._decisions = _decisions(terminology)
        self._types: dict[Subject, frozenset[IRI]] = {}

    def start(self, kb: KnowledgeBase) -> None:
        """Classify the axioms and derive the types of the static individuals.

        Raises:
            OntologyError: the axioms, or the static individuals with them, have no model.
            ReasonerError: the reasoner's process failed.
        """
        try:
            consistent = self._worker.start()
        except ReasonerError as error:
            raise OntologyError(f"the ontology cannot be reasoned with: {error}") from error
        if not consistent:
            raise OntologyError("the ontology contradicts itself: its axioms have no model")
        try:
            terminology = self._terminology
            self._check_links(kb)
            known = (*terminology.individuals, *sorted(terminology.named))
            found = self._decide(kb, self._ask(kb, dict.fromkeys(known)))
        except Inconsistent as error:
            raise OntologyError(f"the ontology contradicts itself: {error}") from None
        self._closure.start(kb)
        kb.add(
            Origin.STATIC_INFERRED,
            (triple for node, types in found.items() for triple in _typed(node, types)),
        )

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        if self._decisions is not None and self._decisions.are_spoilt_by(delta.added):
            self._decisions = None
        touched = self._islands(kb).touched(delta)
        if self._terminology.whole and touched:
            touched.update(dict.fromkeys(self._types))
        found = self._decide(kb, self._ask(kb, touched))
        properties = self._closure.react(kb, delta)
        added: list[Triple] = []
        removed: list[Triple] = []
        for node, types in found.items():
            before = self._types.get(node, _NONE)
            added += _typed(node, types - before)
            removed += _typed(node, before - types)
            if types:
                self._types[node] = types
            else:
                self._types.pop(node, None)
        return Delta(delta.time, (*added, *properties.added), (*removed, *properties.removed))

    def close(self) -> None:
        """End the reasoner's process."""
        self._worker.close()
        self._closure.close()
        self._types.clear()

    def _islands(self, kb: KnowledgeBase) -> Islands:
        if self._decisions is not None:
            return Islands(kb, self._decisions.terminology)
        return Islands(kb, self._terminology)

    def _check_links(self, kb: KnowledgeBase) -> None:
        decisions = self._decisions
        if decisions is not None and decisions.are_spoilt_by(kb.triples(Origin.STATIC)):
            self._decisions = None

    def _ask(self, kb: KnowledgeBase, nodes: dict[Subject, None]) -> dict[Subject, frozenset[IRI]]:
        """The entailed types of the nodes and of all that their islands hold."""
        # A node that is in no island any more has no types.
        found = dict.fromkeys(nodes, _NONE)
        if not nodes:
            return found
        search = self._islands(kb)
        islands = [search.whole()] if self._terminology.whole else list(search.around(nodes))
        for first in range(0, len(islands), _AT_ONCE):
            asked = islands[first : first + _AT_ONCE]
            answers = self._worker.ask([island.facts for island in asked])
            for island, answer in zip(asked, answers, strict=True):
                if answer is None:
                    raise _inconsistent(island)
                for member, types in zip(island.members, answer, strict=True):
                    found[member] = frozenset(
                        IRI(name) for name in types if not name.startswith(HELPER)
                    )
        return found

    def _decide(
        self, kb: KnowledgeBase, found: dict[Subject, frozenset[IRI]]
    ) -> dict[Subject, frozenset[IRI]]:
        """What to infer of the nodes found, and of those that look at them."""
        inferred = {node: _news(kb, node, types) for node, types in found.items()}
        decisions = self._decisions
        if decisions is None:
            return inferred
        for node, decided in decisions.update(kb, found).items():
            types = inferred.get(node, self._types.get(node, _NONE))
            inferred[node] = (types - decisions.names) | _news(kb, node, decided)
        return inferred


def _decisions(terminology: Terminology) -> Decisions | None:
    apart = set_apart(terminology)
    return None if apart is None else Decisions(apart)


def _inconsistent(island: Island) -> Inconsistent:
    return Inconsistent(
        "the message contradicts the ontology: no world is possible in which all is true "
        f"that is asserted of {names(island.members)}",
        individuals=tuple(member.n3 for member in island.members),
    )


def _news(kb: KnowledgeBase, node: Subject, types: Iterable[IRI]) -> frozenset[IRI]:
    return frozenset(c for c in types if not kb.origins((node, RDF_TYPE, c)) & _KNOWN)


def _typed(node: Subject, types: frozenset[IRI]) -> list[Triple]:
    return [(node, RDF_TYPE, each) for each in sorted(types)]
