"""The data of the main path: messages, events of the window, and deltas (changes)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from sensorstream.errors import shortened, shortened_key
from sensorstream.model.frozen import field, frozen, mutable, replace, settle
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant


class Basis(Enum):
    """The ground on which a statement holds."""

    SAID = "said"
    """A message said it, or a semantic rule when that message came."""
    RULE = "rule"
    """A semantic rule has inserted it in an earlier round of the same message."""
    INFERRED = "inferred"
    ONTOLOGY = "ontology"
    LEFT = "left"
    """The last statements of an individual that left the window at that moment."""


@frozen
class Matched:
    """A statement that the conditions of a rule matched.

    ``message`` is the id of the message that said it, or caused its inference; empty if none did.
    For a statement made by a rule, ``rule`` is its name, and ``because`` why that rule fired.
    """

    triple: Triple
    basis: Basis
    message: str = ""
    rule: str = ""
    because: Evidence | None = None


@frozen
class RuleWait:
    """The time since which a rule had waited that fired because time passed.

    ``time`` is when the condition of a ``when … for`` began to hold, or the individual of ``on
    silence`` last said something: then ``message`` is that message; empty if it is not known.
    """

    time: Instant
    message: str = ""


@frozen
class Evidence:
    """The reason of a rule's firing: the values of its variables by name, and matched statements.

    ``digest`` is that of the rule's text (:attr:`.CompiledRule.digest`). ``left_out`` counts the
    values and statements that are not here, because they are too many or too long. ``since`` is
    None if the rule fired at once.
    """

    digest: str
    bindings: tuple[tuple[str, Term], ...]
    statements: tuple[Matched, ...] = ()
    left_out: int = 0
    since: RuleWait | None = None


SEVERITIES: Final = ("info", "warning", "critical")
"""The severities, from the least to the gravest."""


@frozen
class Message:
    """An XML document as it arrived. ``id`` is given by the journal and never reused; ``received``
    is the arrival time on the deployment's time line, for messages without a time of their own.
    """

    id: str
    content: bytes
    received: Instant
    source: str = ""


class Status(Enum):
    """The way a message was taken; the journal keeps it."""

    ACCEPTED = "accepted"
    UNMATCHED = "unmatched"
    """Kept, but no mapping rule matched it."""
    HELD = "held"
    """Mapped, but an earlier message may still come: it waits for its turn."""
    LATE = "late"
    """Something later was taken in already: it went to history, not into the window."""
    PARTIAL = "partial"
    """Of a document of several messages some were taken in; it is kept with the others' reasons."""
    JOURNALLED = "journalled"
    """Kept; another process takes it in. The journal itself never has this status."""
    REJECTED = "rejected"
    """Kept, but it could not be taken in; the knowledge base is as before."""
    SKIPPED = "skipped"
    """Kept, but passed over, in each replay too: it took too long, or brought the engine down."""


@frozen
class Event:
    """An RDF graph that holds from ``time`` to ``end`` (design section 3; paper section 4, eq. 6).

    ``triples`` keep the order in which the message gave them and hold no duplicates.
    ``replaces`` names (individual, property) pairs whose earlier values this event
    supersedes: the *update* of a known individual.
    ``time`` is the application time at which it begins, ``end`` the last instant at which it
    holds; None: it holds at ``time`` only, as what a mapped message says does. ``source`` is the
    source of the message; ``stream`` names the stream, where that is another IRI than the source's.
    ``graphs`` names the graphs of the triples that were said in named graphs, one pair for each
    graph of a triple; None is the default graph. All other triples are in the default graph alone.

    Raises:
        ValueError: ``end`` is before ``time``.
    """

    triples: tuple[Triple, ...]
    time: Instant
    message: str
    replaces: frozenset[tuple[Subject, IRI]] = frozenset()
    source: str = ""
    stream: IRI | None = None
    end: Instant | None = None
    graphs: tuple[tuple[Triple, IRI | None], ...] = ()

    def __post_init__(self) -> None:
        if self.end is not None and self.end < self.time:
            raise ValueError(f"an event ends at {self.end}, before it begins at {self.time}")

    def part(self, triples: Iterable[Triple], replaces: frozenset[tuple[Subject, IRI]]) -> Event:
        """The event with some of its triples and replaced values; the triples keep their graphs."""
        kept = tuple(triples)
        graphs = self.graphs
        if graphs:
            held = frozenset(kept)
            graphs = tuple(pair for pair in graphs if pair[0] in held)
        return replace(self, triples=kept, replaces=replaces, graphs=graphs)

    def named_graphs(self) -> Mapping[Triple, tuple[IRI, ...]]:
        """The named graphs of the triples that are in any, in the order of the message."""
        found: dict[Triple, tuple[IRI, ...]] = {}
        for triple, graph in self.graphs:
            if graph is not None:
                found[triple] = (*found.get(triple, ()), graph)
        return found


