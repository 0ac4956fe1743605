"""Filters: what stays out of the window, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from sensorstream.app.control.wiring import reasoner_of
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import SettingsError
from sensorstream.model.events import Message
from sensorstream.model.terms import IRI, Literal
from sensorstream.reasoning.reasoner import Aside
from sensorstream.settings.settings import FilterSettings, TimeSettings, WindowSettings
from tests.engine import feeding
from tests.engine.conftest import Deploy, Start, Started
from tests.prefixes import TURTLE

EX = "http://example.org/"

ONTOLOGY = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Sensor a owl:Class . :Indoor a owl:Class ; rdfs:subClassOf :Sensor . :Room a owl:Class .
:temp a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:wet a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:state a owl:DatatypeProperty ; rdfs:range xsd:string .
:place a owl:ObjectProperty .
"""

RULES = """
prefix : <http://example.org/>
mapping sensor
on message {/m}
for each $s in {s}
then update individual :{$s/@id} a :Indoor at {$s/@t}
     ; :temp {$s/@temp} ; :wet {$s/@wet} ; :state {$s/@state} ; :place [ :state {$s/@floor} ] .
mapping reading
on message {/m}
for each $r in {r}
then update individual :{$r/@id} at {$r/@t} ; :temp {$r/@temp} .
"""


@pytest.fixture
def filtering(started: Started) -> Callable[..., Engine]:
    def new(**filters: FilterSettings) -> Engine:
        return started(ONTOLOGY, RULES, filters=filters, window=WindowSettings(size="5"))

    return new


def send(engine: Engine, number: int, body: str) -> Outcome:
    message = Message(f"m{number}", f"<m>{body}</m>".encode(), number, "a")
    return feeding.process(engine, message)


def sensor(name: str, at: int, temp: object, rest: str = "") -> str:
    return f"<s id='{name}' t='{at}' temp='{temp}' {rest}/>"


def temps(engine: Engine) -> dict[str, Decimal]:
    return {
        each.name.removeprefix(EX): value.value  # type: ignore[misc]
        for each in engine.window
        for _, predicate, value in each.statements
        if predicate == f"{EX}temp" and isinstance(value, Literal)
    }


def of(class_: str, *properties: str, **conditions: object) -> FilterSettings:
    names = tuple(EX + each for each in properties)
    return FilterSettings(EX + class_, names, **conditions)  # type: ignore[arg-type]


def test_a_class_is_dropped_with_those_below_it_and_kept_in_history(
    filtering: Callable[..., Engine],
) -> None:
    engine = filtering(none=of("Sensor"))
    outcome = send(engine, 1, sensor("a", 1, 20, "floor='3'") + sensor("b", 2, 21))
    assert len(engine.window) == 0
    assert [(each.name, each.cause) for each in outcome.filtered] == [
        (IRI(f"{EX}a"), "none"),
        (IRI(f"{EX}b"), "none"),
    ]
    assert outcome.warnings == ("filter 'none' kept 2 out of the window",)
    first, second = outcome.archived
    assert (first.individual.name, first.individual.stay, first.expired_at) == (f"{EX}a", -1, 1)
    # Its blank node goes with it.
    assert len({t[0] for t in first.individual.statements}) == 2
    assert (second.individual.name, second.individual.stay) == (f"{EX}b", -2)


def test_what_is_not_to_be_stored_is_gone(filtering: Callable[..., Engine]) -> None:
    outcome = send(filtering(none=of("Sensor", store=False)), 1, sensor("a", 1, 20))
    assert (len(outcome.filtered), outcome.archived) == (1, ())


def test_values_outside_a_range_are_dropped(filtering: Callable[..., Engine]) -> None:
    engine = filtering(range=of("Sensor", "temp", below="-10", above="50.5"))
    body = "".join(
        sensor(n, 1, t) for n, t in zip("abcd", ("-10", "50.5", "-11", "51"), strict=True)
    )
    outcome = send(engine, 1, body)
    assert set(temps(engine)) == {"a", "b"}
    assert [each.name.removeprefix(EX) for each in outcome.filtered] == ["c", "d"]


def test_only_values_outside_a_range_may_be_kept(filtering: Callable[..., Engine]) -> None:
    engine = filtering(alarms=of("Sensor", "temp", above="50", action="keep"))
    send(engine, 1, sensor("a", 1, 20) + sensor("b", 1, 60))
    assert set(temps(engine)) == {"b"}


def test_equal_means_the_number_or_the_text(filtering: Callable[..., Engine]) -> None:
    engine = filtering(off=of("Sensor", "state", equal="off"), zero=of("Sensor", "temp", equal="0"))
    body = (
        sensor("a", 1, 1, "state='off'") + sensor("b", 1, "0.00") + sensor("c", 1, 1, "state='0'")
    )
    outcome = send(engine, 1, body)
    assert [each.cause for each in outcome.filtered] == ["off", "zero"]
    assert set(temps(engine)) == {"c"}


