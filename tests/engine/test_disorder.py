"""A stream out of order gives what the ordered stream gives: window, rules, alerts, history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.engine_settings import disorder_spec
from sensorstream.app.control.wiring import Deployment
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Inconsistent, MappingError, ReasonerError, SettingsError
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Delta, Message, Status
from sensorstream.model.terms import IRI, literal
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import (
    FilterSettings,
    ReasoningSettings,
    SourceSettings,
    TimeSettings,
    WindowSettings,
)
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started
from tests.prefixes import TURTLE

EX = "http://example.org/"
NEVER_IDLE = 10.0**6
LONG_AFTER = 10**15
"""A time of arrival at which every source has been silent for long, on either time line."""

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Actor a owl:Class . :Room a owl:Class . :Alarm a owl:Class . :Loop a owl:Class .
:Human a owl:Class ; rdfs:subClassOf :Actor .
:in a owl:ObjectProperty ; rdfs:domain :Actor ; rdfs:range :Room .
:level a owl:DatatypeProperty ; rdfs:range xsd:integer .
"""

RULES = """
prefix : <http://example.org/>
mapping person
on message {/m}
for each $p in {p}
then update individual :{$p/@id} a :Human at {$p/@t} ; :level {$p/@level} ; :in :room-{$p/@room} .

rule alarm
on change
if exists :Human and not exists :Alarm
then insert individual :alarm-{new} a :Alarm .
     reply "<Lamp on='true'/>"

rule high
on insert :Human as ?x
if select { select ?level { ?x :level ?level filter(?level > 5) } }
then alert warning "{?x} is at {?level}" key "{?x}" for "LENGTH"

rule gone
on expire :Human as ?x
then alert info "{?x} left" key "{?x}"

rule often
every "LENGTH"
if select { select (count(?x) as ?n) { ?x a :Actor } }
then alert info "{?n} actors" key "actors"

rule ping
on insert :Loop as ?x
then insert individual :loop-{new} a :Loop .

rule into-the-loop
on change
if select { select ?x { ?x :level 99 } }
then insert individual :loop-{new} a :Loop .
"""

RULES_OF = {
    Timeline.INTEGER: RULES.replace("LENGTH", "4"),
    Timeline.DATETIME: RULES.replace("LENGTH", "PT4S"),
}


@dataclass(frozen=True)
class Sent:
    """One message: of which source, and whom it sees when, at what level."""

    source: str
    seen: tuple[tuple[str, int, int, int], ...]
    """Name, time, level, room."""

    @property
    def time(self) -> int:
        return min(time for _, time, _, _ in self.seen)


def written(sent: Sent, line: Timeline) -> bytes:
    def text(time: int) -> str:
        return line.format(time if line is Timeline.INTEGER else time * 1_000_000)

    people = "".join(
        f"<p id='{name}' t='{text(time)}' level='{level}' room='{room}'/>"
        for name, time, level, room in sent.seen
    )
    return f"<m>{people}</m>".encode()


def feed(engine: Engine, number: int, sent: Sent, line: Timeline) -> Outcome:
    received = line.of_wall_time(number)
    message = Message(f"m{number}", written(sent, line), received, sent.source)
    return feeding.process(engine, message)


def in_turn(outcome: Outcome) -> list[Outcome]:
    """What was taken in, in order; of a held message only what became of it at last."""
    own = [] if outcome.status is Status.HELD or outcome.message.source == "" else [outcome]
    return [*outcome.released, *own]


def facts(outcomes: Sequence[Outcome]) -> list[object]:
    """All that outcomes leave behind, in order."""
    return [
        (
            each.message.id,
            each.status,
            each.matched,
            each.individuals,
            # How far a contradiction can be explained depends on the time that this takes.
            [replace(a, text="") if a.kind == "inconsistency" else a for a in each.alerts],
            each.departures,
            # What one update ends stands in no order.
            sorted(each.ended, key=repr),
            each.filtered,
            each.archived,
        )
        for each in outcomes
    ]


