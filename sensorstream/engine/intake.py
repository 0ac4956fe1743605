"""Between a message and the window: what filters and load shedding let through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sensorstream.engine.archive import departure, statements_of
from sensorstream.engine.core import Core
from sensorstream.engine.filters import kinds_of
from sensorstream.engine.outcome import Withheld
from sensorstream.engine.shedding import LoadShedder
from sensorstream.engine.synopsis import Summary
from sensorstream.model.events import Departure, Event
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant


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

    def sum_up(self, about: IRI, summary: Summary) -> None:
        """Count an individual in the synopsis of its class."""
        known = self.summaries.get(about)
        self.summaries[about] = summary if known is None else known.with_(summary)


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
    first = shedder.is_first(name, time) and (earlier is None or time >= earlier)
    about = shedding.verdict(name, kinds, first)
    if about is None:
        if first and shedding.thins_out:
            verdicts.entered[name] = shedding.end_of_period(time)
        return False
    verdicts.shed.append(Withheld(name, about))
    verdicts.archive(event, name, said)
    verdicts.sum_up(about, Summary.of(name, said, time))
    return True
