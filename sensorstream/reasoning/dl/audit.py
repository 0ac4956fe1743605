"""Comparing what was inferred step by step with what HermiT finds when it starts from nothing.

Nothing is shared with the way that inferences usually take: no islands, no memory of earlier
answers, no definitions decided last. It is as slow as that, and meant to run in the background.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sensorstream.clock import Clock
from sensorstream.errors import ReasonerError, TermError
from sensorstream.kb.graph import Origin
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL_IMPORTS, OWL_ONTOLOGY, OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.islands import DATATYPES
from sensorstream.reasoning.dl.process import JavaProcess
from sensorstream.reasoning.dl.protocol import Realise, Realised
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples

_BLANK: Final = "urn:sensorstream:blank:"
_INFERRED: Final = Origin.INFERRED | Origin.STATIC_INFERRED
_ASSERTED: Final = Origin.STATIC | Origin.WINDOW
_NICE: Final = 15
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Differences:
    """What an audit found: entailed but not inferred, and inferred but not entailed.

    ``contradiction`` tells that the window has no model at all.
    """

    missing: tuple[Triple, ...] = ()
    unfounded: tuple[Triple, ...] = ()
    contradiction: bool = False

    def __len__(self) -> int:
        return len(self.missing) + len(self.unfounded) + self.contradiction

    def __str__(self) -> str:
        parts = []
        if self.contradiction:
            parts.append("the window contradicts the ontology")
        for word, triples in (
            ("should be inferred and is not", self.missing),
            ("is inferred and should not be", self.unfounded),
        ):
            if triples:
                shown = " ".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples[:_SHOWN])
                rest = len(triples) - _SHOWN
                parts.append(f"{word}: {shown}" + (f" and {rest} more" if rest > 0 else ""))
        return "; ".join(parts)


def audit(
    ontology: Ontology,
    marks: Mapping[Triple, Origin],
    *,
    java: str,
    heap: int,
    seconds: float,
    clock: Clock,
) -> Differences:
    """Compare types, links and equality in a copy of the knowledge base with a run of HermiT.

    Args:
        ontology: the one that the copy was inferred with.
        marks: every triple of the copy, and the graphs that hold it.
        java: the home of a Java runtime, or "".
        heap: memory for Java, in MiB.
        seconds: how long it may take.
        clock: counts the seconds.

    Raises:
        ReasonerError: HermiT did not finish in time, or failed.
    """
    terminology = Terminology.of(ontology)
    window = [t for t, origin in marks.items() if origin & Origin.WINDOW]
    document = _document(ontology, terminology, window)
    process = JavaProcess("the audit", java=java, heap=heap, nice=_NICE, clock=clock)
    try:
        process.launch()
        answer = process.exchange(Realise(document), seconds)
    finally:
        process.close()
    assert isinstance(answer, Realised)
    if answer.error:
        raise ReasonerError(f"the audit: {answer.error}")
    if answer.triples is None:
        return Differences(contradiction=True)
    entailed = {(_back(s), IRI(p), _back(o)) for s, p, o in answer.triples}
    roles = ontology.schema.object_properties
    known = {part for t in marks for part in (t[0], t[2])}

    def compared(triple: Triple) -> bool:
        s, p, o = triple
        if p == RDF_TYPE:
            return o in ontology.schema.classes
        return p in roles or (p == OWL_SAME_AS and s != o)

    missing = (
        t for t in entailed if t not in marks and compared(t) and t[0] in known and t[2] in known
    )
    unfounded = (
        t
        for t, origin in marks.items()
        if origin & _INFERRED and not origin & _ASSERTED and compared(t) and t not in entailed
    )
    return Differences(tuple(sorted(missing)), tuple(sorted(unfounded)))


def _document(ontology: Ontology, terminology: Terminology, window: Iterable[Triple]) -> str:
    """Ontology and window for HermiT; blank nodes that are individuals get a name."""
    named = {n for n in terminology.individuals if isinstance(n, BlankNode)}
    asserted = [t for t in window if _is_for_reasoners(t, terminology)]
    named |= {part for s, _, o in asserted for part in (s, o) if isinstance(part, BlankNode)}
    said = [t for t in ontology.triples if t[1] != OWL_IMPORTS and t[2] != OWL_ONTOLOGY]
    schema = ontology.schema
    triples: list[Triple] = []
    for s, p, o in [*said, *asserted]:
        is_value = isinstance(o, Literal) and p in schema.datatype_properties
        if is_value and not _is_for_reasoners((s, p, o), terminology):
            continue
        triples.append((_forth(s, named), p, _forth(o, named)))  # type: ignore[arg-type]
    return to_ntriples(triples).decode()


def _is_for_reasoners(triple: Triple, terminology: Terminology) -> bool:
    """Whether a triple says something in OWL's terms: values are the engine's own affair else."""
    _, p, o = triple
    if not isinstance(o, Literal):
        return True
    if p not in terminology.data or o.datatype not in DATATYPES:
        return False
    try:
        _ = o.value
    except TermError:
        return False
    return True


def _forth(term: Term, named: set[BlankNode]) -> Term:
    return IRI(_BLANK + term[2:]) if isinstance(term, BlankNode) and term in named else term


def _back(name: str) -> IRI | BlankNode:
    return BlankNode(f"_:{name.removeprefix(_BLANK)}") if name.startswith(_BLANK) else IRI(name)
