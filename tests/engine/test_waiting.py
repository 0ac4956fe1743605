"""All that rules wait for, in a whole engine, against the definition (docs/decisions/019)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import TimeSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start
from tests.engine.sensors import MAPPING, ONTOLOGY

Said: TypeAlias = tuple[int, str, int]
"""When, who, and the value."""
Step: TypeAlias = tuple[int, str, str, int, int]
"""Seconds since the last, what happens, of whom, the value, seconds on the way or entries back."""

HOLDS, SILENT = 10, 13
RULES = f"""{MAPPING}
rule hot
when select {{ SELECT ?s {{ ?s :value ?v FILTER(?v > 30) }} }} becomes true for "{HOLDS}"
then alert warning "{{?s}} {{?now}}" key "{{?s}}"

rule gone on silence of :Sensor as ?s for "{SILENT}"
then alert warning "{{?s}} {{?last}} {{?now}}" key "{{?s}}"

rule moved on update :value as ?s old ?o new ?n
then alert info "{{?s}} {{?o}} {{?n}} {{?now}}"

rule digest every "7" then alert info "{{?now}}"
"""
LATENESS = 5


def by_definition(stream: Iterable[Said]) -> Iterator[tuple[str, str]]:
    """The rule and text of each alert on the whole of a stream, in order of time."""
    for name in "ab":
        own = [(time, value) for time, who, value in stream if who == name]
        since: int | None = None
        for time, value in [*own, (10**9, 0)]:
            if value <= 30:
                if since is not None and time >= since + HOLDS:
                    yield "hot", f"{name} {since + HOLDS}"
                since = None
            elif since is None:
                since = time
        for (time, old), (later, new) in pairwise([*own, (10**9, own[-1][1] if own else 0)]):
            if later >= time + SILENT:
                yield "gone", f"{name} {time} {time + SILENT}"
            if new != old:
                yield "moved", f"{name} {old} {new} {later}"


class Journal:
    """Engines that live one after the other on the same entries."""

    def __init__(self, start: Callable[[], Engine]) -> None:
        self._start = start
        self.engine = start()
        self.outcomes: list[Outcome] = []
        self._entries: list[Message] = []
        self._states = [dump(self.engine.state())]

    def say(self, name: str, time: int, value: int, received: int) -> None:
        content = f"<m id='{name}' t='{time}' v='{value}'/>".encode()
        self._append(Message(f"m{len(self._entries)}", content, received, "a"))

    def tick(self, received: int) -> None:
        """What a server does when the clock says so; only then is there an entry."""
        due = self.engine.dues.tick
        if due is not None and due <= received:
            content = self.engine.dues.tick_content(received)
            self._append(Message(f"m{len(self._entries)}", content, received))

    def restart(self, back: int) -> None:
        """Go on from a checkpoint so many entries ago: those since are processed again."""
        place = max(0, len(self._entries) - back)
        self.engine.close()
        self.engine = self._start()
        self.engine.restore(load(self._states[place]))
        for entry, before in zip(self._entries[place:], self.outcomes[place:], strict=True):
            assert told(self._apply(entry)) == told(before)

    def _append(self, entry: Message) -> None:
        self._entries.append(entry)
        self.outcomes.append(self._apply(entry))
        self._states.append(dump(self.engine.state()))

    def _apply(self, entry: Message) -> Outcome:
        if entry.source:
            return feeding.process(self.engine, entry)
        return self.engine.tick(entry)


def told(outcome: Outcome) -> list[tuple[str, str, str, int]]:
    """The alerts of an outcome and of what it released: id, rule, text and time."""
    own = [
        (each.id, each.rule, each.text.replace("http://example.org/", ""), each.time)
        for each in outcome.alerts
    ]
    return [*(alert for each in outcome.released for alert in told(each)), *own]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from(("say", "say", "say", "tick", "restart")),
        st.sampled_from("ab"),
        st.sampled_from((20, 31, 40)),
        st.integers(0, LATENESS),
    ),
    max_size=14,
)


@pytest.mark.parametrize("lateness", [0, LATENESS])
def test_what_rules_wait_for_comes_as_defined_whatever_restarts(
    deploy: Deploy, start: Start, lateness: int
) -> None:
    time = TimeSettings(lateness=str(lateness), idle=20) if lateness else TimeSettings()
    deployment = deploy(ONTOLOGY, RULES, time=time)

    @settings(max_examples=60, deadline=None)
    @given(STEPS)
    def check(steps: list[Step]) -> None:
        whole, broken = Journal(lambda: start(deployment)), Journal(lambda: start(deployment))
        stream: list[Said] = []
        received = 100
        for gap, happens, name, value, number in steps:
            received += gap
            if happens == "say":
                at = received - min(number, lateness)
                stream.append((at, name, value))
                whole.say(name, at, value, received)
                broken.say(name, at, value, received)
            elif happens == "tick":
                whole.tick(received)
                broken.tick(received)
            else:
                broken.restart(number)
        for late in (30, 60, 90):
            whole.tick(received + late)
            broken.tick(received + late)
        found = [alert for each in broken.outcomes for alert in told(each)]
        assert found == [alert for each in whole.outcomes for alert in told(each)]
        assert len({name for name, *_ in found}) == len(found)
        assert all(each.status is not Status.LATE for each in broken.outcomes)
        texts = [
            (rule, text.partition(" (late")[0]) for _, rule, text, _ in found if rule != "digest"
        ]
        stream.sort(key=lambda each: each[0])
        assert sorted(texts) == sorted(by_definition(stream))
        for (_, _, text, at), (_, _, _, later) in pairwise(
            each for each in found if each[1] == "digest"
        ):
            assert text.partition(" ")[0] == str(at)
            assert at // 7 < later // 7

    check()
