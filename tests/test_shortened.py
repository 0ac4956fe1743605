"""What is told of others' values has a bound, and what differs stays different."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import (
    LONGEST,
    MOST,
    Contradiction,
    MappingError,
    few,
    shortened,
    shortened_key,
)
from sensorstream.model.events import Alert

LONG = st.builds(lambda a, n, b: a + "x" * n + b, st.text(), st.integers(0, 3 * LONGEST), st.text())


@given(LONG)
def test_a_text_has_a_bound_and_keeps_its_beginning_and_its_end(text: str) -> None:
    told = shortened(text)
    assert len(told) <= LONGEST
    assert shortened(told) == told
    if len(text) <= LONGEST:
        assert told == text
    else:
        assert told.startswith(text[:8_000])
        assert told.endswith(text[-1_000:])
        assert f"({len(text)} characters)" in told


@given(st.lists(LONG, max_size=4, unique=True))
def test_names_that_differ_stay_different(texts: list[str]) -> None:
    told = [shortened_key(each) for each in texts]
    assert len(set(told)) == len(texts)
    assert all(len(each) <= LONGEST for each in told)


def test_of_many_texts_the_first_are_told_and_how_many_there_are() -> None:
    assert few(["a"] * MOST) == ("a",) * MOST
    assert few(["a"] * (MOST + 7)) == (*["a"] * (MOST - 1), "and 8 more")


def test_an_error_and_an_alert_tell_no_more() -> None:
    error = MappingError(f"'{'9' * 1_000_000}' is no date: expected e.g. 2014-08-01")
    assert len(str(error)) == LONGEST
    assert str(error).endswith("is no date: expected e.g. 2014-08-01")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    alert = Alert("m1-1", "r", "rule", "info", "t" * 1_000_000, "k" * 1_000_000, 1, "m1")
    assert (len(alert.text), len(alert.key)) == (LONGEST, LONGEST)
    assert len(Contradiction(("t" * 1_000_000,) * 1_000).triples[0]) == LONGEST
