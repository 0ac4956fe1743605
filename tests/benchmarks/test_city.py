from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.city.systems import Asked, Network
from benchmarks.city.world import GRAPH, background, continuous, graphs
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
@pytest.mark.parametrize("name", ["Q1", "Q2"])
def test_network_and_oxigraph_have_the_same_result_at_every_graph(name: str, rate: int) -> None:
    triples = background(SMALL)
    network, asked = Network(triples, [continuous(name)]), Asked(triples, name, every=1)
    events = list(islice(graphs(rate), 6 * rate))
    sizes = []
    for mine, theirs in zip(events, asked.prepared(events), strict=True):
        network.push([mine])
        asked.fill([theirs])
        sizes.append((network.result(), asked.result()))
    assert all(one == other for one, other in sizes)
    assert sizes[-1][0] > 0
