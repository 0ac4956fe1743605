"""Patterns and rules over time, by key: each reports what one engine does of that key alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment
from sensorstream.history.journal_rows import record_of
from sensorstream.journal.records import Effects
from tests.streaming.stand_in import batches, by_keys, message, of_one_engine, passed, registered

PATTERN = """PREFIX : <http://example.org/t#>
SELECT ?p ?x ?y ALERT warning "{?p} went from {?x} to {?y}" WHERE {
  { ?p :x ?x } SEQ { ?p :x ?y }
  FILTER(?y > ?x && getDURATION() <= "PT6S"^^<http://www.w3.org/2001/XMLSchema#duration>) }"""
RULE = """PREFIX : <http://example.org/t#>
rule Rise
define { ?p :roseFrom ?x }
from High(SELECT ?p ?x { ?p :x ?x FILTER(?x > 2) })
 and last Low(SELECT ?p ?x { ?p :x ?x FILTER(?x < 2) }) within 6 s from High
where High.?p = Low.?p
with ?p = High.?p, ?x = Low.?x
consuming Low"""
SOURCES = ("north", "south")
_SAID = st.lists(
    st.tuples(
        st.sampled_from(SOURCES),
        st.integers(0, 3),
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=2),
    ),
    min_size=4,
    max_size=14,
)
_PLACES = st.sets(st.integers(0, 15))


@pytest.mark.parametrize("text", [PATTERN, RULE])
@profile(max_examples=15, deadline=None)
@given(said=_SAID, cuts=_PLACES, lost=st.sets(st.integers(0, 5)), asleep=_PLACES)
def test_each_key_reports_what_happens_in_its_own_stream(
    by_time: Deployment, text: str, said: Any, cuts: set[int], lost: set[int], asleep: set[int]
) -> None:
    time, rows = 0, [registered(1, "q", text)]
    for source, step, people in said:
        time += step
        rows.append(message(len(rows) + 1, source, time, people))
    rows.append(passed(len(rows) + 1, time + 1, time + 1, received=1000))
    found = reported(by_keys(by_time, batches(rows, cuts), lost, asleep=asleep))
    expected: Counter[Any] = Counter()
    for source in SOURCES:
        own = [record_of(row) for row in rows if row[7] != "message" or row[2] == source]
        expected += reported(of_one_engine(by_time, own))
    assert found == expected


def reported(effects: Effects) -> Counter[Any]:
    """What was reported and raised, without the numbers of the engines that did."""
    found: Counter[Any] = Counter()
    for each in effects.reports:
        report = each.report
        intervals = map(tuple, report.intervals or ((),) * len(report.rows))
        for row, interval in zip(report.rows, intervals, strict=False):
            found[report.time, tuple(map(repr, row)), interval] += 1
        found[report.time, tuple(sorted(map(repr, report.triples or ()))), ()] += 1
    for alert in effects.alerts:
        if getattr(alert, "kind", "") == "query":
            found[alert.time, alert.key, ()] += 1
    return found
