"""Why HermiT and Pellet infer a triple: a minimal set of assertions and axioms that entail it.

They entail it if they have no model together with its denial. HermiT decides this, in a process of
its own; the set is found by QuickXplain, as that of a contradiction is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sensorstream.clock import Clock
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_NEGATIVE_ASSERTION,
    OWL_SAME_AS,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.contradictions import axioms_of, declarations
from sensorstream.reasoning.dl.datatypes import Numbers
from sensorstream.reasoning.dl.process import HEAP, JavaProcess
from sensorstream.reasoning.dl.protocol import Explain, Explained
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples

MOST_ASSERTIONS: Final = 300
"""Assertions of the window among which those are sought that entail a triple; the nearest."""
_NICENESS: Final = 10
_BLANK: Final = "urn:sensorstream:node:"
_DENIAL: Final = BlankNode("_:denial")


@dataclass(frozen=True, slots=True)
class Entailed:
    """Assertions of the window, and axioms in Manchester syntax, that entail a triple.

    Together they are minimal. ``limits`` says why there are none; "" if there are.
    """

    assertions: tuple[Triple, ...]
    axioms: tuple[str, ...]
    limits: str = ""


def assertions_near(triple: Triple, kb: KnowledgeBase, schema: Schema) -> tuple[Triple, ...]:
    """What the window asserts about the individuals of a triple, then about their neighbours, …"""
    subject, predicate, value = triple
    ahead: list[Subject] = [subject]
    if isinstance(value, IRI | BlankNode) and predicate != RDF_TYPE:
        ahead.append(value)
    seen = dict.fromkeys(ahead)
    found: dict[Triple, None] = {}
    while ahead and len(found) < MOST_ASSERTIONS:
        beyond: dict[Subject, None] = {}
        for node in ahead:
            for each in (*kb.match(node, None, None), *kb.match(None, None, node)):
                if not kb.marks(each) & Origin.WINDOW or not _is_assertion(each, schema):
                    continue
                found[each] = None
                if each[1] != RDF_TYPE:
                    ends = (end for end in (each[0], each[2]) if not isinstance(end, Literal))
                    beyond.update(dict.fromkeys(ends))
        ahead = [node for node in beyond if node not in seen]
        seen.update(dict.fromkeys(ahead))
    return tuple(found)[:MOST_ASSERTIONS]


def entailed(
    triple: Triple,
    assertions: Sequence[Triple],
    ontology: Ontology,
    *,
    java: str = "",
    heap: int = HEAP,
    seconds: float,
    clock: Clock,
) -> Entailed:
    """A minimal set of these assertions, and of the ontology's axioms, that entails a triple.

    A process of HermiT is started for it, and ended. ``heap`` is its memory, in MiB.
    """
    denied = [*declarations([triple], ontology.schema), *_denial(triple)]
    process = JavaProcess("the explainer", java=java, heap=heap, clock=clock)
    return _without_model(denied, assertions, ontology, process, seconds)


def clashing(
    assertions: Sequence[Triple],
    ontology: Ontology,
    *,
    java: str = "",
    heap: int = HEAP,
    seconds: float,
    clock: Clock,
) -> Entailed:
    """A minimal set of these assertions, and of the ontology's axioms, that has no model.

    As :func:`entailed`; the process gives way to others.
    """
    process = JavaProcess("the explainer", java=java, heap=heap, nice=_NICENESS, clock=clock)
    return _without_model([], assertions, ontology, process, seconds)


def _without_model(
    denied: Sequence[Triple],
    assertions: Sequence[Triple],
    ontology: Ontology,
    process: JavaProcess,
    seconds: float,
) -> Entailed:
    terminology = Terminology.of(ontology)
    datatypes = terminology.datatypes
    numbers = datatypes.numbers()

    def told(triples: Iterable[Triple]) -> str:
        return to_ntriples(datatypes.rewritten(_named(triples), numbers)).decode()

    candidates = [told([*declarations([each], ontology.schema), each]) for each in assertions]
    request = Explain(_axioms(ontology, terminology, numbers), told(denied), seconds, candidates)
    try:
        process.launch()
        # The limit is for the search: a start of Java, and reading the ontology, come before.
        answer = process.exchange(request, 2 * seconds)
    except ReasonerError as error:
        return Entailed((), (), f"the reasons are not known: {error}")
    finally:
        process.close()
    assert isinstance(answer, Explained)
    if answer.axioms is not None:
        chosen = tuple(assertions[number] for number in answer.chosen)
        return Entailed(chosen, tuple(map(datatypes.readable, answer.axioms)))
    if answer.error:
        return Entailed((), (), f"the reasons are not known: {answer.error}")
    if answer.consistent:
        near = f"the {len(assertions)} nearest assertions of the window"
        return Entailed((), (), f"HermiT does not find it in {near}")
    return Entailed((), (), f"not narrowed down within {seconds:g} s: ask again later")


def _axioms(ontology: Ontology, terminology: Terminology, numbers: Numbers) -> str:
    said = _named(axioms_of(ontology), terminology.individuals)
    return to_ntriples(terminology.datatypes.rewritten(said, numbers)).decode()


def _is_assertion(triple: Triple, schema: Schema) -> bool:
    _, p, o = triple
    if p == RDF_TYPE:
        return o in schema.classes
    return p in schema.object_properties | schema.datatype_properties or p in (
        OWL_SAME_AS,
        OWL_DIFFERENT_FROM,
    )


def _denial(triple: Triple) -> Iterator[Triple]:
    """That a triple is false."""
    s, p, o = triple
    if p == RDF_TYPE:
        yield _DENIAL, RDF_TYPE, IRI(f"{OWL}Class")
        yield _DENIAL, IRI(f"{OWL}complementOf"), o
        yield s, RDF_TYPE, _DENIAL
    elif p == OWL_SAME_AS:
        yield s, OWL_DIFFERENT_FROM, o
    else:
        yield _DENIAL, RDF_TYPE, OWL_NEGATIVE_ASSERTION
        yield _DENIAL, IRI(f"{OWL}sourceIndividual"), s
        yield _DENIAL, IRI(f"{OWL}assertionProperty"), p
        target = "targetValue" if isinstance(o, Literal) else "targetIndividual"
        yield _DENIAL, IRI(f"{OWL}{target}"), o


def _named(
    triples: Iterable[Triple], individuals: Iterable[Term] | None = None
) -> Iterator[Triple]:
    """The triples with names for blank nodes: of these individuals, or of all but the denial.

    A blank node means something else in each text.
    """
    among = None if individuals is None else frozenset(individuals)

    def name(term: Term) -> Term:
        if not isinstance(term, BlankNode) or term == _DENIAL:
            return term
        return IRI(f"{_BLANK}{term[2:]}") if among is None or term in among else term

    for s, p, o in triples:
        yield name(s), p, name(o)  # type: ignore[misc]
