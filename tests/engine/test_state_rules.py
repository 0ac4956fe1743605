"""Rules of rule sets that delete, in an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.engine.engine import Engine
from sensorstream.errors import SettingsError
from sensorstream.kb.graph_index import Origin
from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.events import Event, Status
from sensorstream.model.terms import Triple
from tests.engine.conftest import Build
from tests.reasoning.rulesets.graphs import PREFIXES, graph
from tests.reasoning.rulesets.oracle import closed

Set = Callable[[str], Path]

DERIVED = """
INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y } ;
INSERT { ?x a :Idle } WHERE { ?x a :Lamp FILTER NOT EXISTS { ?x :lit true } }
"""
STATIC = graph(":on rdfs:domain :SwitchOn . :off rdfs:domain :SwitchOff")
SWITCHES = [
    ("?l :lit false", "?l :lit true", "?e a :SwitchOn ; :of ?l . ?l :lit false"),
    ("?l :lit true", "?l :lit false", "?e a :SwitchOff ; :of ?l FILTER EXISTS { ?l :lit true }"),
    ("?e :of ?l", "?l :was :used . ?e :done true", "?e a :SwitchOff ; :of ?l . ?l :lit true"),
    ("?l :was ?any", "", "?l a :Idle ; :was ?any"),
]
SAID = [
    *(
        f":e{number} :{verb} 1 ; :of :l{number % 2}"
        for number in range(3)
        for verb in ("on", "off")
    ),
    *(f":l{number} a :Lamp ; :lit {value}" for number in range(2) for value in ("true", "false")),
]


def rule(delete: str, insert: str, body: str) -> str:
    inserted = f"INSERT {{ {insert} }}" if insert else ""
    return f"DELETE {{ {delete} }} {inserted} WHERE {{ {body} }}"


TEXT = (
    " ;\n".join(f"# rule {number}\n{rule(*each)}" for number, each in enumerate(SWITCHES))
    + f" ;\n{DERIVED}"
)


@pytest.fixture
def rule_set(tmp_path: Path) -> Set:
    def write(text: str) -> Path:
        path = tmp_path / "mine.ru"
        path.write_text(f"{PREFIXES}\n{text}")
        return path

    return write


def event(time: int, said: str) -> Event:
    return Event(tuple(sorted(graph(said))), time, f"m{time}")


def window(engine: Engine) -> set[Triple]:
    return set(engine.kb.triples(Origin.WINDOW))


class Naive:
    """The definition: rounds over all that follows, in which a solution acts when it begins.

    Within one message it acts once, even if it begins again.
    """

    def __init__(self) -> None:
        self.window: set[Triple] = set()
        self.held: list[set[tuple[str, ...]]] = [set() for _ in SWITCHES]

    def take(self, said: set[Triple], rounds: int) -> bool:
        """Whether it ends; if not, all is as before."""
        before = set(self.window), [set(each) for each in self.held]
        self.window |= said
        acted: set[tuple[int, tuple[str, ...]]] = set()
        for _ in range(rounds + 1):
            store = ox.Store()
            for s, p, o in closed(f"{PREFIXES}\n{DERIVED}", STATIC | self.window):
                store.add(ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)))
            gone, new = set[Triple](), set[Triple]()
            for number, (delete, insert, body) in enumerate(SWITCHES):
                found = store.query(f"{PREFIXES} SELECT * {{ {body} }}")
                assert isinstance(found, ox.QuerySolutions)
                names = [each.value for each in found.variables]
                now = set[tuple[str, ...]]()
                for row in found:
                    terms = tuple(f"BIND({row[name]} AS ?{name})" for name in names)
                    now.add(terms)
                    if terms not in self.held[number] and (number, terms) not in acted:
                        acted.add((number, terms))
                        binds = " ".join(terms)
                        for template, into in ((delete, gone), (insert, new)):
                            made = store.query(
                                f"{PREFIXES} CONSTRUCT {{ {template} }} WHERE {{ {binds} }}"
                            )
                            assert isinstance(made, ox.QueryTriples)
                            into.update(map(_triple, made))
                self.held[number] = now
            after = (self.window - (gone - new)) | new
            if after == self.window:
                return True
            self.window = after
        self.window, self.held = before
        return False


def _triple(triple: ox.Triple) -> Triple:
    s, p, o = (from_oxigraph(each) for each in (triple.subject, triple.predicate, triple.object))
    return s, p, o  # type: ignore[return-value]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.sampled_from(SAID), min_size=1, max_size=8))
def test_state_is_what_rounds_of_new_solutions_make_of_it(
    build: Build, rule_set: Set, tmp_path: Path, messages: list[str]
) -> None:
    (tmp_path / "s.nt").write_text("".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in STATIC))
    engine = build(static=[tmp_path / "s.nt"], profile=str(rule_set(TEXT)), window="landmark")
    naive = Naive()
    for time, said in enumerate(messages):
        outcome = engine.take(event(time, said))
        ends = naive.take(graph(said), 16)
        assert (outcome.status is Status.ACCEPTED) == ends, outcome
        assert window(engine) == naive.window


LAMP = """
# on
DELETE { ?l :state :off } INSERT { ?l :state :on }
WHERE { ?e a :SwitchOn ; :of ?l . ?l :state :off } ;
# note
INSERT { ?l a :Bright } WHERE { ?l :state :on }
"""


def test_a_solution_acts_once_for_each_time_that_it_begins_and_its_work_lasts(
    build: Build, rule_set: Set
) -> None:
    engine = build(profile=str(rule_set(LAMP)), window="sliding 2 individuals")
    off = graph(":l :state :off")
    engine.take(event(1, ":l :state :off"))
    engine.take(event(2, ":e a :SwitchOn ; :of :l"))
    assert graph(":l :state :on") <= window(engine)
    assert graph(":l a :Bright") <= set(engine.kb.triples(Origin.INFERRED))
    replaced = frozenset((s, p) for s, p, _ in off)
    engine.take(Event(tuple(off), 3, "m3", replaces=replaced))
    assert graph(":l :state :on") <= window(engine)
    # The switch has left: what it has done stays.
    engine.take(event(4, ":x :p 1"))
    assert window(engine) == graph(":l :state :on . :x :p 1")
    engine.take(Event(tuple(off), 5, "m5", replaces=replaced))
    assert window(engine) == off | graph(":x :p 1")


def test_rules_without_an_end_reject_the_message_and_are_named(build: Build, rule_set: Set) -> None:
    text = "# count\nDELETE { ?c :n ?n } INSERT { ?c :n ?m } WHERE { ?c :n ?n BIND(?n + 1 AS ?m) }"
    engine = build(profile=str(rule_set(text)), window="landmark")
    engine.take(event(1, ":a :p 1"))
    outcome = engine.take(event(2, ":c :n 1"))
    assert outcome.status is Status.REJECTED
    assert "rules kept changing the knowledge base for 16 rounds: count" in str(outcome.rejection)
    assert window(engine) == graph(":a :p 1")


def test_patterns_alone_may_be_deleted_and_a_rule_may_have_no_variable(
    build: Build, rule_set: Set
) -> None:
    text = (
        "# gone\nDELETE WHERE { ?x :gone ?y . ?x :p ?z } ;\n"
        "# all\nDELETE { :all :p 1 } INSERT { :all :p 2 } WHERE { :all :p 1 . :all :q 1 }"
    )
    engine = build(profile=str(rule_set(text)), window="landmark")
    engine.take(event(1, ":a :gone 1 ; :p 2, 3 ; :r 1 . :all :p 1"))
    assert window(engine) == graph(":a :r 1 . :all :p 1")
    engine.take(event(2, ":all :q 1"))
    assert window(engine) == graph(":a :r 1 . :all :p 2 ; :q 1")


def test_without_a_window_there_is_nothing_to_switch(build: Build, rule_set: Set) -> None:
    with pytest.raises(SettingsError, match=r"mine\.ru: rules that delete act on the window"):
        build(profile=str(rule_set(LAMP)))
