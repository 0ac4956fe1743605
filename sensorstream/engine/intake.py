"""Between a message and the window: what filters and load shedding let through.

Individuals that go straight to history are kept with what they say; the window never holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sensorstream.engine.core import Core
from sensorstream.engine.filters import kinds_of
from sensorstream.engine.outcome import Withheld
from sensorstream.engine.shedding import LoadShedder, Summary, add_to
from sensorstream.model.events import Departure, Event, Individual, Provenance
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.partition import owners_of


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


@dataclass(slots=True)
class Verdicts:
    """What became of one message's individuals; nothing is remembered of it elsewhere yet."""

    archived: int
    """How many individuals went straight to history before this message."""
    filtered: list[Withheld] = field(default_factory=list)
    shed: list[Withheld] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    summaries: dict[IRI, Summary] = field(default_factory=dict)
    entered: dict[Subject, Instant] = field(default_factory=dict)
    """Who enters while load is shed, and when the period of that ends."""

    def archive(self, event: Event, name: Subject, said: Sequence[Triple]) -> None:
        """Send an individual straight to history."""
        number = self.archived + len(self.departures) + 1
        self.departures.append(departure(event, name, said, number))

    def warnings(self) -> Iterator[str]:
        """What did not enter the window, and why."""
        for what, withheld in (("filter", self.filtered), ("load shedding for", self.shed)):
            for cause, count in Counter(each.cause for each in withheld).items():
                yield f"{what} '{cause}' kept {count} out of the window"


def admit(core: Core, event: Event, verdicts: Verdicts) -> Event | None:
    """The part of an event that enters the window; None where nothing does.

    Filters are asked in their order, the first that drops an individual decides. What they let
    through may be shed, while there is too much of it.
    """
    filters, shedder, window = core.filters, core.shedder, core.window
    if shedder is not None and not shedder.state.active:
        shedder = None
    if not filters and shedder is None:
        return event
    kept: list[Triple] = []
    parts = statements_of(event)
    for name, said in parts.items():
        kinds = kinds_of(name, said, core.kb)
        dropping = next(
            (each for each in filters if each.drops(name, kinds, said, event.time, window)), None
        )
        if dropping is not None:
            verdicts.filtered.append(Withheld(name, dropping.name))
            if dropping.store:
                verdicts.archive(event, name, said)
            continue
        if shedder is not None and _shed(event, name, kinds, said, shedder, verdicts):
            continue
        kept += said
    if len(kept) == len(event.triples):
        return event
    if not kept:
        return None
    subjects = {triple[0] for triple in kept}
    replaces = frozenset(each for each in event.replaces if each[0] in subjects)
    return event.part(kept, replaces)


def _shed(
    event: Event,
    name: Subject,
    kinds: frozenset[Term],
    said: Sequence[Triple],
    shedder: LoadShedder,
    verdicts: Verdicts,
) -> bool:
    """Whether an individual stays out for there is too much."""
    shedding, time = shedder.shedding, event.time
    earlier = verdicts.entered.get(name)
    known = shedder.state.entered.holds(name, time)
    first = not known and (earlier is None or time >= earlier)
    about = shedding.verdict(name, kinds, first)
    if about is None:
        if first and shedding.thins_out:
            verdicts.entered[name] = shedding.end_of_period(time)
        return False
    verdicts.shed.append(Withheld(name, about))
    verdicts.archive(event, name, said)
    add_to(verdicts.summaries, about, Summary.of(name, said, time))
    return True