def knowledge(engine: Engine) -> object:
    kb = engine.kb
    return {t: kb.origins(t) for t in kb.match(None, None, None)}


def content(engine: Engine) -> object:
    return sorted((repr(each) for each in engine.window), key=str)


@st.composite
def streams(draw: st.DrawFn) -> tuple[dict[str, int], list[Sent]]:
    """Sources with lateness, offsets and drifts, and a stream that keeps within them."""
    lateness = {name: draw(st.integers(0, 6)) for name in "abc"[: draw(st.integers(1, 3))]}
    offset = {name: draw(st.integers(-20, 20)) for name in lateness}
    drift = {name: draw(st.sampled_from([0, 0, 1, -1])) for name in lateness}
    latest: dict[str, int] = {}
    sent = []
    for step in range(draw(st.integers(0, 25))):
        source = draw(st.sampled_from(sorted(lateness)))
        # Drift makes a clock run double as fast, or stand still.
        clock = 100 + step + offset[source] + drift[source] * step
        earliest = latest.get(source, clock) - lateness[source]
        time = draw(st.integers(earliest, max(earliest, clock)))
        latest[source] = max(latest.get(source, time), time)
        people = draw(
            st.lists(
                st.tuples(
                    st.sampled_from("pqrst"),
                    st.sampled_from([0, 0, 3]),
                    st.sampled_from([1, 2, 7, 8, 99]),
                    st.integers(1, 2),
                ),
                min_size=1,
                max_size=2,
                unique_by=lambda each: each[0],
            )
        )
        least = min(shift for _, shift, _, _ in people)
        seen = tuple(
            (name, time + shift - least, level, room) for name, shift, level, room in people
        )
        sent.append(Sent(source, seen))
    return lateness, sent


def length_text(length: int, line: Timeline) -> str:
    return str(length) if line is Timeline.INTEGER else f"PT{length}S"


def window_of(kind: str, line: Timeline) -> WindowSettings:
    kind, _, unit = kind.partition(" by ")
    if unit == "time":
        return WindowSettings(kind=kind, unit="time", size=length_text(5, line))
    return WindowSettings(kind=kind, size="3")


@pytest.fixture
def deployed(deploy: Deploy) -> Callable[[Timeline, str], Deployment]:
    """A deployment for each time line and window that takes messages as they come.

    Two filters look at what the window knows, so they must not see it too early.
    """
    filters = {
        "same": FilterSettings(f"{EX}Actor", (f"{EX}level",), unchanged="0"),
        "high": FilterSettings(f"{EX}Human", (f"{EX}level",), equal="8", store=False),
    }

    @cache
    def read(line: Timeline, kind: str) -> Deployment:
        window = window_of(kind, line)
        time = TimeSettings(line.value)
        return deploy(ONTOLOGY, RULES_OF[line], window=window, time=time, filters=filters)

    return read


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    streams(),
    st.sampled_from([Timeline.INTEGER, Timeline.DATETIME]),
    st.sampled_from(
        ["sliding", "tumbling", "filling", "sliding by time", "tumbling by time", "filling by time"]
    ),
    st.one_of(st.none(), st.integers(0, 25)),
)
def test_disorder_within_lateness_changes_nothing(
    deployed: Callable[[Timeline, str], Deployment],
    start: Start,
    stream: tuple[dict[str, int], list[Sent]],
    line: Timeline,
    kind: str,
    restart: int | None,
) -> None:
    """Even if the engine starts anew from a checkpoint in mid-stream."""
    lateness, sent = stream
    plain = deployed(line, kind)
    sources = {name: SourceSettings(length_text(length, line)) for name, length in lateness.items()}
    time = TimeSettings(line.value, "", NEVER_IDLE)
    spec = disorder_spec(replace(plain.settings, time=time, sources=sources))
    late = replace(plain, disorder=spec)
    ordered, reordering = start(plain), start(late)
    numbered = list(enumerate(sent, 1))
    expected = [
        feed(ordered, number, each, line)
        for number, each in sorted(numbered, key=lambda pair: pair[1].time)
    ]
    found = []
    for number, each in numbered:
        if number == restart:
            state = dump(reordering.state())
            reordering = start(late)
            reordering.restore(load(state))
        outcome = feed(reordering, number, each, line)
        assert outcome.status is not Status.LATE
        found += in_turn(outcome)
    found += in_turn(reordering.tick(Message("tick", b"", LONG_AFTER)))
    assert reordering.held == 0
    assert facts(found) == facts(expected)
    assert content(reordering) == content(ordered)
    assert knowledge(reordering) == knowledge(ordered)


