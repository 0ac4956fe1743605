"""Load shedding: what is kept, what is summed up, and that a replay says the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, reasoner_of
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.engine.shedding import SYNOPSIS, VOCABULARY, NumbersSynopsis, Summary
from sensorstream.errors import SettingsError
from sensorstream.installation import bundled
from sensorstream.model import rdf
from sensorstream.model.events import Individual, Message, Status
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.reasoning.reasoner import Aside
from sensorstream.settings.settings import (
    PolicySettings,
    SheddingSettings,
    TimeSettings,
    WindowSettings,
)
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started
from tests.prefixes import TURTLE

EX = "http://example.org/"
PERIOD = 10

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Sensor a owl:Class . :Indoor a owl:Class ; rdfs:subClassOf :Sensor .
:Person a owl:Class . :Fire a owl:Class .
:temp a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:size a owl:DatatypeProperty ; rdfs:range xsd:double .
:note a owl:DatatypeProperty ; rdfs:range xsd:string .
"""

RULES = """
prefix : <http://example.org/>
mapping indoor
on message {/m}
for each $x in {i}
then insert individual :i{$x/@id} a :Indoor at {$x/@t}
     ; :temp {$x/@v} ; :size {$x/@s} ; :note {$x/@v} .
mapping person
on message {/m}
for each $x in {p}
then insert individual :p{$x/@id} a :Person at {$x/@t} ; :temp {$x/@v} .
mapping fire
on message {/m}
for each $x in {f}
then insert individual :f{$x/@id} a :Fire at {$x/@t} .
"""

POLICIES = {
    "sensors": PolicySettings(f"{EX}Sensor", "sample 1/3"),
    "fires": PolicySettings(f"{EX}Fire", "all"),
}
WINDOW = WindowSettings(size="100000")
SHEDDING = {keep: SheddingSettings(5, 0, str(PERIOD), keep) for keep in ("none", "first")}


@pytest.fixture
def deployment(deploy: Deploy) -> Deployment:
    """Five messages a second, and five more at once; then persons go, and most sensors."""
    return deploy(ONTOLOGY, RULES, window=WINDOW, shedding=SHEDDING["none"], policies=POLICIES)


@pytest.fixture
def thinning(deploy: Deploy) -> Deployment:
    """The same budget; what is too much is thinned out."""
    policies = {"sensors": PolicySettings(f"{EX}Sensor", "first")}
    return deploy(ONTOLOGY, RULES, window=WINDOW, shedding=SHEDDING["first"], policies=policies)


def send(engine: Engine, number: int, received: int, body: str) -> Outcome:
    message = Message(f"m{number}", f"<m>{body}</m>".encode(), received, "a")
    return feeding.process(engine, message)


def synopses(engine: Engine) -> list[tuple[IRI, Summary]]:
    """The synopses in the window, read back from what they say."""
    return [
        _read(each) for each in engine.window if (each.name, rdf.TYPE, SYNOPSIS) in each.statements
    ]


def _read(individual: Individual) -> tuple[IRI, Summary]:
    said: dict[Any, dict[str, Any]] = {}
    nodes: list[BlankNode] = []
    for subject, predicate, value in individual.statements:
        word = predicate.removeprefix(VOCABULARY)
        if isinstance(value, BlankNode):
            nodes.append(value)
        said.setdefault(subject, {})[word] = value.value if isinstance(value, Literal) else value
    numbers = {}
    for node in nodes:
        facts = said[node]
        numbers[facts["property"]] = NumbersSynopsis(
            facts["count"], *(Fraction(facts[word]) for word in ("min", "max", "sum"))
        )
        assert math.isclose(facts["mean"], facts["sum"] / facts["count"], rel_tol=1e-12)
    own = said[individual.name]
    return own["of"], Summary(own["count"], own["from"], own["to"], numbers)


Stream = Sequence[tuple[int, list[tuple[str, int, Decimal, float]]]]


def arrivals_of(least: int) -> st.SearchStrategy[Stream]:
    """Streams by the time between two messages, and what each sees."""
    return st.lists(
        st.tuples(
            st.sampled_from([0] * 40 + [1, 2, 5]),
            st.lists(
                st.tuples(
                    st.sampled_from("ipf"),
                    st.integers(1, 12),
                    st.decimals(-50, 50, places=2),
                    st.floats(-1e3, 1e3, allow_nan=False),
                ),
                max_size=3,
            ),
        ),
        min_size=least,
        max_size=60,
    )


# Shedding takes a flood; small streams are there to shrink to.
arrivals = arrivals_of(30) | arrivals_of(0)


