"""Individuals that go straight to history: what they say is kept, the window never holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sensorstream.model.events import Departure, Event, Individual, Provenance
from sensorstream.model.terms import Subject, Triple
from sensorstream.window.ownership import owners_of


def statements_of(event: Event) -> dict[Subject, list[Triple]]:
    """What an event says, by individual, in order; blank nodes are with their owners."""
    owners = owners_of(event, {})
    found: dict[Subject, list[Triple]] = {}
    for triple in event.triples:
        found.setdefault(owners[triple[0]], []).append(triple)
    return found


def archived(events: Iterable[Event], count: int) -> tuple[Departure, ...]:
    """All individuals of some events; ``count`` have gone straight to history before."""
    parts = [(event, *part) for event in events for part in statements_of(event).items()]
    return tuple(departure(*part, number) for number, part in enumerate(parts, count + 1))


def departure(event: Event, name: Subject, triples: Sequence[Triple], number: int) -> Departure:
    """An individual as it departs without having stayed.

    It holds at the time of its message and no longer, because the window never held it. Its stay
    is ``-number``: the window numbers its own from 1 upwards. Nothing is inferred for it.
    """
    said = Provenance(event.message, event.time)
    individual = Individual(
        name,
        -number,
        event.time,
        event.time,
        number,
        event.message,
        dict.fromkeys(triples, said),
    )
    return Departure(individual, event.time)
