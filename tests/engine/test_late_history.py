"""What late messages repair is what order would have given, and which part is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.model.events import Event
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.settings.settings import OntologySettings, Settings, WindowSettings
from tests.engine.test_history_truth import LEVEL, ONTOLOGY, Watched, events, numbered

Held = dict[Instant, tuple[set[Triple], set[Triple]]]
"""What was asserted and what was inferred, at each instant."""
BEGIN: Final = 300


@dataclass(frozen=True, slots=True)
class Stream:
    """Events of different times, in their order, and as they come."""

    events: tuple[Event, ...]
    arrival: tuple[int, ...]

    def late(self) -> list[Event]:
        return [self.events[place] for place in self.arrival]

    def spans(self) -> list[tuple[Instant, Instant]]:
        """For each late event its time, and how far time was when it came."""
        found: list[tuple[Instant, Instant]] = []
        now = BEGIN
        for event in self.late():
            if event.time < now:
                found.append((event.time, now))
            now = max(now, event.time)
        return found


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Levels are always updated, or never; all else is said without an update."""
    updated = draw(st.booleans())
    drawn = draw(st.lists(events(), min_size=2, max_size=9))
    made: list[Event] = []
    time = BEGIN
    for number, (_, said, _) in enumerate(drawn, 1):
        time += draw(st.integers(1, 3))
        replaces = {(s, p) for s, p, _ in said if updated and p == LEVEL}
        made.append(numbered(number, Event(said, time, f"m{number}", frozenset(replaces))))
    return Stream(tuple(made), tuple(draw(st.permutations(range(len(made))))))


def told(deployment: Deployment, stream: Sequence[Event]) -> Held:
    """What history and window say of every instant."""
    watched = Watched(deployment)
    try:
        for event in stream:
            watched.take(event)
        last = max(event.time for event in stream)
        return {
            time: (watched.at(time, inferred=False), watched.at(time, inferred=True))
            for time in range(BEGIN - 1, last + 2)
        }
    finally:
        watched.engine.close()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Nobody leaves its window, and no rule looks at it."""
    folder = tmp_path_factory.mktemp("late")
    (folder / "o.ttl").write_text(ONTOLOGY)
    return read_deployment(
        Settings(
            folder / "sensorstream.toml",
            ontology=OntologySettings((folder / "o.ttl",)),
            window=WindowSettings(kind="landmark"),
        )
    )


def test_late_messages_give_the_history_of_order(deployment: Deployment) -> None:
    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(streams())
    def check(stream: Stream) -> None:
        order, late = told(deployment, stream.events), told(deployment, stream.late())
        for time, (asserted, inferred) in order.items():
            assert late[time][0] == asserted, f"asserted at {time}"
            # What is inferred is from the arrival on: between, it is what was known then.
            if not any(start <= time < now for start, now in stream.spans()):
                assert late[time][1] == inferred, f"inferred at {time}"

    check()
