"""The strata of queries: the least numbers that keep all conditions, at work and by definition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.network.intervals.query_strata import InstantKinds, feeding, strata
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.query_report import Report
from tests.network.intervals.definition import closed, solutions
from tests.network.intervals.random_patterns import (
    PREFIX,
    Gaps,
    events,
    found_in,
    processor,
    stream_of,
    streams,
)

P, Q, C, D = (IRI(f"http://example.org/{each}") for each in "pqcd")
kinds = st.frozensets(
    st.builds(TriplesRead, st.sampled_from([P, Q, None]), st.sampled_from([C, D, None])), max_size=1
)
ends = st.builds(InstantKinds, kinds, kinds, kinds)


def meet(added: frozenset[TriplesRead], read: frozenset[TriplesRead]) -> bool:
    return any(one.meets(other) for one in added for other in read)


def definition(everything: Mapping[str | None, InstantKinds]) -> dict[str | None, int] | None:
    """The strata, by trying; None: there are none."""
    levels = dict.fromkeys(everything, 0)
    for _ in range(len(everything) ** 2 + 2):
        least = {
            name: max(
                0,
                *(
                    levels[other] + meet(everything[other].adds, each.asked)
                    for other in everything
                    if not (name is other is None)
                    and meet(everything[other].adds, each.reads | each.asked)
                ),
                0,
            )
            for name, each in everything.items()
        }
        if least == levels:
            return levels
        levels = least
    return None


@settings(max_examples=150)
@given(queries=st.dictionaries(st.sampled_from("abcde"), ends, max_size=5), rules=ends | st.none())
# Who feeds itself is in its own stratum, and rules over time have an order of their own.
@example(
    queries={
        "a": InstantKinds(
            frozenset([TriplesRead(P, None)]), frozenset([TriplesRead(P, C)]), frozenset()
        )
    },
    rules=InstantKinds(
        frozenset([TriplesRead(P, None)]),
        frozenset(),
        frozenset([TriplesRead(P, D), TriplesRead(Q, None)]),
    ),
)
def test_queries_are_in_the_strata_of_the_definition(
    queries: dict[str, InstantKinds], rules: InstantKinds | None
) -> None:
    everything: dict[str | None, InstantKinds] = dict(queries.items())
    if rules is not None:
        everything[None] = rules
        assert feeding(queries, rules) == {
            name for name, each in queries.items() if meet(each.adds, rules.asked)
        }
    expected = definition(everything)
    if expected is not None:
        assert strata(queries, rules) == expected
        return
    with pytest.raises(UnsupportedQuery) as raised:
        strata(queries, rules)
    told = re.findall("(a rule over time|'[a-e]')", raised.value.message)
    one, other = (None if each == "a rule over time" else each.strip("'") for each in told)
    assert meet(everything[other].adds, everything[one].asked)


def test_absence_that_depends_on_itself_at_one_moment_is_refused() -> None:
    machine = processor([])
    text = (
        PREFIX + "CONSTRUCT { ?x :q ?y } WHERE { { ?x :p ?y } EQUALSOPTIONAL { ?x :q ?z } "
        "FILTER(!BOUND(?z)) }"
    )
    with pytest.raises(UnsupportedQuery, match="OPTIONALSEQ"):
        machine.register("q", text, parse_query(text), lambda report: None)


ABSENT = [
    ["CONSTRUCT { ?x :q ?y } WHERE { ?x :p ?y FILTER(getENDTIME() >= 0) }"],
    [
        "CONSTRUCT { ?x :alone ?y } WHERE { ?x ?p ?y FILTER NOT EXISTS { ?y :q ?z } "
        "FILTER(getENDTIME() >= 0) }"
    ],
]


@settings(max_examples=25)
@given(gaps=streams)
def test_exists_knows_what_construct_has_made_at_the_same_moment(gaps: Gaps) -> None:
    said = events(gaps)
    reports: list[Report] = []
    machine = processor([])
    last = f"{PREFIX}SELECT ?x ?y {{ ?x :alone ?y FILTER(getENDTIME() >= 0) }}"
    named = [("last", last), *((f"q{n}", PREFIX + t) for n, [t] in enumerate(reversed(ABSENT)))]
    for name, text in named:
        sink: Any = reports.append if name == "last" else (lambda report: None)
        machine.register(name, text, parse_query(text), sink)
    for event in said:
        machine.push(event)
    machine.finish()
    rules = [[parse_query(PREFIX + text) for text in stratum] for stratum in ABSENT]
    expected = solutions(parse_query(last).form.pattern, closed(stream_of(said, []), rules))
    assert set(found_in(reports)) == expected