GUARDS = """
:Human owl:disjointWith :Room .
:Guard a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( :Human
  [ a owl:Restriction ; owl:onProperty :level ; owl:someValuesFrom
    [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
      owl:withRestrictions ( [ xsd:minInclusive 5 ] ) ] ] ) ] .
"""


def test_hermit_sees_the_ordered_stream_and_neither_late_nor_filtered_messages(
    started: Started,
) -> None:
    """The filter drops guards, and only HermiT knows them: p is one from its first message on."""

    def new(lateness: str) -> Engine:
        return started(
            f"{ONTOLOGY}{GUARDS}",
            RULES_OF[Timeline.INTEGER],
            time=TimeSettings(lateness=lateness),
            window=WindowSettings(size="5"),
            reasoning=ReasoningSettings("hermit", heap=256),
            filters={"guards": FilterSettings(f"{EX}Guard")},
        )

    def sent(time: int, name: str, level: int, room: int = 1) -> Sent:
        return Sent("a", ((name, time, level, room),))

    # q contradicts the ontology: it is a room as well as a human.
    contradicting = Sent("a", (("q", 14, 1, 1), ("room-1", 14, 1, 2)))
    in_order = [
        (1, sent(10, "p", 7)),
        (3, sent(11, "q", 1)),
        (2, sent(12, "p", 1)),
        (5, contradicting),
        (4, sent(15, "r", 6)),
        (6, sent(16, "s", 2)),
    ]
    late, end = sent(9, "t", 9), sent(30, "u", 1)
    ordered = new("")
    expected = [feed(ordered, number, each, Timeline.INTEGER) for number, each in in_order]
    expected.append(feed(ordered, 7, end, Timeline.INTEGER))
    reordering = new("5")
    found = []
    for number, each in sorted(in_order):
        found += in_turn(feed(reordering, number, each, Timeline.INTEGER))
    found += in_turn(feed(reordering, 7, end, Timeline.INTEGER))
    set_late = feed(reordering, 8, late, Timeline.INTEGER)
    found += in_turn(reordering.tick(Message("tick", b"", LONG_AFTER)))
    assert set_late.status is Status.LATE
    assert [each.inferred for each in set_late.archived] == [()]
    assert [(f.name, f.cause) for f in expected[2].filtered] == [(IRI(f"{EX}p"), "guards")]
    assert isinstance(expected[3].rejection, Inconsistent)
    assert (IRI(f"{EX}r"), rdf.TYPE, IRI(f"{EX}Guard")) in ordered.kb
    numbers = [d.individual.stay for each in expected for d in each.archived]
    assert numbers == [-1]
    assert facts(found) == facts(expected)
    assert content(reordering) == content(ordered)
    assert knowledge(reordering) == knowledge(ordered)


def person(name: str, time: int, level: object = 1) -> bytes:
    return f"<m><p id='{name}' t='{time}' level='{level}' room='1'/></m>".encode()


def send(engine: Engine, number: int, text: bytes, received: int, source: str = "a") -> Outcome:
    message = Message(f"m{number}", text, received, source)
    return feeding.process(engine, message)


