"""Patterns in time and rules over time: each sees what the other makes at its moment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}>\n"
FALL = (
    f"{PREFIX}CONSTRUCT {{ ?x :fell ?w }} WHERE "
    "{ { ?x :value ?v } SEQ { ?x :value ?w } FILTER(?w < ?v) }"
)
FALLS = f"{PREFIX}SELECT ?x ?w {{ {{ ?x :value ?v }} SEQ {{ ?x :value ?w }} FILTER(?w < ?v) }}"
ALARM = (
    f"{PREFIX}rule alarm define {{ ?x :alarm ?w }} "
    "from Fall(SELECT ?x ?w WHERE { ?x :fell ?w }) "
    "and not Calm(SELECT ?y WHERE { ?y :calm ?z }) within 2 s from Fall "
    "with ?x = Fall.?x, ?w = Fall.?w"
)
AFTER = (
    f"{PREFIX}CONSTRUCT {{ ?x :told ?w }} WHERE {{ ?x :value ?w OPTIONAL {{ ?x :alarm ?a }} "
    "FILTER(BOUND(?a) && getENDTIME() >= 0) }"
)


class Machine:
    """Queries and rules, and what they report."""

    def __init__(self, *texts: str) -> None:
        self.reports: list[Report] = []
        self.processor = StreamProcessor(
            TripleIndex(), instant=lambda literal: int(literal.lexical), second=1
        )
        for number, text in enumerate(texts):
            self.register(f"q{number}", text)

    def register(self, name: str, text: str) -> None:
        if "define" in text:
            program = read_program(text, name=name, start=Position("rules", 1, 1))
            self.processor.register(name, text, program, self.reports.append)
        else:
            self.processor.register(name, text, parse_query(text), self.reports.append)

    def run(self, events: list[StreamEvent]) -> None:
        for event in events:
            self.processor.push(event)
        self.processor.finish()
        assert self.processor.faults == []

    def made(self, name: str) -> set[tuple[int, Triple]]:
        """The triples with this property that were reported, and when."""
        return {
            (report.time, triple)
            for report in self.reports
            for triple in report.triples or ()
            if triple[1] == E + name
        }


def said(subject: str, name: str, value: int) -> Triple:
    return IRI(E + subject), IRI(E + name), Literal(str(value), xsd.INTEGER)


gaps = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from("ab"),
        st.sampled_from(["value", "value", "value", "calm"]),
        st.integers(1, 4),
    ),
    min_size=2,
    max_size=12,
)


def events_of(given: list[tuple[int, str, str, int]]) -> list[StreamEvent]:
    time, found = 1, []
    for gap, subject, name, value in given:
        time += gap
        found.append(StreamEvent(time, (said(subject, name, value),)))
    return found


@settings(max_examples=40)
@given(given=gaps, order=st.permutations([FALL, ALARM]))
def test_rules_over_time_see_what_a_pattern_constructs_at_its_moment(
    given: list[tuple[int, str, str, int]], order: list[str]
) -> None:
    events = events_of(given)
    machine = Machine(*order)
    machine.run(events)
    # By itself the rule is given what the pattern finds.
    alone = Machine(FALLS)
    alone.run(events)
    falls = [
        StreamEvent(report.time, ((row[0], IRI(E + "fell"), row[1]),))  # type: ignore[arg-type]
        for report in alone.reports
        for row in report.rows
    ]
    rule = Machine(ALARM)
    rule.run(sorted([*events, *falls], key=lambda event: event.time))
    assert machine.made("alarm") == rule.made("alarm")


@settings(max_examples=25)
@given(given=gaps, order=st.permutations([FALL, ALARM, AFTER]))
def test_a_pattern_sees_what_rules_make_of_what_another_pattern_constructs(
    given: list[tuple[int, str, str, int]], order: list[str]
) -> None:
    machine = Machine(*order)
    machine.run(events_of(given))
    values = {
        (event.time, triple[0], triple[2])
        for event in events_of(given)
        for triple in event.triples
        if triple[1] == E + "value"
    }
    alarms = {(time, triple[0]) for time, triple in machine.made("alarm")}
    expected = {
        (time, (subject, IRI(E + "told"), value))
        for time, subject, value in values
        if any(one <= time and other == subject for one, other in alarms)
    }
    assert machine.made("told") == expected


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_pattern_and_a_rule_that_wait_for_each_other_at_one_moment_are_refused(
    order: tuple[int, int],
) -> None:
    texts = [
        f"{PREFIX}CONSTRUCT {{ ?x :fell ?w }} WHERE {{ ?x :alarm ?w FILTER(getENDTIME() >= 0) }}",
        ALARM,
    ]
    machine = Machine(texts[order[0]])
    with pytest.raises(UnsupportedQuery, match="SEQ or OPTIONALSEQ"):
        machine.register("other", texts[order[1]])


def test_a_rule_that_has_ended_leaves_no_order_behind() -> None:
    machine = Machine(FALL, ALARM)
    machine.processor.unregister("q1")
    text = f"{PREFIX}CONSTRUCT {{ ?x :fell ?w }} WHERE {{ ?x :alarm ?w FILTER(getENDTIME() >= 0) }}"
    machine.register("other", text)
    assert machine.processor.patterns.before_rules == 0


@pytest.mark.parametrize(("when", "told"), [("", False), ("BIND(getENDTIME() AS ?when)", True)])
def test_one_triple_pattern_feeds_the_stream_only_if_it_asks_when(when: str, told: bool) -> None:
    fell = f"{PREFIX}CONSTRUCT {{ ?x :fell ?w }} WHERE {{ ?x :value ?w {when} }}"
    machine = Machine(fell, ALARM)
    machine.run([StreamEvent(3, (said("a", "value", 1),))])
    assert machine.made("alarm") == ({(3, said("a", "alarm", 1))} if told else set())


def test_a_circle_names_the_rule_and_the_query() -> None:
    machine = Machine(ALARM)
    text = f"{PREFIX}CONSTRUCT {{ ?x :fell ?w }} WHERE {{ ?x :alarm ?w FILTER(getENDTIME() >= 0) }}"
    with pytest.raises(UnsupportedQuery) as raised:
        machine.register("circle", text)
    assert "a rule over time" in raised.value.message
    assert "'circle'" in raised.value.message
