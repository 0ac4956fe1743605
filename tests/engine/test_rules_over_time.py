"""Rules over time in an engine: out of order, a stream gives what the definition says of it."""

from __future__ import annotations

from contextlib import closing
from random import Random

from sensorstream.app.recorded_engine import build_engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Position
from sensorstream.journal.entry_effects import in_order
from sensorstream.model.events import Event
from sensorstream.model.terms import Triple
from sensorstream.sparql.dotr.dotr_reader import read_program
from tests.effort import examples
from tests.network.selection.definition import firings
from tests.network.selection.random_rules import (
    PREFIX,
    Graphs,
    consuming_rule,
    expected,
    found,
    timed,
)

LATENESS = 4


def of_engine(text: str, events: list[tuple[int, tuple[Triple, ...]]]) -> Graphs:
    """What the rules of an engine make of events, in the order in which they arrive."""
    outcomes: list[Outcome] = []
    with closing(build_engine(profile="none", line="integer", lateness=str(LATENESS))) as engine:
        engine.register("r", PREFIX + text)
        for number, (time, triples) in enumerate(events):
            outcomes.append(engine.take(Event(triples, time, f"m{number}")))
        outcomes.append(engine.finish())
    reports = [each.report for one in outcomes for part in in_order(one) for each in part.reports]
    return found(reports)


def test_events_out_of_order_make_what_the_definition_says() -> None:
    made = 0
    # Evenly random: an event that is lost or misplaced changes what is selected, mostly.
    for seed in range(examples(12)):
        draw = Random(seed)
        text, texts = consuming_rule(draw)
        stream = [
            (draw.randint(0, 2), [(draw.choice("TTBC"), draw.choice("xy"), draw.randint(0, 1))])
            for _ in range(12)
        ]
        events = timed(stream)
        # Each event comes at most so much later than it says.
        late = [draw.randint(0, LATENESS) for _ in events]
        order = sorted(range(len(events)), key=lambda n: (events[n][0] + late[n], n))
        graphs: dict[int, tuple[Triple, ...]] = {}
        for time, graph in events:
            graphs[time] = graphs.get(time, ()) + graph
        (rule,) = read_program(PREFIX + text, name="r", start=Position("r", 1, 1)).rules
        told = firings(rule, {label: PREFIX + each for label, each in texts.items()}, graphs)
        made += len(told)
        found_ = of_engine(text, [events[place] for place in order])
        assert found_ == expected(text, told), f"seed {seed}"
    assert made > 20
