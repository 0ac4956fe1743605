from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from benchmarks.city import units
from benchmarks.city.report import draw, markdown, read, write
from benchmarks.city.systems import Asked, Network
from benchmarks.city.units import ALWAYS, NAMES, OURS, RATES, SECONDLY, Measured
from benchmarks.city.world import GRAPH, background, continuous, graphs, of_one_road
from sensorstream.streams.event_lines import SECOND

SMALL = 300


def test_the_background_is_as_large_as_it_is_asked_to_be() -> None:
    triples = background(SMALL)
    assert SMALL <= len(triples) < SMALL + 30
    assert len(set(triples)) == len(triples)


def test_every_graph_has_fifteen_triples_and_the_weather_comes_once_a_second() -> None:
    found = list(islice(graphs(10), 30))
    assert {len(set(each.triples)) for each in found} == {GRAPH}
    assert [each.time for each in found[:3]] == [0, SECOND // 10, SECOND // 5]
    kinds = [each.triples[-1][0].rsplit("#")[-1].split("-")[1] for each in found]
    assert [kinds.count(kind) for kind in ("Temperature", "Humidity", "WindSpeed")] == [3, 3, 3]


@pytest.mark.parametrize("rate", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_network_and_oxigraph_have_the_same_result_at_every_graph(name: str, rate: int) -> None:
    triples = background(SMALL)
    network, asked = Network(triples, [continuous(name)]), Asked(triples, name, every=1)
    events = list(islice(graphs(rate), 6 * rate))
    sizes = []
    for mine, theirs in zip(network.prepared(events), asked.prepared(events), strict=True):
        network.push([mine])
        asked.fill([theirs])
        sizes.append((network.result(), asked.result()))
    assert all(one == other for one, other in sizes)
    assert sizes[-1][0] > 0


@pytest.mark.parametrize("average", [True, False])
def test_what_changes_with_a_graph_does_not_depend_on_the_window(average: bool) -> None:
    new = []
    for seconds in (1, 5):
        system = Network(background(SMALL), [of_one_road(seconds, average=average)])
        system.push(islice(graphs(2), 20))
        rows = system.rows
        system.push([list(islice(graphs(2), 21))[-1]])
        new.append(system.rows - rows)
    assert new == [1, 1]


def test_a_unit_measures_every_system_and_is_read_again(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(units, "background", lambda: background(SMALL))
    monkeypatch.setattr(units, "spare_what_stays", lambda: None)
    monkeypatch.setattr(units, "NUMBERS", (1, 3))
    results = {name: units.measured(name) for name in ("Q1-1", "half-equal-queries")}
    assert [each.system for each in results["Q1-1"]] == [OURS, SECONDLY, ALWAYS]
    # Both pairs of the newest two with the other road's three, and the pair of the newest.
    assert [each.rows for each in results["Q1-1"]] == [5, 9, 9]
    assert [(each.at, each.rows) for each in results["half-equal-queries"]] == [(1, 59), (3, 59)]
    write(results, folder / "city.json")
    assert read(folder / "city.json") == results
    assert "| Q1 | 1 | 5 |" in markdown(results)


def test_the_figure_is_drawn_once_all_rates_are_there(folder: Path) -> None:
    results = {
        f"{name}-{rate}": [Measured(name, s, rate, 1.0, 1, 1) for s in (OURS, SECONDLY, ALWAYS)]
        for name in NAMES
        for rate in RATES
    }
    draw(dict(list(results.items())[1:]), folder / "city.png")
    assert not (folder / "city.png").exists()
    draw(results, folder / "city.png")
    assert (folder / "city.png").stat().st_size > 1000
