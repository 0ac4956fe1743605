"""The owner of each triple, its partition, and the state of a window by partitions. Source: the
paper, section 2 (partitioned windows).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from sensorstream.model.events import Event, Individual
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.replaced_updates import PastState
from sensorstream.window.window_spec import WindowPartitioning


@mutable
class WindowCounters:
    """The counters of a window, common to all its partitions."""

    now: Instant | None = None
    """Application time: the latest time seen."""
    arrivals: int = 0
    """All appearances so far: breaks ties between equal times."""
    stays: int = 0
    """All stays of individuals so far."""


@frozen
class PaneState:
    """The state of a partition: its name, position, individuals, and the events that wait in it."""

    key: str | None = None
    entered: int = 0
    boundary: Instant | None = None
    names: tuple[Subject, ...] = ()
    pending: tuple[Event, ...] = ()


@frozen
class WindowState:
    """The state of a whole window; one that is not partitioned has one pane. ``owners`` names the
    owner of each blank node that has one. A window of triples has ``ages``: time and arrival of
    each.
    """

    counters: WindowCounters
    individuals: tuple[Individual, ...]
    owners: Mapping[BlankNode, Subject]
    panes: tuple[PaneState, ...]
    partition: WindowPartitioning | None = None
    ages: Mapping[Triple, tuple[Instant, int]] = field(default_factory=dict)
    past: PastState = field(default_factory=PastState)


def owners_of(event: Event, known: Mapping[BlankNode, Subject]) -> dict[Subject, Subject]:
    """Map each subject of an event to its individual, in order of first appearance.

    A blank node belongs to the individual that refers to it, directly or through other blank
    nodes; the first reference counts. A blank node without any reference is an individual itself.
    ``known`` holds the owners of blank nodes that are in the window already.
    """
    owners: dict[Subject, Subject] = {triple[0]: triple[0] for triple in event.triples}
    blank = [subject for subject in owners if isinstance(subject, BlankNode)]
    if not blank:
        return owners
    referrer: dict[BlankNode, Subject] = {}
    for subject, _, value in event.triples:
        if isinstance(value, BlankNode) and value in owners and value != subject:
            referrer.setdefault(value, subject)
    places = {subject: place for place, subject in enumerate(owners)}
    decided: dict[Subject, Subject] = {}
    circling: set[Subject] = set()
    for node in blank:
        way: dict[Subject, None] = {}
        owner: Subject = node
        while isinstance(owner, BlankNode) and owner not in way and owner not in decided:
            way[owner] = None
            owner = referrer.get(owner) or known.get(owner, owner)
        back = list(way)
        circles = owner in way or owner in circling
        if owner in way:
            start = back.index(owner)
            back, circle = back[:start], back[start:]
            owner = min(circle, key=lambda each: places.get(each, len(places)))
            decided.update(dict.fromkeys(circle, owner))
            circling.update(circle)
        else:
            owner = decided.get(owner, owner)
        # Each blank node is walked over once, however long the chain to its individual is.
        for each in reversed(back):
            if circles:
                # A cycle that nothing outside refers to belongs, with its tails, to the first.
                owner = min(each, owner, key=lambda one: places.get(one, len(places)))
                circling.add(each)
            decided[each] = owner
        owners[node] = decided[node]
    return owners


SOURCE = "source"
"""The name of the partition by source in the settings."""


def partition_of(text: str) -> WindowPartitioning | None:
    """Read a setting: empty, ``source``, or a property's IRI."""
    if not text:
        return None
    return WindowPartitioning() if text == SOURCE else WindowPartitioning(IRI(text))


def key_of(
    name: Subject,
    triples: Iterable[Triple],
    source: str | None,
    partition: WindowPartitioning | None,
) -> str | None:
    """The key of an individual with these ``triples``; None if it has no key."""
    if partition is None:
        return None
    if partition.property is None:
        return source
    for subject, predicate, value in triples:
        if subject == name and predicate == partition.property:
            return value.n3
    return None


def part(event: Event, names: Set[Subject], owners: Mapping[Subject, Subject]) -> Event:
    """The part of an event about some individuals, their blank nodes included."""
    return event.part(
        (triple for triple in event.triples if owners[triple[0]] in names),
        frozenset(pair for pair in event.replaces if owners.get(pair[0]) in names),
    )


def regroup(state: WindowState, partition: WindowPartitioning | None) -> list[PaneState]:
    """The panes of a state if its window is partitioned in this way. The source of an individual in
    the window is not stored: it counts as having none.
    """
    keys = {
        each.name: key_of(each.name, each.statements, None, partition) for each in state.individuals
    }
    names: dict[str | None, list[Subject]] = {}
    for name, key in keys.items():
        names.setdefault(key, []).append(name)
    pending: dict[str | None, list[Event]] = {}
    waiting = (event for pane in state.panes for event in pane.pending)
    for event in sorted(waiting, key=lambda each: each.time):
        owners = owners_of(event, state.owners)
        said: dict[str | None, set[Subject]] = {}
        for name in owners.values():
            if name not in keys:
                keys[name] = key_of(name, event.triples, event.source, partition)
            said.setdefault(keys[name], set()).add(name)
        for key, its in said.items():
            pending.setdefault(key, []).append(part(event, its, owners))
    boundaries = [pane.boundary for pane in state.panes if pane.boundary is not None]
    return [
        PaneState(
            key,
            boundary=max(boundaries, default=None),
            names=tuple(names.get(key, ())),
            pending=tuple(pending.get(key, ())),
        )
        for key in dict.fromkeys([*names, *pending])
    ]
