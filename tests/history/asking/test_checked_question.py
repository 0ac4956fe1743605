from __future__ import annotations

from typing import Any

import pytest

from sensorstream.errors import QueryError
from sensorstream.history.asking.checked_question import (
    AtInstant,
    Interval,
    check_no_time,
    read_question,
)
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import GRAPH_PERSISTENT, GRAPH_WINDOW
from sensorstream.sparql.algebra import Dataset

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("clause", "parameters", "time"),
    [
        ("", {}, None),
        ("AT 50", {}, AtInstant(50)),
        ('AT "50"', {}, AtInstant(50)),
        ("DURING -5/5", {}, Interval(-5, 5)),
        ("", {"at": "50"}, AtInstant(50)),
        ("", {"during": "1/2"}, Interval(1, 2)),
    ],
)
def test_the_valid_time_stands_in_the_text_or_beside_it(
    clause: str, parameters: dict[str, str], time: AtInstant | Interval | None
) -> None:
    question = read_question(f"ASK {clause} {{ ?s ?p ?o }}", Timeline.INTEGER, **parameters)
    assert question.time == time


def test_times_are_those_of_the_time_line() -> None:
    text = 'ASK DURING "1970-01-02T00:00:00Z"/"1970-01-03T02:00:00+02:00" {}'
    assert read_question(text, Timeline.DATETIME).time == Interval(DAY, 2 * DAY)


@pytest.mark.parametrize(
    ("text", "parameters", "said"),
    [
        ("ASK AT 5 {}", {"at": "5"}, "query:1:5: the query says its valid time itself: leave 'at'"),
        ("ASK AT 5 {}", {"during": "5/6"}, "itself: leave 'during' out"),
        ("ASK {}", {"at": "5", "during": "5/6"}, "expected 'at' or 'during', not both"),
        ("ASK {}", {"during": "5"}, "during: '5' is no interval: expected two times"),
        ("ASK {}", {"during": "5/6/7"}, "during: '5/6/7' is no interval"),
        ("ASK {}", {"during": "6/5"}, "'5' is not after '6': expected an interval, or AT"),
        ("ASK\nDURING 5/5 {}", {}, "query:2:1: DURING: '5' is not after '5'"),
        ("ASK AT 2.5 {}", {}, "query:1:5: '2.5' is not"),
        ("ASK AT ?now {}", {}, "query:1:5: ?now has no value here: expected a time; only"),
        ("ASK DURING 1/?now {}", {}, "query:1:5: ?now has no value here"),
        ("ASK {}", {"at": "noon"}, "'noon' is not"),
        ("ASK {}", {"at": ""}, "'' is not"),
        ("ASK {}", {"at": "2014-08-01T00:00:00Z"}, "is a time of the datetime line, but the time"),
        ("ASK AT 99999999999999999999 {}", {}, "outside 64 bits"),
        ("ASK {", {}, "query:1:6: the text ends here"),
        ("ASK { GRAPH <urn:x> {} }", {}, "query:1:13: GRAPH: there is no graph <urn:x>"),
        ("ASK {}", {"default_graphs": ["urn:x"]}, "default-graph-uri: there is no graph <urn:x>"),
        ("ASK { SERVICE <urn:x> {} }", {}, "query:1:7: SERVICE is not allowed"),
    ],
)
def test_what_history_cannot_answer_is_refused_with_its_place(
    text: str, parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(QueryError) as caught:
        read_question(text, Timeline.INTEGER, **parameters)
    assert said in str(caught.value)


def test_graphs_of_the_protocol_replace_those_of_the_text() -> None:
    text = f"ASK FROM {GRAPH_WINDOW.n3} {{ ?s ?p ?o }}"
    assert read_question(text, Timeline.INTEGER).query.dataset == Dataset((GRAPH_WINDOW,))
    question = read_question(text, Timeline.INTEGER, named_graphs=[GRAPH_PERSISTENT])
    assert question.query.dataset == Dataset((), (GRAPH_PERSISTENT,))


def test_the_cache_has_no_valid_time() -> None:
    check_no_time(None, None, "cache")
    with pytest.raises(
        QueryError, match=r"^at: cache knows the present only: .* on history or all"
    ):
        check_no_time("5", None, "cache")
    with pytest.raises(QueryError, match=r"^during: cache knows"):
        check_no_time(None, "5/6", "cache")
