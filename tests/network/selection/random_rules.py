"""Random rules over time and streams, and what a processor with rules reports."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.errors import Position
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf, xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_state import ProcessorState
from tests.network.selection.definition import Firing, firings

EX = "http://example.org/"
PREFIX = f"PREFIX : <{EX}>\n"
LABELS = ("T", "B", "C", "M", "N")
SELECT = "SELECT ?k ?v WHERE {{ ?s a :{} ; :k ?k ; :v ?v {} }}"


def term(name: str) -> IRI:
    return IRI(EX + name)


def number(value: int) -> Literal:
    return Literal(str(value), xsd.INTEGER)


@st.composite
def rules(draw: Any) -> tuple[str, dict[str, str]]:
    """The text of a rule, and the query of each label."""
    texts = {
        each: SELECT.format(each, draw(st.sampled_from(["", "FILTER(?v > 1)", "FILTER(?v < 3)"])))
        for each in LABELS
    }
    known, parts, conditions, values = ["T"], [f"T({texts['T']})"], [], ["T"]

    def scope(*, between: bool = False) -> str:
        if between and len(known) > 1 and draw(st.booleans()):
            return f"between {draw(st.sampled_from(known))} and {draw(st.sampled_from(known))}"
        return f"within {draw(st.integers(0, 6))} s from {draw(st.sampled_from(known))}"

    def about(label: str) -> None:
        other = draw(st.sampled_from(known))
        conditions.extend(
            draw(
                st.lists(
                    st.sampled_from(
                        [f"{label}.?k = {other}.?k", f"{label}.?v >= {other}.?v", f"{label}.?v > 1"]
                    ),
                    max_size=2,
                    unique=True,
                )
            )
        )

    for label in draw(st.lists(st.sampled_from("BC"), max_size=2, unique=True)):
        pick = draw(st.sampled_from(["each", "first", "last"]))
        parts.append(f"{pick} {label}({texts[label]}) {scope()}")
        about(label)
        known.append(label)
        values.append(label)
    if draw(st.booleans()):
        function = draw(st.sampled_from(["count(M({}))", "sum(M({}).?v)", "max(M({}).?v)"]))
        parts.append(f"{function.format(texts['M'])} as ?m {scope(between=True)}")
        about("M")
        if draw(st.booleans()):
            conditions.append("?m > 1")
        values.append("")
    if draw(st.booleans()):
        parts.append(f"not N({texts['N']}) {scope(between=True)}")
        about("N")
    given_ = [f"?{name}{label} = {label}.?{name}" for label in known for name in "kv"]
    template = [f":it :{name}{label} ?{name}{label} ." for label in known for name in "kv"]
    if "" in values:
        given_.append("?m2 = ?m")
        template.append(":it :m ?m2 .")
    consumed = [each for each in known[1:] if draw(st.booleans())]
    text = f"define {{ :it a :Found . {' '.join(template)} }}\nfrom " + "\nand ".join(parts)
    if conditions:
        text += f"\nwhere {' and '.join(conditions)}"
    text += f"\nwith {', '.join(given_)}"
    if consumed:
        text += f"\nconsuming {', '.join(consumed)}"
    return text, texts


said = st.tuples(st.sampled_from("TTBBCMN"), st.sampled_from("xy"), st.integers(0, 4))
streams = st.lists(st.tuples(st.integers(0, 3), st.lists(said, max_size=2)), max_size=12)


def triples_of(number_: int, said_: Any) -> tuple[Triple, ...]:
    label, key, value = said_
    subject = term(f"s{number_}")
    return (
        (subject, rdf.TYPE, term(label)),
        (subject, term("k"), term(key)),
        (subject, term("v"), number(value)),
    )


def timed(stream: Any) -> list[tuple[int, tuple[Triple, ...]]]:
    """The time and the graph of each event."""
    found, now, count = [], 0, 0
    for step, events in stream:
        now += step
        graph: tuple[Triple, ...] = ()
        for each in events:
            count += 1
            graph += triples_of(count, each)
        found.append((now, graph))
    return found


class Machine:
    """A processor with rules, and what they report."""

    def __init__(self, *texts: str, background: Any = ()) -> None:
        self.graph = TripleIndex()
        for each in background:
            self.graph.add(each)
        self.reports: list[Report] = []
        self.texts = texts
        self.processor = self._processor()
        for place, text in enumerate(texts):
            self._start(f"r{place}", PREFIX + text)

    def _processor(self) -> StreamProcessor:
        return StreamProcessor(self.graph, instant=lambda each: int(each.lexical), second=1)

    def _start(self, name: str, text: str) -> None:
        program = read_program(text, name=name, start=Position("r", 1, 1))
        self.processor.register(name, text, program, self.reports.append)

    def push(self, time: int, triples: tuple[Triple, ...]) -> None:
        self.processor.push(StreamEvent(time, triples))

    def restart(self) -> None:
        state = json.loads(json.dumps(encode(self.processor.state(), ProcessorState)))
        self.processor = self._processor()
        self.processor.restore(decode(state, ProcessorState), self._start)

    def finish(self) -> list[Report]:
        self.processor.finish()
        assert self.processor.faults == []
        return self.reports


Graphs: TypeAlias = Counter[tuple[int, frozenset[Triple]]]


def found(reports: list[Report]) -> Graphs:
    return Counter((each.time, frozenset(each.triples or ())) for each in reports)


def expected(rule_text: str, told: list[Firing]) -> Graphs:
    """The graphs of firings; those of one firing that is like another are told twice."""
    (rule,) = read_program(PREFIX + rule_text, name="r", start=Position("r", 1, 1)).rules
    names = [name for name, _ in rule.values]
    graphs: Graphs = Counter()
    for time, values in told:
        row = dict(zip(names, values, strict=True))
        graph = {
            (each.subject, each.predicate, row.get(getattr(each.object, "name", ""), each.object))
            for each in rule.template
        }
        graphs[time, frozenset(t for t in graph if t[2] is not None)] += 1  # type: ignore[misc]
    return graphs


def both(drawn: tuple[str, dict[str, str]], stream: Any, stops: set[int]) -> tuple[Graphs, Graphs]:
    """What rules find, with restarts after some events, and what the definition says."""
    text, texts = drawn
    events = timed(stream)
    machine = Machine(text)
    for place, (time, graph) in enumerate(events):
        machine.push(time, graph)
        if place in stops:
            machine.restart()
    graphs: dict[int, tuple[Triple, ...]] = {}
    for time, graph in events:
        graphs[time] = graphs.get(time, ()) + graph
    (rule,) = read_program(PREFIX + text, name="r", start=Position("r", 1, 1)).rules
    told = firings(rule, {label: PREFIX + each for label, each in texts.items()}, graphs)
    return found(machine.finish()), expected(text, told)


def consuming_rule(draw: Random) -> tuple[str, dict[str, str]]:
    """A rule that nearly always fires: what is consumed decides what fires next."""
    labels = draw.choice(["B", "C", "BC", "CB"])
    texts = {each: SELECT.format(each, "") for each in "TBC"}
    parts = [f"T({texts['T']})"]
    for label in labels:
        pick = draw.choice(["each", "first", "last"])
        parts.append(f"{pick} {label}({texts[label]}) within {draw.randint(1, 8)} s from T")
    consumed = draw.choice([labels, *labels])
    names = [f"{name}{label}" for label in f"T{labels}" for name in "kv"]
    values = ", ".join(f"?{each} = {each[1]}.?{each[0]}" for each in names)
    where = draw.choice(["", f"where {labels[0]}.?k = T.?k"])
    template = " ".join(f":it :{each} ?{each} ." for each in names)
    rule = f"define {{ {template} }} from {' and '.join(parts)} {where} with {values}"
    return f"{rule} consuming {', '.join(consumed)}", texts


RULE = (
    "define {{ :it :saw ?v }} from T(SELECT ?k ?v {{ ?s a :T ; :k ?k ; :v ?v FILTER(?v > {0}) }}) "
    "and last B(SELECT ?k ?v {{ ?s a :B ; :k ?k ; :v ?v FILTER(?v > {0}) }}) within 9 s from T "
    "where B.?k = T.?k with ?v = T.?v"
)
