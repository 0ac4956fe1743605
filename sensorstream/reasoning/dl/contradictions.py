"""The search for assertions and axioms that contradict each other, or entail a triple.

For a contradiction assertions are contracted first, against all axioms, by the resident reasoner.
The axioms are then contracted against those few assertions in a separate process. Every proper
subset of the two together has a model: let S be the assertions and A the axioms that are left.
Without one assertion, S has a model with all axioms, so with A; without one axiom, A has one with
S, since A is minimal for S. More statements never have more models. The time is bounded.

HermiT and Pellet infer a triple if assertions and axioms have no model together with its denial.
HermiT decides this, in a process of its own; the set is found by QuickXplain, too.
"""

from __future__ import annotations

import os
import signal
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from functools import partial
from typing import Final, NotRequired, TypeAlias, TypedDict, Unpack

from sensorstream.clock import Clock
from sensorstream.errors import Contradiction, Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.events import Delta
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple, term
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.dl.axioms import line_of
from sensorstream.reasoning.dl.datatypes import Datatypes, OpaqueValues
from sensorstream.reasoning.dl.quickxplain import minimal_conflict
from sensorstream.reasoning.dl.reasoner_messages import Explained
from sensorstream.reasoning.dl.reasoner_process import HEAP, JavaProcess
from sensorstream.reasoning.dl.reasoner_worker import Served
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples
from sensorstream.reasoning.reasoner import Aside, Reasoner, without_limits

_PERIOD: Final = 60.0
_SHARE: Final = 0.1
"""Part of the engine's time in a period: many bad messages must not delay the good ones."""
_PATIENCE: Final = 60.0
"""Seconds after which the explainer's process is stopped; no caller waits so long for it."""
_SHOWN: Final = 20
"""Assertions that a sentence names."""
MOST_KEPT: Final = 300
"""Assertions that are kept of a contradiction that is not narrowed down at once."""
_REMEMBERED: Final = 256

_Shape: TypeAlias = tuple[tuple[str, ...], ...]


