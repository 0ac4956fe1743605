"""The state of a pattern in time: a restart changes nothing of what is found."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.network.intervals.interval_state import KeptRow, flat, row_of
from sensorstream.network.plan.nodes import OCCURRENCE
from sensorstream.network.rows import TIMES
from tests.network.intervals.random_patterns import (
    NAMES,
    PROPERTIES,
    Gaps,
    backgrounds,
    events,
    existing,
    limits,
    restarted,
    run,
    streams,
    texts,
)


@settings(max_examples=100)
@given(text=texts, gaps=streams, background=backgrounds, cut=st.integers(0, 7))
def test_a_restart_in_mid_pattern_loses_and_repeats_nothing(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple], cut: int
) -> None:
    said = events(gaps)
    found = restarted(text, said, background, cut)
    assert Counter(found) == Counter(run(text, said, background))


@settings(max_examples=25)
@given(text=st.one_of(existing, limits), gaps=streams, cut=st.integers(0, 7))
def test_what_was_asked_survives_a_restart(text: str, gaps: Gaps, cut: int) -> None:
    said = events(gaps)
    assert Counter(restarted(text, said, [], cut)) == Counter(run(text, said, []))


times = st.integers(0, 9)
labels = st.tuples(*[st.sampled_from([*NAMES, *PROPERTIES])] * 3, times, times)


@given(st.lists(st.none() | st.sampled_from(NAMES) | labels, max_size=4), times, times)
def test_a_kept_row_is_the_row_again(cells: list[Any], start: int, end: int) -> None:
    names = [f"{OCCURRENCE if isinstance(c, tuple) else 'v'}{n}" for n, c in enumerate(cells)]
    terms, moments = flat((start, end, *cells))
    assert not any(isinstance(each, tuple) for each in terms)
    assert len(moments) == 2 + 2 * sum(isinstance(each, tuple) for each in cells)
    assert row_of(KeptRow(0, 0, terms, moments), (*TIMES, *names)) == (start, end, *cells)