@pytest.fixture
def engine(started: Started) -> Engine:
    """Lateness 5, and of at most 3 messages that wait."""
    time = TimeSettings("integer", "5", 10.0, 3, silence="queries")
    return started(ONTOLOGY, RULES_OF[Timeline.INTEGER], time=time)


def test_without_a_lateness_messages_are_taken_as_they_come(started: Started) -> None:
    time = TimeSettings(silence="queries")
    engine = started(ONTOLOGY, RULES_OF[Timeline.INTEGER], time=time)
    assert send(engine, 1, person("p", 10), 1).status is Status.ACCEPTED
    assert send(engine, 2, person("q", 5), 2).status is Status.ACCEPTED
    assert (engine.held, engine.dues.tick) == (0, None)


def test_a_message_that_may_be_overtaken_is_held_and_later_accepted(engine: Engine) -> None:
    held = send(engine, 1, person("p", 10), 1)
    assert (held.status, held.matched, held.individuals) == (
        Status.HELD,
        ("person",),
        (IRI(f"{EX}p"),),
    )
    assert (len(engine.window), engine.held) == (0, 1)
    outcome = send(engine, 2, person("q", 15), 2)
    assert outcome.status is Status.HELD
    (first,) = outcome.released
    assert (first.message.id, first.status) == ("m1", Status.ACCEPTED)
    assert first.replies == ("<Lamp on='true'/>",)
    assert first.warnings == ("1 replies not sent: the message had waited",)


def test_a_message_beyond_the_lateness_goes_to_history_and_is_told_of(engine: Engine) -> None:
    send(engine, 1, person("p", 10), 1)
    send(engine, 2, person("q", 20), 2)
    before = content(engine)
    late = [send(engine, number, person("r", 9, number), 3) for number in (3, 4)]
    assert [each.status for each in late] == [Status.LATE, Status.LATE]
    assert "something later than 9" in late[0].warnings[0]
    assert [[a.kind for a in each.alerts] for each in late] == [["late-message"], []]
    assert content(engine) == before
    stays = [(d.individual.name, d.individual.stay) for each in late for d in each.archived]
    assert stays == [(IRI(f"{EX}r"), -1), (IRI(f"{EX}r"), -2)]
    assert literal("4", xsd.INTEGER) in [t[2] for t in late[1].archived[0].individual.statements]


def test_what_is_wrong_with_a_message_is_told_at_once(engine: Engine) -> None:
    outcome = send(engine, 1, person("p", 10, "high"), 1)
    assert isinstance(outcome.rejection, MappingError)
    assert send(engine, 2, b"<other/>", 2).status is Status.UNMATCHED
    assert engine.held == 0


def test_a_message_without_a_time_waits_for_nothing(engine: Engine) -> None:
    assert send(engine, 1, b"<m/>", 1).status is Status.ACCEPTED


def test_the_clock_releases_what_waits_for_a_silent_source(engine: Engine) -> None:
    send(engine, 1, person("p", 10), 100)
    assert engine.dues.tick == 111
    assert engine.tick(Message("m2", b"", 110)).released == ()
    (released,) = engine.tick(Message("m3", b"", 111)).released
    assert (released.message.id, released.status) == ("m1", Status.ACCEPTED)
    assert engine.dues.tick is None


def test_messages_of_others_make_a_silent_source_count_no_more(engine: Engine) -> None:
    send(engine, 1, person("p", 10), 100, "slow")
    assert send(engine, 2, person("q", 40), 105, "quick").released == ()
    outcome = send(engine, 3, person("r", 41), 111, "quick")
    assert [each.message.id for each in outcome.released] == ["m1"]


