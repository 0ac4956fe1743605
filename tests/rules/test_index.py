"""The index leaves out no rule that could fire, and keeps their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.language import parse
from sensorstream.model import rdf
from sensorstream.model.events import Delta, Departure, Individual, Message, Provenance
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import CompiledRule, compile_rules
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.rules.rule_rounds import RuleIndex
from sensorstream.rules.triggers import RoundChange
from tests.rules.conftest import Host

E = "http://example.org/"
CLASSES = ("A", "B", "C", "D")
TRIGGERS = (
    "on change",
    "on message",
    'every "5"',
    *(f"on insert :{name} as ?x" for name in CLASSES),
    *(f"on expire :{name} as ?x" for name in CLASSES),
)

triples = st.tuples(
    st.sampled_from([IRI(f"{E}{name}") for name in "xyz"]),
    st.sampled_from([rdf.TYPE, IRI(f"{E}near")]),
    st.sampled_from([IRI(f"{E}{name}") for name in CLASSES]),
)


def compiled(triggers: list[str]) -> tuple[CompiledRule, ...]:
    rules = "\n".join(
        f'rule r{number}\n{trigger}\nthen alert info "it"'
        for number, trigger in enumerate(triggers)
    )
    schema = Schema(classes=frozenset(IRI(f"{E}{name}") for name in CLASSES))
    return compile_rules([parse(f"prefix : <{E}>\n{rules}\n", "r")], schema, Timeline.INTEGER)


def departure(name: IRI, told: set[Triple], inferred: set[Triple]) -> Departure:
    statements = dict.fromkeys(sorted(told), Provenance("m0", 0))
    return Departure(Individual(name, 1, 0, 0, 0, "m0", statements), 1, tuple(sorted(inferred)))


@given(
    triggers=st.lists(st.sampled_from(TRIGGERS), max_size=8),
    added=st.sets(triples, max_size=6),
    told=st.sets(triples, max_size=4),
    inferred=st.sets(triples, max_size=2),
    is_first=st.booleans(),
    time=st.integers(0, 20),
)
def test_a_rule_that_sleeps_would_have_had_no_solution(
    triggers: list[str],
    added: set[Triple],
    told: set[Triple],
    inferred: set[Triple],
    is_first: bool,
    time: int,
) -> None:
    rules = compiled(triggers)
    departures = [departure(IRI(f"{E}x"), told, inferred)]
    run = RulesRun(Host(), Message("m1", b"", time), time, RuleMemory({}, {"r0": 1}))
    moment = RoundChange(
        run, is_first, Delta(time, added=tuple(sorted(added))), departures, by_message=is_first
    )
    awake = RuleIndex(rules).awake(moment)
    assert list(awake) == [rule for rule in rules if rule in awake]
    assert len(set(map(id, awake))) == len(awake)
    for rule in rules:
        waits = rule.waits_for is not None
        assert (rule in awake) >= bool(rule.trigger(moment))
        # What waits for a class is woken by nothing else.
        assert not waits or (rule in awake) == bool(rule.trigger(moment))
