"""The comparison of the incremental inferences with a new run of HermiT over everything.

It uses none of the usual optimisations (bounds, islands, a cache of answers), so it is slow and
runs in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from sensorstream.clock import Clock
from sensorstream.errors import ReasonerError, TermError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple, term
from sensorstream.reasoning.dl.contradictions import BLANK, axioms_of, named_blanks
from sensorstream.reasoning.dl.datatypes import OpaqueValues, value_of
from sensorstream.reasoning.dl.islands import whole_window
from sensorstream.reasoning.dl.reasoner_messages import Statement
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Unanswered
from sensorstream.reasoning.dl.reasoner_worker import Served
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples

_LOG: Final = logging.getLogger(__name__)
_INFERRED: Final = Origin.INFERRED | Origin.STATIC_INFERRED
_ASSERTED: Final = Origin.STATIC | Origin.WINDOW
_NICE: Final = 15
_SHOWN: Final = 10
_AT_ONCE: Final = 100


@frozen
class Differences:
    """The result of a cross-check: entailed triples not inferred, and inferred ones not entailed.
    ``contradiction``: the window has no model. HermiT and Pellet differ on ``disputed`` types.
    """

    missing: tuple[Triple, ...] = ()
    unfounded: tuple[Triple, ...] = ()
    contradiction: bool = False
    disputed: tuple[Triple, ...] = ()

    def __len__(self) -> int:
        return len(self.missing) + len(self.unfounded) + self.contradiction + len(self.disputed)

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            self.missing + other.missing,
            self.unfounded + other.unfounded,
            self.contradiction or other.contradiction,
            self.disputed + other.disputed,
        )

    def __str__(self) -> str:
        parts = []
        if self.contradiction:
            parts.append("the window contradicts the ontology")
        for word, triples in (
            ("should be inferred and is not", self.missing),
            ("is inferred and should not be", self.unfounded),
            ("HermiT and Pellet do not agree about", self.disputed),
        ):
            if triples:
                shown = " ".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples[:_SHOWN])
                rest = len(triples) - _SHOWN
                parts.append(f"{word}: {shown}" + (f" and {rest} more" if rest > 0 else ""))
        return "; ".join(parts)


def cross_check(
    ontology: Ontology,
    marks: Mapping[Triple, Origin],
    *,
    java: str,
    heap: int,
    seconds: float,
    clock: Clock,
) -> Differences:
    """Compare types, values and equality in a copy of the knowledge base with a run of HermiT.

    Args:
        ontology: the ontology of the inferences in the copy.
        marks: every triple of the copy, and the graphs that hold it.
        java: the home of a Java runtime, or "".
        heap: memory for Java, in MiB.
        seconds: how long it may take.
        clock: counts the seconds.

    Raises:
        ReasonerError: HermiT did not finish in time, or failed.
    """
    process = JavaProcess("the cross-check", java=java, heap=heap, nice=_NICE, clock=clock)
    try:
        process.launch()
        end = clock.counter() + seconds
        found = compare(ontology, marks, process, seconds=seconds, clock=clock)
        if found.contradiction:
            return found
        known = {*found.missing, *found.unfounded}
        try:
            other = disputed(ontology, marks, process, seconds=end - clock.counter())
        except ReasonerError as error:
            _LOG.warning("the cross-check has no second opinion: %s", error)
            return found
        return replace(found, disputed=tuple(t for t in other if t not in known))
    except Unanswered as error:
        raise ReasonerError(f"the cross-check: {error}") from None
    finally:
        process.close()


def compare(
    ontology: Ontology,
    marks: Mapping[Triple, Origin],
    process: JavaProcess,
    *,
    seconds: float,
    clock: Clock,
) -> Differences:
    """Compare as :func:`cross_check`, with a process that runs already.

    The list of HermiT gives the candidates. If axioms can make individuals equal, the list may be
    too long. So a difference counts only if a search for a model in which the statement is false
    confirms it, and in that case everything inferred is tested in this way.
    """
    end = clock.counter() + seconds
    terminology = Terminology.of(ontology)
    window = [t for t, origin in marks.items() if origin & Origin.WINDOW]
    numbers = terminology.datatypes.numbers()
    values = [
        (f"<{p}>", numbers.literal(value).n3) for p, value in terminology.probes.values.values()
    ]
    document = _document(ontology, terminology, window, numbers)
    realise = partial(Served.realise, document=document, values=values)
    statements = process.exchange(realise, seconds)
    if statements is None:
        return Differences(contradiction=True)
    listed = [_back(each, numbers) for each in statements]
    entailed = {_meaning(t) for t in listed}
    held = {_meaning(t) for t in marks if _is_compared(t, terminology)}
    known = {part for t in marks for part in (t[0], t[2])}
    missing = {
        t: True
        for t in listed
        if _is_compared(t, terminology)
        and _meaning(t) not in held
        and t[0] in known
        and (isinstance(t[2], Literal) or t[2] in known)
    }
    inferred = [
        t
        for t, origin in marks.items()
        if origin & _INFERRED and not origin & _ASSERTED and _is_compared(t, terminology)
    ]
    asked = {**missing, **{t: False for t in inferred if _meaning(t) not in entailed}}
    if terminology.probes.equality:
        asked.update(dict.fromkeys(inferred, False))
    wrong = _verified(process, asked, numbers, end, clock)
    return Differences(
        tuple(sorted(t for t in wrong if asked[t])),
        tuple(sorted(t for t in wrong if not asked[t])),
    )


def disputed(
    ontology: Ontology,
    marks: Mapping[Triple, Origin],
    process: JavaProcess,
    *,
    seconds: float,
) -> tuple[Triple, ...]:
    """The types by which the copy differs from Pellet's about the whole window.

    Pellet is an independent program: where both have the same answer, an error of one is no error
    of the other. Pellet has errors too, so a difference says only that they do not agree.

    Raises:
        ReasonerError: Pellet did not finish in time, failed, or finds a contradiction.
    """
    terminology = Terminology.of(ontology)
    kb = KnowledgeBase()
    for origin in (Origin.STATIC, Origin.WINDOW):
        kb.add(origin, (t for t, held in marks.items() if held & origin))
    whole = whole_window(kb, terminology)
    axioms = terminology.document("pellet").decode()
    load = partial(Served.load, reasoner="pellet", axioms=axioms)
    try:
        process.exchange(load, seconds)
        (found,) = process.exchange(partial(Served.types, islands=[whole.facts]), seconds)
    except Unanswered as error:
        raise ReasonerError(f"Pellet: {error}") from None
    if found is None:
        raise ReasonerError("Pellet: the window contradicts the ontology")
    classes = ontology.schema.classes
    derived = {
        (member, rdf.TYPE, IRI(name))
        for member, types in zip(whole.members, found, strict=True)
        for name in types
        if name in classes
    }
    members = set(whole.members)
    held = {t for t in marks if t[1] == rdf.TYPE and t[2] in classes and t[0] in members}
    return tuple(sorted(derived ^ held))


def _verified(
    process: JavaProcess,
    expected: Mapping[Triple, bool],
    numbers: OpaqueValues,
    end: float,
    clock: Clock,
) -> set[Triple]:
    """The triples that follow if True is given for them, or do not follow if False is."""
    wrong: set[Triple] = set()
    triples = list(expected)
    for first in range(0, len(triples), _AT_ONCE):
        part = triples[first : first + _AT_ONCE]
        told = [(s, p, numbers.literal(o) if isinstance(o, Literal) else o) for s, p, o in part]
        asked = [(s.n3, p.n3, o.n3) for s, p, o in named_blanks(told)]
        try:
            verify = partial(Served.verify, statements=asked)
            follow = process.exchange(verify, end - clock.counter())
        except ReasonerError:
            if wrong:
                break  # report what is certain so far
            raise
        wrong.update(t for t, holds in zip(part, follow, strict=True) if holds == expected[t])
    return wrong


def _is_compared(triple: Triple, terminology: Terminology) -> bool:
    s, p, o = triple
    schema = terminology.schema
    if isinstance(o, Literal):
        return _is_value(triple, terminology)
    if p == rdf.TYPE:
        return o in schema.classes
    return p in schema.object_properties or (p == owl.SAME_AS and s != o)


def _meaning(triple: Triple) -> tuple[object, ...]:
    """A key that is equal for triples of one meaning: HermiT writes values in its own way."""
    s, p, o = triple
    return (s, p, value_of(o)) if isinstance(o, Literal) else triple


def _document(
    ontology: Ontology, terminology: Terminology, window: Iterable[Triple], numbers: OpaqueValues
) -> str:
    """Ontology and window for HermiT; blank nodes that are individuals get a name."""
    properties = ontology.schema.datatype_properties
    asserted = [t for t in window if not isinstance(t[2], Literal) or _is_value(t, terminology)]
    nodes = {*terminology.individuals, *(part for s, _, o in asserted for part in (s, o))}
    # Other literals are in annotations or parts of axioms.
    said = (
        triple
        for triple in axioms_of(ontology)
        if triple[1] not in properties or _is_value(triple, terminology)
    )
    told = named_blanks((*said, *asserted), nodes)
    return to_ntriples(terminology.datatypes.rewritten(told, numbers)).decode()


def _is_value(triple: Triple, terminology: Terminology) -> bool:
    """Whether a triple with a literal is an assertion for OWL, not an annotation."""
    _, p, o = triple
    assert isinstance(o, Literal)
    datatypes = terminology.datatypes
    if p not in terminology.schema.datatype_properties or not datatypes.is_told(o.datatype):
        return False
    try:
        _ = value_of(o)
    except TermError:
        return False
    return True


def _back(statement: Statement, numbers: OpaqueValues) -> Triple:
    s, p, o = (term(part) for part in statement)

    def node(read: Term) -> Term:
        if isinstance(read, Literal):
            return numbers.original(read)
        blank = isinstance(read, IRI) and read.startswith(BLANK)
        return BlankNode(f"_:{read.removeprefix(BLANK)}") if blank else read

    return node(s), p, node(o)  # type: ignore[return-value]
