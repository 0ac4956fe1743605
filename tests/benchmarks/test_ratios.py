"""What SensorStream takes beside others has not grown by half since it was last measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import pytest

from benchmarks.__main__ import main
from benchmarks.beside import page
from benchmarks.beside.table import COMPARISONS
from benchmarks.beside.turns import Comparison, Disagreement, Found, Pair, agree, measure, timed
from benchmarks.publish import with_tables

WATCHED = [each for each in COMPARISONS if each.small]
FALLEN = 2 / 3
"""Of the ratio that was kept: a third less is too little."""
TURNS, TRIES = 4, 12
"""On a machine with other work the best of all turns counts, of both: as many as were kept of."""


@pytest.mark.parametrize("watched", WATCHED, ids=lambda each: each.key)
def test_no_ratio_has_fallen_by_a_third(watched: Comparison) -> None:
    kept = page.read()["small"][watched.key]
    ours = theirs = inf
    for _ in range(TRIES):
        found = measure(watched, watched.small, TURNS)
        assert found.theirs is not None
        ours, theirs = min(ours, found.ours), min(theirs, found.theirs)
        if theirs / ours >= FALLEN * kept:
            return
    pytest.fail(f"{watched.key}: {theirs / ours:.3g} times; {kept:.3g} was kept: see make bench")


@pytest.mark.parametrize(
    ("key", "size"),
    [
        ("message taken in, Pellet; the paper's way: Jena, Pellet", 20),
        ("event of a document, rules; lxml, XPath, dict", 20),
        ("event of a document, RML; morph-kgc", 20),
        ("fences, 10,000; shapely, all fences", 50),
        ("query (1) in 10 s; ETALIS", 300),
        ("averages of 1 s; Esper", 300),
        ("member of 40,080 classes; ETALIS", 50),
        ("tsunami; ETALIS", 50),
        ("CityBench Q1, 100/s; Oxigraph every second", 1),
        ("LUBM, 14 queries; Oxigraph loads, asks", 1),
        ("shapes, window of 100; pySHACL", 80),
        ("history asked; DuckDB, in memory", 200),
        ("sensorstream --help; import click", 1),
        ("sensorstream run, one event; import lxml, lark, pyoxigraph", 1),
    ],
)
def test_both_ways_have_the_same_result_or_one_is_absent(key: str, size: int) -> None:
    found = measure(next(each for each in COMPARISONS if each.key == key), size, 1)
    assert found.ours > 0
    assert (found.theirs is None) == bool(found.absent)


def comparison(*, alone: bool = False) -> Comparison:
    turns = iter([3.0, 2.0, 4.0])

    @contextmanager
    def made(size: int) -> Iterator[Pair]:
        yield Pair(lambda: size * next(turns), None if alone else lambda: 1.0, "not here")

    return Comparison("work", "idleness", "turn", made, 2, aim=5, told="7")


def test_the_best_turn_of_each_side_counts() -> None:
    assert measure(comparison(), 1, 3) == Found(2.0, 1.0, "not here")
    assert Found(2.0, 1.0).ratio == 0.5
    assert measure(comparison(alone=True), 2, 2) == Found(4.0, None, "not here")


def test_a_turn_costs_the_time_of_its_units() -> None:
    assert timed(lambda: sum(range(100_000)), 10)() > timed(lambda: None, 10)() >= 0


def test_sides_that_disagree_have_no_time() -> None:
    agree("rows", 1, 1)
    with pytest.raises(Disagreement, match="rows: 1 here, 2 elsewhere"):
        agree("rows", 1, 2)


def test_the_page_tells_each_line_and_who_is_absent() -> None:
    one = comparison()
    rows = [page.row(one, Found(2.0, 1.0)), page.row(one, Found(2e-6, None, "not in a registry"))]
    told = page.markdown(
        {
            "measured": "2026-11-28",
            "revision": "abc",
            "machine": "2 cores",
            "rows": rows,
            "message": {"plain": {"t_i": 1.5, "t_w": 2}},
            "statement": {"plain": {"read": 1}},
            "server": "1 client 100",
        }
    )
    assert "2026-11-28, revision abc, 2 cores." in told
    assert "|work: turn|2,000,000|0.5|5|idleness|0.5|" in told
    assert "|work: turn|2|500,000|5|idleness|absent; 7|" in told
    assert "- Absent: idleness: not in a registry." in told
    assert "|plain|1.5|2|" in told


def test_the_page_has_a_place_for_the_tables_and_is_short() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert with_tables(text, "| new |", page.BEGIN, page.END).count("| new |") == 1
    assert len(text.split()) <= 1500


@pytest.mark.parametrize(
    "text", ["", page.BEGIN, f"{page.END}{page.BEGIN}", 2 * f"{page.BEGIN}{page.END}"]
)
def test_a_page_without_its_marks_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        with_tables(text, "| new |", page.BEGIN, page.END)


def test_named_comparisons_are_printed_and_nothing_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = page.FILE.read_bytes()
    assert main(["sensorstream --help"]) == 0
    assert "import click: " in capsys.readouterr().out
    assert page.FILE.read_bytes() == before
