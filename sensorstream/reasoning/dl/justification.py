"""Justifications: minimal sets of axioms that contradict given assertions, by HermiT.

Runs in a process with a Java virtual machine. The contraction is black-box: a new HermiT decides
whether a set of axioms has a model with the assertions.

Source: M. Horridge, Justification Based Explanation in Ontologies (2011), chapter 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from sensorstream.reasoning.dl.owl_api import OwlApi
from sensorstream.reasoning.dl.protocol import Explained
from sensorstream.reasoning.dl.quickxplain import minimal_conflict

_REMEMBERED: Final = 64
"""Justifications tried first when another contradiction uses the same names."""


class Justifier:
    """Explains contradictions with one ontology; needs a running JVM.

    ``axioms`` are the whole ontology in N-Triples, its individuals included.
    """

    def __init__(self, axioms: str) -> None:
        self.axioms = axioms
        self._api = OwlApi()
        self._renderer = self._api.java(
            "uk.ac.manchester.cs.owl.owlapi.mansyntaxrenderer.ManchesterOWLSyntaxOWLObjectRendererImpl"
        )()
        # Sorted: the same contradiction is explained the same way in every run.
        self._logical = sorted(self._read(axioms), key=self._written)
        self._names = {axiom: _names(axiom) for axiom in self._logical}
        self._found: dict[frozenset[str], list[Any]] = {}

    def justify(self, triples: str, seconds: float, candidates: Sequence[str] = ()) -> Explained:
        """A minimal set of axioms without a model together with the triples.

        ``triples`` declare the properties and classes that they use. ``candidates`` are assertions,
        each with its declarations, that may be in the set as well. After the time limit there is
        no answer: a set that is not minimal would name axioms that are not involved.
        """
        asserted = self._read(triples)
        end = time.monotonic() + seconds
        numbers: dict[Any, int] = {}
        for number, text in enumerate(candidates):
            for axiom in self._read(text):
                numbers.setdefault(axiom, number)
        logical = [*numbers, *self._logical]

        def conflicts(axioms: Sequence[Any]) -> bool:
            if time.monotonic() > end:
                raise TimeoutError
            return not self._is_consistent([*asserted, *axioms])

        names = frozenset[str]().union(*map(_names, asserted or numbers))
        known = None if candidates else self._found.get(names)
        try:
            if known is None or not conflicts(known):
                known = self._suspects(names, logical, conflicts)
            if known is None:
                return Explained(None, consistent=True)
            found = minimal_conflict(known, conflicts)
        except TimeoutError:
            return Explained(None)
        if not candidates:
            self._remember(names, found)
        return Explained(
            [self._written(axiom) for axiom in found if axiom not in numbers],
            chosen=sorted({numbers[axiom] for axiom in found if axiom in numbers}),
        )

    def _remember(self, names: frozenset[str], found: list[Any]) -> None:
        self._found.pop(names, None)
        self._found[names] = found
        if len(self._found) > _REMEMBERED:
            del self._found[next(iter(self._found))]

    def _suspects(
        self, names: frozenset[str], logical: list[Any], conflicts: Callable[[Sequence[Any]], bool]
    ) -> list[Any] | None:
        """A few axioms that conflict, near the names used."""
        named = {axiom: self._names.get(axiom) or _names(axiom) for axiom in logical}
        near: list[Any] = []
        reached = set(names)
        left = logical
        while left:
            step = [a for a in left if not reached or not named[a] or named[a] & reached]
            if not step:
                break
            near += step
            if conflicts(near):
                return near
            taken = set(step)
            left = [a for a in left if a not in taken]
            for axiom in step:
                reached |= named[axiom]
        # An axiom that shares no name with the others may still limit the number of individuals.
        return logical if conflicts(logical) else None

    def _is_consistent(self, axioms: Sequence[Any]) -> bool:
        manager = self._api.manager.createOWLOntologyManager()
        reasoner = self._api.reasoner(manager.createOntology(self._api.set_of(*axioms)))
        try:
            return bool(reasoner.isConsistent())
        finally:
            reasoner.dispose()

    def _read(self, triples: str) -> list[Any]:
        ontology, _ = self._api.read(triples.encode())
        return list(ontology.getLogicalAxioms())

    def _written(self, axiom: Any) -> str:
        return " ".join(str(self._renderer.render(axiom)).split())


def _names(axiom: Any) -> frozenset[str]:
    """The classes, properties and individuals in an axiom; datatypes do not connect axioms."""
    return frozenset(
        str(each.getIRI())
        for each in axiom.getSignature()
        if not each.isOWLDatatype() and not each.isTopEntity()
    )
