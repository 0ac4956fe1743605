"""Results survive their file, become tables, and are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.figures import draw
from benchmarks.paper.report import markdown, verdicts
from benchmarks.paper.results import Results, Row, Step, percentile
from benchmarks.paper.sections import CLEARING, NAIVE, ONTOLOGY, PAPER
from benchmarks.publish import with_tables
from benchmarks.scenario import PHASES, SLIDING

BEGIN, END = "<!-- begin -->", "<!-- end -->"


def row(
    system: str, size: int, milliseconds: float, section: str = SLIDING, checked: int = 0
) -> Row:
    share = dict.fromkeys(PHASES, milliseconds / 1000 / len(PHASES))
    steps = [Step(number, share, 110 + 6 * number, 120 + 6 * number) for number in range(1, 500)]
    return Row.of(section, system, size, steps, cpu=0.5, checked=checked)


def results(plain: float = 0.1, paper: float = 50.0) -> Results:
    rows = [row("plain", 191, 0.08), row("plain", 2991, plain), row(PAPER, 2991, paper, checked=40)]
    return Results(
        {"Scale": "default"},
        {
            "sliding": rows,
            "clearing": [row("plain", 2991, 9.0, CLEARING), row(PAPER, 2991, 8000.0, CLEARING)],
            "naive": [row("sync_reasoner_hermit", 2991, 9000.0, NAIVE)],
            "ontology": [row("plain", 31, 0.1, ONTOLOGY), row("plain", 100, 0.2, ONTOLOGY)],
        },
    )


def test_results_come_back_from_their_file_as_they_were(folder: Path) -> None:
    file = folder / "new" / "results.json"
    written = results()
    written.write(file)
    read = Results.read(file)
    assert read.machine == written.machine
    assert markdown(read) == markdown(written)
    curve = read.units["sliding"][0].curve
    assert [point.number for point in curve][:2] == [3, 6]
    assert curve[-1].number == 499


@pytest.mark.parametrize(
    ("plain", "paper", "reached"),
    [
        (0.1, 50.0, [True, True, True]),
        (0.25, 500.0, [False, False, True]),
        (0.1, 20.0, [True, True, False]),
    ],
)
def test_goals_are_judged_by_what_was_measured(
    plain: float, paper: float, reached: list[bool]
) -> None:
    assert [each.reached for each in verdicts(results(plain, paper))] == reached


def test_nothing_measured_is_nothing_judged() -> None:
    assert not list(verdicts(Results({})))
    assert markdown(Results({"Scale": "default"})) == "Scale: default."


def test_the_papers_table_stands_beside_ours() -> None:
    text = markdown(results())
    assert "| sliding | 2991 | 2306 | 50.0 | 0.10 | 500 |" in text
    assert "| tumbling, when emptied | 2991 | 16348 | 8000 | 9.00 | 889 |" in text


def test_a_percentile_is_a_measured_value() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([float(n) for n in range(1, 201)], 0.99) == 198.0


def test_figures_are_drawn_of_what_there_is(folder: Path) -> None:
    names = {file.name for file in draw(results(), folder)}
    assert names == {"figure-5.png", "figure-6.png", "variations.png"}
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_tables_take_the_place_of_the_old_ones() -> None:
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nrest\n"
    fresh = with_tables(page, "| new |", BEGIN, END)
    assert fresh == f"# Title\n\n{BEGIN}\n\n| new |\n\n{END}\n\nrest\n"
    assert with_tables(fresh, "| new |", BEGIN, END) == fresh


@pytest.mark.parametrize("page", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_page_without_its_markers_is_left_alone(page: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        with_tables(page, "| new |", BEGIN, END)
