"""The state of a pattern in time: a restart changes nothing of what is found."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from tests.network.intervals.random_patterns import (
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