def run(
    engine: Engine, stream: Stream, restart: tuple[int, Callable[[], Engine]] | None = None
) -> tuple[Engine, list[Outcome]]:
    """Each message a time of its own; a restart from a checkpoint in mid-stream."""
    outcomes, received = [], 1000
    for number, (wait, things) in enumerate(stream, 1):
        if restart is not None and number == restart[0]:
            state = load(dump(engine.state()))
            engine = restart[1]()
            engine.restore(state)
        received += wait
        body = "".join(
            f"<{kind} id='{name}' t='{number}' v='{value:f}' s='{size!r}'/>"
            for kind, name, value, size in things
        )
        outcomes.append(send(engine, number, received, body))
    outcomes.append(engine.tick(Message("end", b"", received + 1000)))
    return engine, outcomes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(arrivals, st.integers(1, 60))
def test_synopses_say_exactly_what_was_shed(
    deployment: Deployment, start: Start, stream: Stream, restart: int
) -> None:
    engine, outcomes = run(start(deployment), stream)
    assert {each.status for each in outcomes} == {Status.ACCEPTED}
    shed = [
        (IRI(w.cause), departure)
        for each in outcomes
        for w, departure in zip(each.shed, each.archived, strict=True)
    ]
    told = synopses(engine)
    assert sum(summary.count for _, summary in told) == len(shed)
    for about, summary in told:
        assert summary.start // PERIOD == summary.end // PERIOD
        meant = [
            departure
            for cause, departure in shed
            if cause == about and summary.start <= departure.individual.time <= summary.end
        ]
        assert summary.count == len(meant)
        assert {each.individual.time for each in meant} >= {summary.start, summary.end}
        for predicate in (IRI(f"{EX}temp"), IRI(f"{EX}size")):
            values = [
                Fraction(str(t[2].value))  # type: ignore[union-attr]
                for each in meant
                for t in each.individual.statements
                if t[1] == predicate
            ]
            assert (predicate in summary.numbers) == bool(values)
            if values:
                expected = NumbersSynopsis(
                    len(values), min(values), max(values), sum(values, Fraction())
                )
                assert summary.numbers[predicate] == expected
        assert IRI(f"{EX}note") not in summary.numbers
    # And a replay, with a restart in it, sheds what was shed.
    again, repeated = run(start(deployment), stream, (restart, lambda: start(deployment)))
    assert repeated == outcomes
    assert load(dump(again.state())) == load(dump(engine.state()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(arrivals)
def test_it_sheds_while_too_much_waits_and_by_policy_alone(
    deployment: Deployment, start: Start, stream: Stream
) -> None:
    _, outcomes = run(start(deployment), stream)
    waiting, active = Fraction(), False
    for (wait, things), outcome in zip(stream, outcomes[:-1], strict=True):
        waiting = min(max(Fraction(), waiting - 5 * wait) + 1, Fraction(10))
        was, active = active, waiting > (Fraction(5, 2) if active else 5)
        firing = [a.text for a in outcome.alerts if a.kind == "load-shedding"]
        assert bool(firing) == (was != active)
        assert all(("began" in text) == active for text in firing)
        names = {EX + kind + str(name) for kind, name, _, _ in things}
        shed = {str(each.name) for each in outcome.shed}
        if not active:
            assert not shed
        else:
            assert {each for each in names if each.startswith(f"{EX}p")} <= shed
            assert not any(each.startswith(f"{EX}f") for each in shed)
            # A sample is by name: the same individuals, whenever and wherever.
            sampled = {f"{EX}i{number}" for number in (2, 3, 7)}
            assert {e for e in names if e.startswith(f"{EX}i")} - shed == names & sampled


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(arrivals, st.integers(1, 60))
def test_the_first_reading_of_each_period_enters(
    thinning: Deployment, start: Start, stream: Stream, restart: int
) -> None:
    """By definition: one enters if no other did in its period, since shedding began."""
    _, outcomes = run(start(thinning), stream)
    active = False
    entered: set[tuple[str, int]] = set()
    for number, (outcome, (_, things)) in enumerate(zip(outcomes, stream, strict=False), 1):
        for alert in outcome.alerts:
            if alert.kind == "load-shedding":
                active = "began" in alert.text
                entered.clear()
        readings = {(f"{EX}{kind}{name}", number // PERIOD) for kind, name, _, _ in things}
        meant = readings & entered if active else set()
        assert {str(each.name) for each in outcome.shed} == {name for name, _ in meant}
        if active:
            entered |= readings
    _, repeated = run(start(thinning), stream, (restart, lambda: start(thinning)))
    assert repeated == outcomes


def test_one_message_may_have_the_first_readings_of_two_periods(
    thinning: Deployment, start: Start
) -> None:
    engine = start(thinning)
    flood(engine, 7)
    body = "".join(f"<p id='x' t='{t}' v='{t}'/>" for t in (8, 9, 11, 12))
    outcome = send(engine, 9, 100, body)
    assert [each.individual.time for each in outcome.archived] == [9, 12]
    assert {each.time for each in engine.window if each.name == f"{EX}px"} == {11}


def test_a_rejected_reading_is_not_the_first_of_its_period(started: Started) -> None:
    loop = """
rule again
on insert :Fire as ?x
then insert individual :fire-{new} a :Fire .
"""
    spec = SheddingSettings(budget=5, keep="first")
    engine = started(ONTOLOGY, RULES + loop, shedding=spec)
    flood(engine, 6)
    outcome = send(engine, 7, 100, "<p id='9' t='7' v='1'/><f id='1' t='7'/>")
    assert outcome.status is Status.REJECTED
    assert send(engine, 8, 100, "<p id='9' t='8' v='1'/>").shed == ()
    assert len(send(engine, 9, 100, "<p id='9' t='9' v='1'/>").shed) == 1


def flood(engine: Engine, count: int, kind: str = "p", received: int = 100) -> list[Outcome]:
    return [
        send(engine, n, received, f"<{kind} id='{n}' t='{n}' v='{n}' s='1'/>")
        for n in range(1, count + 1)
    ]


def test_shedding_begins_beyond_the_queue_and_is_told_of(
    deployment: Deployment, start: Start
) -> None:
    outcomes = flood(start(deployment), 8)
    assert [len(each.shed) for each in outcomes] == [0, 0, 0, 0, 0, 1, 1, 1]
    (alert,) = outcomes[5].alerts
    assert (alert.id, alert.kind, alert.severity) == ("m6-load", "load-shedding", "warning")
    assert outcomes[6].alerts == ()
    assert outcomes[5].warnings == (f"load shedding for '{EX}Person' kept 1 out of the window",)


def test_shedding_ends_by_the_clock_and_the_synopsis_enters(
    deployment: Deployment, start: Start
) -> None:
    engine = start(deployment)
    flood(engine, 8)
    due = engine.dues.tick
    assert due == 102
    outcome = engine.tick(Message("m9", b"", due))
    (alert,) = outcome.alerts
    assert (alert.severity, "3 individuals" in alert.text) == ("info", True)
    assert [(each.kind, each.key) for each in outcome.cleared] == [("load-shedding", "load")]
    ((about, summary),) = synopses(engine)
    assert (about, summary.count, summary.start, summary.end) == (f"{EX}Person", 3, 6, 8)
    assert summary.numbers == {
        IRI(f"{EX}temp"): NumbersSynopsis(3, Fraction(6), Fraction(8), Fraction(21))
    }
    assert engine.dues.tick is None


def test_a_sample_keeps_its_share(deployment: Deployment, start: Start) -> None:
    shed = sum(len(each.shed) for each in flood(start(deployment), 3000, "i"))
    assert 0.6 * 2995 < shed < 0.73 * 2995


def test_of_several_policies_the_one_that_keeps_wins(started: Started) -> None:
    policies = {
        "sensors": PolicySettings(f"{EX}Sensor", "none"),
        "indoor": PolicySettings(f"{EX}Indoor", "all"),
    }
    spec = SheddingSettings(budget=5, keep="none")
    engine = started(ONTOLOGY, RULES, shedding=spec, policies=policies)
    assert all(each.shed == () for each in flood(engine, 10, "i"))


def test_held_messages_are_shed_when_their_turn_comes(
    deployment: Deployment, start: Start, deploy: Deploy
) -> None:
    time = TimeSettings(lateness="1")
    reordering = deploy(
        ONTOLOGY, RULES, time=time, shedding=SheddingSettings(budget=5, keep="none")
    )
    outcomes = flood(start(reordering), 8)
    assert [[len(each.shed) for each in o.released] for o in outcomes] == [
        [],
        *([[0]] * 4),
        *([[1]] * 3),
    ]


def test_a_message_that_is_rejected_leaves_nothing_in_a_synopsis(started: Started) -> None:
    loop = """
rule again
on insert :Fire as ?x
then insert individual :fire-{new} a :Fire .
"""
    spec = SheddingSettings(budget=5, keep="none")
    policies = {"fires": POLICIES["fires"]}
    engine = started(ONTOLOGY, RULES + loop, shedding=spec, policies=policies)
    flood(engine, 6)
    before = engine.state().load
    outcome = send(engine, 7, 100, "<p id='9' t='7' v='1'/><f id='1' t='7'/>")
    assert outcome.status is Status.REJECTED
    assert (outcome.shed, outcome.archived) == ((), ())
    assert engine.state().load.summaries == before.summaries


WITH_SYNOPSES = ONTOLOGY + (bundled("ontologies") / "synopsis.ttl").read_text(encoding="utf-8")
PREFIX = "prefix ss: <urn:sensorstream:vocabulary#>"
SYNOPSIS_RULE = """
rule told
on insert ss:Synopsis as ?s
if select { select ?class ?n ?mean { ?s ss:of ?class ; ss:count ?n ;
            ss:summary [ ss:property :temp ; ss:mean ?mean ] } }
then alert info "{?n} of {?class} were shed, {?mean} on average" key "{?class}"
"""


def test_rules_can_use_synopses(started: Started) -> None:
    spec = SheddingSettings(budget=5, keep="none")
    engine = started(WITH_SYNOPSES, PREFIX + RULES + SYNOPSIS_RULE, shedding=spec)
    flood(engine, 8)
    outcome = engine.tick(Message("m9", b"", 200))
    texts = [each.text for each in outcome.alerts if each.kind == "rule"]
    assert texts == [f"3 of {EX}Person were shed, 7 on average"]


def test_a_rule_that_fails_on_a_synopsis_is_not_asked_for_ever(started: Started) -> None:
    loop = """
rule again
on insert ss:Synopsis as ?x
then insert individual :s-{new} a ss:Synopsis .
"""
    spec = SheddingSettings(budget=5, keep="none")
    engine = started(WITH_SYNOPSES, PREFIX + RULES + loop, shedding=spec)
    flood(engine, 8)
    outcome = engine.tick(Message("m9", b"", 200))
    assert outcome.status is Status.ACCEPTED
    assert [each.kind for each in outcome.alerts] == ["load-shedding", "synopses-given-up"]
    assert (engine.dues.tick, synopses(engine)) == (None, [])


def test_a_new_ontology_changes_the_policies_and_not_the_load(deploy: Deploy, start: Start) -> None:
    policies = {"fires": PolicySettings(f"{EX}Fire", "all")}
    spec = SheddingSettings(budget=5, period=str(PERIOD), keep="none")
    engine = start(deploy(ONTOLOGY, RULES, shedding=spec, policies=policies))
    flood(engine, 8)
    before = engine.state().load
    ontology = f"{ONTOLOGY} :Person rdfs:subClassOf :Fire ."
    then = deploy(ontology, RULES, shedding=spec, policies=policies)
    aside = Aside(then.ontology.triples, reasoner_of(then))
    engine.adopt(aside, then.rules, then.filters, then.shedding, "m0")
    assert engine.state().load == before
    assert len(before.summaries) == 1
    assert send(engine, 9, 100, "<p id='9' t='9' v='1'/>").shed == ()


def test_a_rule_that_fails_on_a_synopsis_costs_no_message_of_the_flood(started: Started) -> None:
    loop = """
rule again
on insert ss:Synopsis as ?x
then insert individual :s-{new} a ss:Synopsis .
rule never
on insert :Fire as ?x
then insert individual :fire-{new} a :Fire .
"""
    spec = SheddingSettings(budget=5, period=str(PERIOD), keep="none")
    policies = {"fires": PolicySettings(f"{EX}Fire", "all")}
    engine = started(WITH_SYNOPSES, PREFIX + RULES + loop, shedding=spec, policies=policies)
    flood(engine, 8)
    # A message that is to blame itself leaves the synopsis to the next one, which is not.
    assert send(engine, 9, 100, "<f id='1' t='11'/>").status is Status.REJECTED
    assert engine.state().load.summaries
    outcome = send(engine, 10, 100, "<p id='1' t='12' v='1'/>")
    assert outcome.status is Status.ACCEPTED
    assert "the synopses of what was shed do not enter the window: " in outcome.warnings[-1]
    assert [each.kind for each in outcome.alerts] == ["synopses-given-up"]
    assert synopses(engine) == []
    assert send(engine, 11, 100, "<p id='2' t='13' v='1'/>").warnings[-1].startswith("load shed")


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"shedding": SheddingSettings(5, keep="some")}, r"shedding\.keep: expected all, none"),
        ({"shedding": SheddingSettings(5, period="PT1M")}, r"shedding\.period: 'PT1M' is not"),
        (
            {"shedding": SheddingSettings(5), "policies": {"x": PolicySettings(f"{EX}X")}},
            r"policies\.x\.class: <http://example\.org/X> is not a class",
        ),
        (
            {
                "shedding": SheddingSettings(5),
                "policies": {"x": PolicySettings(f"{EX}Fire", "sample 1/0")},
            },
            r"policies\.x\.keep: expected all, none, first or a sample",
        ),
    ],
)
def test_what_cannot_be_is_refused(deploy: Deploy, sections: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        deploy(ONTOLOGY, RULES, **sections)
