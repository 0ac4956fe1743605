"""The schema to which rules are specialised: that of the static graph, and what does not alter it.

A stream may say or imply something of the schema that makes no difference: that a property which
the ontology does not declare is a property, or a subproperty of itself. With it the rules would be
specialised to the same rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.rulesets.lists import unrolled
from sensorstream.reasoning.rulesets.renaming import renamed
from sensorstream.reasoning.rulesets.schema_vocabulary import schema_kinds
from sensorstream.reasoning.rulesets.specialise import divided, numbered, specialise

STATIC: Final = Origin.STATIC | Origin.STATIC_INFERRED
_TRIALS: Final = 64
"""How often rules are specialised on trial: a stream may bring new names without end."""


class Ground:
    """What rules are for the schema of a static graph that is closed.

    ``streamed`` are the specialised ones; ``rules`` have those about the schema alone besides: what
    does not alter the others is closed under these as it streams.
    """

    def __init__(self, rules: Sequence[DerivationRule], kb: KnowledgeBase) -> None:
        self._whole = rules
        self._kinds: dict[IRI | None, dict[Term | None, None]] = {}
        for kind in schema_kinds(rules):
            self._kinds.setdefault(kind.predicate, {})[kind.object] = None
        self._index = TripleIndex()
        for triple in kb.triples(STATIC):
            if self._is_schema(triple):
                self._index.add(triple)
        self.streamed = specialise(rules, self._index)
        of_schema = _of_schema(rules, self._index)
        self.rules = numbered((*self.streamed, *of_schema))
        self._known = _meanings(self.streamed) | _meanings(of_schema)
        self._trials = 0

    def foreign(self, kb: KnowledgeBase, triples: Iterable[Triple]) -> list[Triple]:
        """Those of the schema that the static graph does not have, and that may alter the rules."""
        kinds = self._kinds
        found = []
        for triple in triples:
            objects = kinds.get(triple[1])
            if objects is None or not (None in objects or triple[2] in objects):
                continue
            if not kb.marks(triple) & STATIC and triple not in self._index:
                found.append(triple)
        return found

    def admits(self, triples: Iterable[Triple]) -> bool:
        """Whether triples do not alter the rules; from then on they are not foreign."""
        new = [triple for triple in triples if triple not in self._index]
        if not new:
            return True
        if self._trials == _TRIALS:
            return False
        self._trials += 1
        for triple in new:
            self._index.add(triple)
        streamed = _meanings(specialise(self._whole, self._index))
        if streamed | _meanings(_of_schema(self._whole, self._index)) == self._known:
            return True
        for triple in new:
            self._index.discard(triple)
        return False

    def _is_schema(self, triple: Triple) -> bool:
        objects = self._kinds.get(triple[1])
        return objects is not None and (None in objects or triple[2] in objects)


def _of_schema(rules: Sequence[DerivationRule], index: TripleIndex) -> list[DerivationRule]:
    return [
        division.whole
        for rule in unrolled(rules, index)
        for division in divided(rule)
        if division.is_of_schema
    ]


def _meanings(rules: Iterable[DerivationRule]) -> frozenset[Hashable]:
    return frozenset(map(renamed, rules))
