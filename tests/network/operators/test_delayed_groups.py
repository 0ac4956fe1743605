"""Groups over the past of windows equal a plain computation, and are one group."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.operators.delayed_groups import DelayedOperator
from sensorstream.network.operators.group_by import GroupOperator
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_state import ProcessorState

NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]
VALUE = IRI("http://example.org/value")
LAST = 40


@dataclass(frozen=True)
class Asked:
    """Aggregates of windows of one length and step, at several times in the past."""

    range: int
    step: int
    delays: tuple[int, ...]
    keyed: bool

    @property
    def text(self) -> str:
        step = f" STEP PT{self.step}S" if self.step else ""
        windows = "".join(
            f"FROM NAMED WINDOW :w{number} [FROM NOW-{delay + self.range}s TO NOW-{delay}s{step}]"
            if delay
            else f"FROM NAMED WINDOW :w{number} [RANGE PT{self.range}S{step}]"
            for number, delay in enumerate(self.delays)
        )
        key, by = ("?x", "GROUP BY ?x") if self.keyed else ("", "")
        groups = "".join(
            f"{{ SELECT {key} (SUM(?v) AS ?s{number}) (COUNT(?v) AS ?c{number})"
            f" WHERE {{ WINDOW :w{number} {{ ?x :value ?v }} }} {by} }}"
            for number in range(len(self.delays))
        )
        return (
            f"PREFIX : <http://example.org/> REGISTER RSTREAM :q AS SELECT * REPORT EVERY PT1S "
            f"{windows} WHERE {{ {groups} }}"
        )

    def expected(self, said: list[tuple[int, IRI, int]], now: int) -> list[Any]:
        until = now - now % self.step if self.step else now
        sums: list[dict[IRI | None, list[int]]] = []
        for delay in self.delays:
            inside: dict[IRI | None, set[tuple[IRI, int]]] = {} if self.keyed else {None: set()}
            for time, name, value in said:
                if until - delay - self.range < time <= until - delay:
                    inside.setdefault(name if self.keyed else None, set()).add((name, value))
            sums.append({key: [v for _, v in values] for key, values in inside.items()})
        found = []
        for key in set(sums[0]).intersection(*sums[1:]):
            row = [] if key is None else [str(key)]
            for each in sums:
                row += [str(sum(each[key])), str(len(each[key]))]
            found.append(tuple(row))
        return sorted(found)


asked = st.builds(
    Asked,
    st.integers(1, 6),
    st.sampled_from((0, 1, 2, 3)),
    # Of steps that do not divide a delay the window is kept by itself.
    st.lists(st.integers(0, 8), min_size=1, max_size=3, unique=True).map(tuple),
    st.booleans(),
)
said_by = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(NAMES), st.integers(0, 3)), min_size=1, max_size=9
)


class Machine:
    """A processor of one query, and the last report of each time."""

    def __init__(self) -> None:
        self.found: dict[int, list[Any]] = {}
        self.processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)

    def start(self, name: str, text: str) -> None:
        self.processor.register(name, text, parse_query(text), self._take)

    def _take(self, report: Report) -> None:
        rows = [tuple(dict(zip(report.variables, row, strict=True)).items()) for row in report.rows]
        ordered = [[value for _, value in sorted(row, key=_place)] for row in rows]
        self.found[report.time] = sorted(tuple(map(_text, row)) for row in ordered)

    def woken(self) -> Machine:
        other = Machine()
        other.found = self.found
        data = json.loads(json.dumps(encode(self.processor.state(), ProcessorState)))
        other.processor.restore(decode(data, ProcessorState), other.start)
        return other

    def say(self, time: int, name: IRI, value: int) -> None:
        literal = Literal(str(value), xsd.INTEGER)
        self.processor.push(StreamEvent(time, ((name, VALUE, literal),)))

    def operators(self, kind: type) -> list[Any]:
        return [each for each in self.processor.network.nodes() if isinstance(each, kind)]


def _place(column: tuple[str, Any]) -> tuple[str, bool]:
    name = column[0]
    return ("" if name == "x" else name[1:], name[0] == "c")


def _text(term: Any) -> str:
    return str(Decimal(term.lexical)) if isinstance(term, Literal) else str(term)


@settings(max_examples=60)
@given(query=asked, gaps=said_by, cut=st.integers(0, 9), late=st.integers(0, 20))
def test_every_instant_sees_each_group_as_it_was(
    query: Asked, gaps: list[tuple[int, IRI, int]], cut: int, late: int
) -> None:
    machine, time, said = Machine(), 0, []
    machine.start("q", query.text)
    for place, (gap, name, value) in enumerate(gaps):
        time += gap
        said.append((time, name, value))
        machine.say(time, name, value)
        if place == cut:
            machine = machine.woken()
    # And once in the silence, when all that is left is what waits.
    machine.processor.advance(time + late)
    machine = machine.woken()
    machine.processor.advance(LAST + time)
    expected = {now: query.expected(said, now) for now in range(said[0][0], LAST + time)}
    found = {now: machine.found.get(now, []) for now in expected}
    assert found == expected


def test_one_group_serves_all_times_in_the_past() -> None:
    machine = Machine()
    machine.start("q", Asked(10, 2, (0, 20, 4, 6), keyed=True).text)
    assert len(machine.operators(GroupOperator)) == 1
    assert len(machine.operators(DelayedOperator)) == 3
    assert len(list(machine.processor.queries["q"].windows)) == 1
    machine.processor.unregister("q")
    assert not list(machine.processor.network.nodes())


def test_what_waits_is_the_changes_of_groups_and_no_events() -> None:
    machine = Machine()
    machine.start("q", Asked(10, 10, (0, 100), keyed=True).text)
    for time in range(1000):
        machine.say(time, NAMES[0], time)
    (delayed,) = machine.operators(DelayedOperator)
    # Ten changes of one row, each of which replaces one, and the row as it is.
    assert delayed.size() <= 21


def test_a_leap_over_the_present_leaves_the_last_change() -> None:
    machine = Machine()
    machine.start("q", Asked(1, 0, (5,), keyed=False).text)
    for time in range(10):
        machine.say(time, NAMES[0], time)
    (delayed,) = machine.operators(DelayedOperator)
    before = delayed.counters.added
    machine.processor.complete(LAST, most=2)
    machine.processor.advance(LAST)
    # That of the present, two more, and what the last leaves: not all seven.
    assert delayed.counters.added - before == 4
    assert [row[0].lexical for row in delayed.rows()] == ["0"]
    assert delayed.size() == 1