@frozen
class Delta:
    """The change of a set of triples at one instant: a Z-set of weights +1 and -1. No triple is in
    both tuples, or twice in one. Both keep the order of the change, so that every run has the same.
    """

    time: Instant
    added: tuple[Triple, ...] = ()
    removed: tuple[Triple, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def inverse(self) -> Delta:
        """The delta that undoes this one."""
        return Delta(self.time, added=self.removed, removed=self.added)


def net_delta(time: Instant, changes: Sequence[Delta]) -> Delta:
    """The sum of several deltas, in order; what was added and removed again cancels out."""
    effective = [change for change in changes if change.added or change.removed]
    if len(effective) == 1 and effective[0].time == time:
        return effective[0]
    added = [triple for change in effective for triple in change.added]
    removed = [triple for change in effective for triple in change.removed]
    if len({*added, *removed}) == len(added) + len(removed):
        return Delta(time, tuple(added), tuple(removed))
    weights: dict[Triple, int] = {}
    for change in effective:
        for weight, triples in ((1, change.added), (-1, change.removed)):
            for triple in triples:
                total = weights.pop(triple, 0) + weight
                if total:
                    weights[triple] = total
    return Delta(
        time,
        added=tuple(t for t, w in weights.items() if w > 0),
        removed=tuple(t for t, w in weights.items() if w < 0),
    )


@frozen
class Provenance:
    """The message that a statement comes from, its application time, and its named graphs.

    ``graphs`` holds the names in order with a space between: one text, for it is empty for nearly
    all statements (those of the default graph alone), and checkpoints write plain texts fastest.
    """

    message: str
    time: Instant
    graphs: str = ""

    @property
    def graph_names(self) -> tuple[IRI, ...]:
        """The named graphs of the statement, in order."""
        return tuple(map(IRI, self.graphs.split()))


@mutable
class Individual:
    """A stay of an individual in the window, which keeps and expires individuals as a whole.

    ``time`` is the individual timestamp t_ind (eq. 6); ``arrival`` breaks ties between equal times;
    ``stay`` numbers the stays of a deployment, so that history can distinguish the stays of an
    individual that comes back after it expired. ``statements`` holds every triple it is the subject
    of, and those of the blank nodes it owns.
    """

    name: Subject
    stay: int
    entered: Instant
    time: Instant
    arrival: int
    message: str
    statements: dict[Triple, Provenance] = field(default_factory=dict)
    settled: Instant | None = None
    """Updates from before this time come too late: those that followed them may be forgotten."""


@frozen
class Ended:
    """A statement that holds no longer: an interval of its valid time, for history.

    It held from :attr:`valid_from` on and no longer at ``valid_to``. ``name`` is the individual
    that the statement belongs to, ``stay`` the number of its stay; 0 for an inferred statement
    about a name that is no individual of the window. ``provenance`` names the message that said it;
    for an inferred statement the one that caused it, at the time of the inference.
    """

    stay: int
    name: Subject
    triple: Triple
    provenance: Provenance
    valid_to: Instant
    inferred: bool = False

    @property
    def valid_from(self) -> Instant:
        """The first instant at which it held."""
        return self.provenance.time


@frozen
class Departure:
    """The end of an individual's stay in the window. ``individual`` is the same object that the
    window held; ``inferred`` are the triples derived for it then; ``expired_at`` is when it left.
    """

    individual: Individual
    expired_at: Instant
    inferred: tuple[Triple, ...] = ()

    def ended(self) -> Iterator[Ended]:
        """The statements that it had when it left, in order; those inferred are not among them."""
        one = self.individual
        for triple, said in one.statements.items():
            yield Ended(one.stay, one.name, triple, said, self.expired_at)


@frozen
class Alert:
    """A notification for people or machines, raised by a rule, a query or the system itself.

    ``id`` derives from the message and a count, so that replaying the journal raises the same alert
    under the same id. ``kind`` is ``rule`` for alerts of semantic rules, ``query`` for those of
    continuous queries (``rule`` is the query's name then), else the name of a condition of the
    system (``unmatched-message``, ``rejected-message``). ``messages`` are the ids of those that
    said, or caused, what the rule matched, in order; none if the system raised it. ``evidence`` is
    why the rule fired; None: it is not kept here, or the system raised it.
    """

    id: str
    rule: str
    kind: str
    severity: str
    text: str
    key: str
    time: Instant
    message: str
    messages: tuple[str, ...] = ()
    evidence: Evidence | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, "text", shortened(self.text))
        settle(self, "key", shortened_key(self.key))


@frozen
class Cleared:
    """The end of an open alert: the state that it reported holds no longer.

    ``rule``, ``kind`` and ``key`` are those of the alert, ``time`` and ``message`` those at which
    it ends; without a key all open alerts of the rule end. ``place`` is how many alerts that end
    like this the same entry raised before it, because one entry may raise and clear an alert in
    either order. Without an open alert nothing happens.
    """

    rule: str
    kind: str
    key: str | None
    time: Instant
    message: str
    place: int = 0

    def __post_init__(self) -> None:
        if self.key is not None:
            settle(self, "key", shortened_key(self.key))