def test_the_first_filter_that_drops_decides(filtering: Callable[..., Engine]) -> None:
    engine = filtering(hot=of("Sensor", "temp", above="50"), all=of("Indoor"))
    outcome = send(engine, 1, sensor("a", 1, 60) + sensor("b", 1, 20))
    assert [each.cause for each in outcome.filtered] == ["hot", "all"]


def test_a_dead_band_compares_with_the_window(filtering: Callable[..., Engine]) -> None:
    engine = filtering(same=of("Sensor", "temp", "wet", unchanged="0.5"))
    kept = [
        not send(engine, number, sensor("a", number, temp, f"wet='{wet}'")).filtered
        for number, (temp, wet) in enumerate(
            [(20, 5), ("20.5", 5), ("20.6", 5), ("20.1", 5), ("20.0", 5), ("20.5", "5.6")], 1
        )
    ]
    assert kept == [True, False, True, False, True, True]


def test_an_unchanged_value_passes_when_the_last_is_old(filtering: Callable[..., Engine]) -> None:
    engine = filtering(same=of("Sensor", "temp", unchanged="0", within="3"))
    kept = [not send(engine, at, sensor("a", at, 20)).filtered for at in range(1, 9)]
    assert kept == [True, False, False, True, False, False, True, False]


def test_an_unchanged_value_passes_when_its_individual_has_expired(
    filtering: Callable[..., Engine],
) -> None:
    engine = filtering(same=of("Sensor", "temp", unchanged="0"))
    send(engine, 1, sensor("a", 1, 20))
    for number in range(2, 7):
        send(engine, number, sensor(f"x{number}", number, 20))
    assert send(engine, 7, sensor("a", 7, 20)).filtered == ()


def test_what_is_known_of_an_individual_counts_too(filtering: Callable[..., Engine]) -> None:
    """The second message says no class: the window knows it."""
    engine = filtering(hot=of("Sensor", "temp", above="50"))
    send(engine, 1, sensor("a", 1, 20))
    outcome = send(engine, 2, "<r id='a' t='2' temp='60'/><r id='b' t='2' temp='60'/>")
    assert [each.name for each in outcome.filtered] == [f"{EX}a"]
    assert temps(engine) == {"a": 20, "b": 60}


def test_filters_see_held_messages_when_their_turn_comes(started: Started) -> None:
    engine = started(
        ONTOLOGY,
        RULES,
        filters={"same": of("Sensor", "temp", unchanged="0")},
        time=TimeSettings(lateness="5"),
    )
    first = send(engine, 1, sensor("a", 7, 20))
    send(engine, 2, sensor("a", 6, 20))
    outcome = send(engine, 3, sensor("b", 20, 20))
    assert first.filtered == ()
    assert [(each.message.id, len(each.filtered)) for each in outcome.released] == [
        ("m2", 0),
        ("m1", 1),
    ]


def test_a_new_ontology_changes_at_once_which_classes_are_below_the_filters(
    deploy: Deploy, start: Start
) -> None:
    filters = {"none": of("Sensor")}
    engine = start(deploy(ONTOLOGY, RULES, filters=filters))
    assert send(engine, 1, sensor("a", 1, 20)).filtered != ()
    for number, above, filtered in ((2, ":Room", 0), (3, ":Sensor", 1)):
        ontology = ONTOLOGY.replace("subClassOf :Sensor", f"subClassOf {above}")
        then = deploy(ontology, RULES, filters=filters)
        aside = Aside(then.ontology.triples, reasoner_of(then))
        engine.adopt(aside, then.rules, then.filters, then.shedding, "m0")
        assert len(send(engine, number, sensor(f"b{number}", number, 20)).filtered) == filtered


@pytest.mark.parametrize(
    ("filter_", "told"),
    [
        (of("Nothing"), r"filters\.f\.class: <http://example\.org/Nothing> is not a class"),
        (of("Sensor", "nothing", above="1"), r"filters\.f\.properties: .* is not a property"),
        (of("Sensor", "temp"), "expected one of below, above, equal, unchanged"),
        (of("Sensor", above="1"), "a condition needs properties"),
        (of("Sensor", action="keep"), "'keep' needs a condition"),
        (of("Sensor", "temp", above="hot"), r"filters\.f\.above: expected a number, not 'hot'"),
        (of("Sensor", "temp", unchanged="-1"), "expected a number, zero or more"),
        (of("Sensor", "temp", above="1", within="3"), r"within: allowed only together"),
        (of("Sensor", "temp", unchanged="1", within="PT1S"), r"within: 'PT1S' is not a length"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(
    deploy: Deploy, filter_: FilterSettings, told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        deploy(ONTOLOGY, RULES, filters={"f": filter_})