def test_of_too_many_held_messages_the_oldest_go_and_that_is_told(engine: Engine) -> None:
    outcomes = [send(engine, n, person("p", 10 + n), 1) for n in (4, 1, 2, 3)]
    assert [each.status for each in outcomes] == [Status.HELD] * 4
    (forced,) = outcomes[3].released
    assert (forced.message.id, outcomes[3].forced) == ("m1", 1)
    assert [(a.id, a.kind) for a in outcomes[3].alerts] == [("m3-held", "held-overflow")]


def test_a_held_message_that_cannot_be_taken_in_is_rejected_when_its_turn_comes(
    engine: Engine,
) -> None:
    assert send(engine, 1, person("p", 10, 99), 1).status is Status.HELD
    (rejected,) = send(engine, 2, person("q", 15), 2).released
    assert (rejected.message.id, rejected.status) == ("m1", Status.REJECTED)
    assert [a.kind for a in rejected.alerts] == ["rejected-message", "rule-failed"]


def test_what_was_rejected_in_an_earlier_life_is_rejected_again(engine: Engine) -> None:
    send(engine, 1, person("p", 10), 1)
    message = Message("m2", person("q", 15), 2, "a")
    (again,) = feeding.process(engine, message, {"m1"}).released
    assert again.status is Status.REJECTED
    assert len(engine.window) == 0


def test_a_reasoner_that_fails_twice_costs_only_the_message_whose_turn_it_is(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(engine, 1, person("p", 10), 1)
    send(engine, 2, person("q", 11), 1)
    reasoner = engine.reasoner
    react = reasoner.react

    def fail(kb: object, delta: Delta) -> Delta:
        if any(str(subject).endswith("/p") for subject, _, _ in delta.added):
            raise ReasonerError("it is gone")
        return react(engine.kb, delta)

    monkeypatch.setattr(type(reasoner), "react", lambda _, kb, delta: fail(kb, delta))
    outcome = send(engine, 3, person("r", 30), 2)
    assert [each.status for each in outcome.released] == [Status.REJECTED, Status.ACCEPTED]
    assert {t for each in engine.window for t in each.statements} == set(
        engine.kb.triples(Origin.WINDOW)
    )


def test_what_waits_when_the_lateness_is_taken_away_is_not_lost(
    started: Started, engine: Engine
) -> None:
    send(engine, 1, person("p", 10), 1)
    now = started(ONTOLOGY, RULES_OF[Timeline.INTEGER])
    now.restore(load(dump(engine.state())))
    assert (now.held, now.dues.tick) == (1, 0)
    twin = started(ONTOLOGY, RULES_OF[Timeline.INTEGER])
    twin.restore(load(dump(now.state())))
    assert [each.message.id for each in now.tick(Message("m2", b"", 2)).released] == ["m1"]
    outcome = send(twin, 2, person("q", 11), 2)
    assert [each.message.id for each in outcome.released] == ["m1"]
    assert (now.held, twin.held) == (0, 0)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"time": TimeSettings(lateness="PT5S")}, r"time\.lateness: 'PT5S' is not a length"),
        ({"time": TimeSettings(lateness="-1")}, r"time\.lateness: '-1' is not a length"),
        ({"sources": {"cam": SourceSettings("x")}}, r"sources\.cam\.lateness: 'x' is not"),
        ({"time": TimeSettings(lateness="1", max_held=0)}, r"time\.max_held: expected"),
    ],
)
def test_a_lateness_that_is_no_length_is_refused(
    deploy: Deploy, section: dict[str, object], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        deploy(ONTOLOGY, RULES_OF[Timeline.INTEGER], **section)


def test_declared_sources_are_waited_for_from_the_start(started: Started) -> None:
    engine = started(
        ONTOLOGY,
        RULES_OF[Timeline.INTEGER],
        time=TimeSettings(lateness="0"),
        sources={"a": SourceSettings(), "b": SourceSettings()},
    )
    assert send(engine, 1, person("p", 10), 1, "a").status is Status.HELD
    assert send(engine, 2, person("q", 5), 1, "b").status is Status.ACCEPTED