class Explainer:
    """A finder of the contradiction in an island that has no model; owned by one thread."""

    def __init__(
        self,
        ontology: Ontology,
        reasoner: Callable[[], Reasoner],
        datatypes: Datatypes,
        *,
        java: str = "",
        heap: int = HEAP,
        seconds: float,
        clock: Clock,
    ) -> None:
        """Prepare the search. ``reasoner`` makes a separate reasoner, to test assertions with;
        ``datatypes`` are those of its axioms. ``seconds`` limits one explanation; all explanations
        of a minute may take a tenth of it.
        """
        self._ontology = ontology
        self._datatypes = datatypes
        self._numbers = datatypes.numbers()
        self._make = reasoner
        self._seconds = seconds
        self._clock = clock
        self._process = JavaProcess("the explainer", java=java, heap=heap, clock=clock)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="explainer")
        self._started: Future[Explained] | None = None
        self._asked: Future[Explained] | None = None
        self._trial: Aside | None = None
        self._axioms = ""
        self._known: OrderedDict[_Shape, tuple[int, ...]] = OrderedDict()
        self._spent: deque[tuple[float, float]] = deque()

    def explain(self, kb: KnowledgeBase, delta: Delta, error: Inconsistent) -> Inconsistent:
        """The same error with its contradiction; ``delta`` is still applied to ``kb``."""
        if error.contradiction is not None or not error.individuals:
            return error
        if self._started is None:
            # A process with Java, which most deployments never need.
            self._asked = self._started = self._ask("")
        members = [_subject(name) for name in error.individuals]
        suspects = list(_suspects(kb, delta, members))
        begin = self._clock.counter()
        while self._spent and self._spent[0][0] < begin - _PERIOD:
            self._spent.popleft()
        if sum(seconds for _, seconds in self._spent) > _SHARE * _PERIOD:
            found = _unexplained(
                suspects, "there were too many contradictions in this minute to explain each"
            )
        else:
            found = self._explain(kb, members, suspects, begin + self._seconds)
            self._spent.append((begin, self._clock.counter() - begin))
        return Inconsistent(
            f"the message contradicts the ontology: {told(found)}",
            individuals=error.individuals,
            contradiction=found,
        )

    def close(self) -> None:
        """End the explainer's process; a second call does nothing."""
        pid = self._process.pid
        if pid is not None and self._asked is not None and not self._asked.done():
            with suppress(ProcessLookupError):  # the thread that waits for its answer closes it
                os.kill(pid, signal.SIGKILL)
        self._thread.shutdown()
        self._process.close()

    def _explain(
        self, kb: KnowledgeBase, members: Sequence[Subject], suspects: list[Triple], end: float
    ) -> Contradiction:
        try:
            triples = self._contract(kb, members, suspects, end)
        except Overrun as error:
            return _unexplained(suspects, f"not narrowed down: {error.message}")
        except (TimeoutError, ReasonerError):
            return _unexplained(suspects, f"not narrowed down within {self._seconds:g} s")
        if triples is None:
            return _unexplained(suspects, "the reasoner did not find it a second time")
        axioms, limits = self._axioms_against(triples, end)
        return Contradiction(tuple(line_of(t) for t in triples), axioms, limits)

    def _contract(
        self, kb: KnowledgeBase, members: Sequence[Subject], suspects: list[Triple], end: float
    ) -> list[Triple] | None:
        """A minimal set of assertions without a model; None if all of them have one."""
        if self._trial is None:
            self._trial = Aside(kb.triples(Origin.STATIC), self._make())
        trial = self._trial

        def conflicts(chosen: Sequence[int]) -> bool:
            if self._clock.counter() > end:
                raise TimeoutError
            delta = Delta(0, added=tuple(suspects[number] for number in chosen))
            try:
                trial.change(delta)
            except Inconsistent:
                return True
            except (Overrun, ReasonerError):
                self._trial = None  # it has neither the old state nor the new one
                raise
            with without_limits(trial.reasoner):
                trial.change(delta.inverse())
            return False

        shape = _shape(suspects, members)
        hint = self._known.pop(shape, None)
        candidates: Sequence[int] = range(len(suspects))
        if hint is not None and conflicts(hint):
            candidates = hint
        elif not conflicts(candidates):
            return None
        found = minimal_conflict(candidates, conflicts)
        self._known[shape] = tuple(found)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return [suspects[number] for number in found]

    def _axioms_against(self, triples: Sequence[Triple], end: float) -> tuple[tuple[str, ...], str]:
        """The axioms that contradict the assertions, or the reason why they are not named."""
        assert self._started is not None
        assert self._asked is not None
        begin = self._clock.counter()
        wait([self._started], _PATIENCE)
        # The limit is for the search: the start takes longer, but once.
        end += self._clock.counter() - begin
        wait([self._asked], max(0.0, end - self._clock.counter()))
        if not self._asked.done():
            return (), "the axioms are not named: the explainer is busy"
        declared = declarations(triples, self._ontology.schema)
        self._asked = self._ask(to_ntriples(self._told([*declared, *triples])).decode())
        try:
            answer = self._asked.result(max(0.0, end - self._clock.counter()))
        except FutureTimeout:
            answer = Explained(None)
        except ReasonerError as error:
            return (), f"the axioms are not named: {error}"
        if answer.axioms is not None:
            return tuple(map(self._datatypes.readable, answer.axioms)), ""
        if answer.consistent:
            return (), "the axioms are not named: HermiT does not find the contradiction"
        return (), f"the axioms were not found within {self._seconds:g} s"

    def _ask(self, triples: str) -> Future[Explained]:
        if not self._axioms:
            self._axioms = to_ntriples(self._told(axioms_of(self._ontology))).decode()
        return self._thread.submit(self._exchange, triples)

    def _told(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        """Triples in the form for HermiT; equal values stay equal in all of them."""
        return self._datatypes.rewritten(triples, self._numbers)

    def _exchange(self, triples: str) -> Explained:
        if self._process.pid is None:
            self._process.launch()
        question = partial(
            Served.explain, axioms=self._axioms, triples=triples, seconds=self._seconds
        )
        return self._process.exchange(question, _PATIENCE)


def axioms_of(ontology: Ontology) -> list[Triple]:
    """The ontology without its header, because a reasoner would follow the imports."""
    return [t for t in ontology.triples if t[1] != owl.IMPORTS and t[2] != owl.ONTOLOGY]


def told(contradiction: Contradiction) -> str:
    """The contradiction as one line; names without their namespaces."""
    parts = []
    if contradiction.triples:
        shown = contradiction.triples[:_SHOWN]
        more = len(contradiction.triples) - len(shown)
        also = f" and {more} more" if more else ""
        parts.append(", ".join(_brief(line) for line in shown) + also)
    if contradiction.axioms:
        parts.append("against " + "; ".join(contradiction.axioms))
    if contradiction.limits:
        parts.append(f"({contradiction.limits})")
    return " ".join(parts)


def _unexplained(suspects: Sequence[Triple], why: str) -> Contradiction:
    left = len(suspects) - MOST_KEPT
    more = f"; {left} more assertions" if left > 0 else ""
    return Contradiction(
        tuple(line_of(triple) for triple in suspects[:MOST_KEPT]),
        limits=f"some of these contradict the ontology: {why}{more}",
    )


def _suspects(kb: KnowledgeBase, delta: Delta, members: Sequence[Subject]) -> Iterable[Triple]:
    """The assertions of the window about an island, the latest change first."""
    found: dict[Triple, None] = {}
    among = set(members)
    for triple in delta.added:
        if triple[0] in among or triple[2] in among:
            found[triple] = None
    for member in members:
        found.update(dict.fromkeys(kb.match(member, None, None)))
        found.update(dict.fromkeys(kb.match(None, None, member)))
    for triple in found:
        origins = kb.origins(triple)
        if origins & Origin.WINDOW and not origins & Origin.STATIC:
            yield triple


def _shape(triples: Iterable[Triple], members: Sequence[Subject]) -> _Shape:
    """A key that is equal for contradictions that are probably alike: without names and values."""
    number = {member: str(n) for n, member in enumerate(members)}

    def part(predicate: IRI, value: Term) -> str:
        if isinstance(value, Literal):
            return str(value.datatype)
        return str(value) if predicate == rdf.TYPE else number.get(value, "")

    return tuple((number.get(s, ""), p, part(p, o)) for s, p, o in triples)


def declarations(triples: Iterable[Triple], schema: Schema) -> list[Triple]:
    """The declarations that triples need to be read as OWL on their own."""
    found: dict[Triple, None] = {}
    for _, p, o in triples:
        if p in schema.object_properties:
            found[p, rdf.TYPE, IRI(f"{OWL}ObjectProperty")] = None
        elif p in schema.datatype_properties:
            found[p, rdf.TYPE, IRI(f"{OWL}DatatypeProperty")] = None
        elif p == rdf.TYPE and isinstance(o, IRI):
            found[o, rdf.TYPE, IRI(f"{OWL}Class")] = None
    return list(found)


def _subject(name: str) -> Subject:
    found = term(name)
    assert isinstance(found, IRI | BlankNode)
    return found


def triple_of(line: str) -> Triple:
    """The triple of a line of a contradiction, which is not shortened."""
    subject, predicate, rest = line.removesuffix(" .").split(" ", 2)
    return _subject(subject), IRI(term(predicate)), term(rest)


def _brief(line: str) -> str:
    """An N-Triples line with only the last parts of its names."""
    subject, predicate, rest = line.removesuffix(" .").split(" ", 2)
    value = term(rest)
    shown = value.lexical if isinstance(value, Literal) else _local(rest)
    word = "a" if predicate == f"<{rdf.TYPE}>" else _local(predicate)
    return f"{_local(subject)} {word} {shown}"


def _local(name: str) -> str:
    bare = name.strip("<>")
    return bare.replace("#", "/").rstrip("/").rpartition("/")[2] or bare


MOST_ASSERTIONS: Final = 300
"""Assertions of the window among which those are sought that entail a triple; the nearest."""
_NICENESS: Final = 10
BLANK: Final = "urn:sensorstream:node:"
"""Prefix of the names that blank nodes have for HermiT."""
_DENIAL: Final = BlankNode("_:denial")


@frozen
class EntailmentReason:
    """Assertions of the window, and axioms in Manchester syntax, that entail a triple. Together
    they are minimal. ``limits`` says why there are none; "" if there are.
    """

    assertions: tuple[Triple, ...]
    axioms: tuple[str, ...]
    limits: str = ""


def assertions_near(triple: Triple, kb: KnowledgeBase, schema: Schema) -> tuple[Triple, ...]:
    """The window's assertions about the individuals of a triple, then about their neighbours, …"""
    subject, predicate, value = triple
    ahead: list[Subject] = [subject]
    if isinstance(value, IRI | BlankNode) and predicate != rdf.TYPE:
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
                if each[1] != rdf.TYPE:
                    ends = (end for end in (each[0], each[2]) if not isinstance(end, Literal))
                    beyond.update(dict.fromkeys(ends))
        ahead = [node for node in beyond if node not in seen]
        seen.update(dict.fromkeys(ahead))
    return tuple(found)[:MOST_ASSERTIONS]


class SearchLimits(TypedDict):
    """``java`` and ``heap``, in MiB, are of the process; ``seconds`` limit the search."""

    java: NotRequired[str]
    heap: NotRequired[int]
    seconds: float
    clock: Clock


def entailed(
    triple: Triple, assertions: Sequence[Triple], ontology: Ontology, **limits: Unpack[SearchLimits]
) -> EntailmentReason:
    """A minimal set of these assertions, and of the ontology's axioms, that entails a triple. A
    process of HermiT is started for it, and ended.
    """
    denied = [*declarations([triple], ontology.schema), *_denial(triple)]
    return _without_model(denied, assertions, ontology, 0, limits)


def clashing(
    assertions: Sequence[Triple], ontology: Ontology, **limits: Unpack[SearchLimits]
) -> EntailmentReason:
    """A minimal set of these assertions, and of the ontology's axioms, that has no model. As
    :func:`entailed`; the process gives way to others.
    """
    return _without_model([], assertions, ontology, _NICENESS, limits)


def _without_model(
    denied: Sequence[Triple],
    assertions: Sequence[Triple],
    ontology: Ontology,
    nice: int,
    limits: SearchLimits,
) -> EntailmentReason:
    java, heap, seconds = limits.get("java", ""), limits.get("heap", HEAP), limits["seconds"]
    process = JavaProcess("the explainer", java=java, heap=heap, nice=nice, clock=limits["clock"])
    terminology = Terminology.of(ontology)
    datatypes = terminology.datatypes
    numbers = datatypes.numbers()

    def told(triples: Iterable[Triple]) -> str:
        return to_ntriples(datatypes.rewritten(named_blanks(triples), numbers)).decode()

    candidates = [told([*declarations([each], ontology.schema), each]) for each in assertions]
    question = partial(
        Served.explain,
        axioms=_axioms(ontology, terminology, numbers),
        triples=told(denied),
        seconds=seconds,
        candidates=candidates,
    )
    try:
        process.launch()
        # The limit is for the search, after the start of Java and the reading of the ontology.
        answer = process.exchange(question, 2 * seconds)
    except ReasonerError as error:
        return EntailmentReason((), (), f"the reasons are not known: {error}")
    finally:
        process.close()
    if answer.axioms is not None:
        chosen = tuple(assertions[number] for number in answer.chosen)
        return EntailmentReason(chosen, tuple(map(datatypes.readable, answer.axioms)))
    if answer.consistent:
        near = f"the {len(assertions)} nearest assertions of the window"
        return EntailmentReason((), (), f"HermiT does not find it in {near}")
    return EntailmentReason((), (), f"not narrowed down within {seconds:g} s: ask again later")


def _axioms(ontology: Ontology, terminology: Terminology, numbers: OpaqueValues) -> str:
    said = named_blanks(axioms_of(ontology), terminology.individuals)
    return to_ntriples(terminology.datatypes.rewritten(said, numbers)).decode()


def _is_assertion(triple: Triple, schema: Schema) -> bool:
    _, p, o = triple
    if p == rdf.TYPE:
        return o in schema.classes
    return p in schema.object_properties | schema.datatype_properties or p in (
        owl.SAME_AS,
        owl.DIFFERENT_FROM,
    )


def _denial(triple: Triple) -> Iterator[Triple]:
    """The triples that deny a triple."""
    s, p, o = triple
    if p == rdf.TYPE:
        yield _DENIAL, rdf.TYPE, IRI(f"{OWL}Class")
        yield _DENIAL, IRI(f"{OWL}complementOf"), o
        yield s, rdf.TYPE, _DENIAL
    elif p == owl.SAME_AS:
        yield s, owl.DIFFERENT_FROM, o
    else:
        yield _DENIAL, rdf.TYPE, owl.NEGATIVE_ASSERTION
        yield _DENIAL, IRI(f"{OWL}sourceIndividual"), s
        yield _DENIAL, IRI(f"{OWL}assertionProperty"), p
        target = "targetValue" if isinstance(o, Literal) else "targetIndividual"
        yield _DENIAL, IRI(f"{OWL}{target}"), o


def named_blanks(
    triples: Iterable[Triple], individuals: Iterable[Term] | None = None
) -> Iterator[Triple]:
    """The triples with names for blank nodes: of these individuals, or of all but the denial. A
    blank node means something else in each text.
    """
    among = None if individuals is None else frozenset(individuals)

    def name(term: Term) -> Term:
        if not isinstance(term, BlankNode) or term == _DENIAL:
            return term
        return IRI(f"{BLANK}{term[2:]}") if among is None or term in among else term

    for s, p, o in triples:
        yield name(s), p, name(o)  # type: ignore[misc]
