"""The model of a cluster: what must hold whatever its constants are."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.scale import FILE, Cluster, Constants, Pipeline, tables

CONSTANTS = Constants()
FREE = replace(CONSTANTS, task=0.0)
"""Those of a driver that plans any number of tasks in no time."""


@pytest.mark.parametrize("skew", [0.0, 0.8, 1.2])
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 3.0])
def test_what_waits_grows_if_and_only_if_more_comes_than_is_stored(
    skew: float, factor: float
) -> None:
    pipeline = Pipeline(Cluster(slots=4, keys=2_000, skew=skew), CONSTANTS)
    capacity, _ = pipeline.capacity()
    load = capacity * factor
    short, long = (pipeline.run(load, seconds) for seconds in (200, 800))
    for run in (short, long):
        assert 0 <= run.stored <= run.arrived
        assert run.stored <= capacity * run.seconds + pipeline.cluster.most
        assert run.arrived == pytest.approx(load * run.seconds, rel=0.02)
    grown = (long.lag - short.lag) / (long.seconds - short.seconds)
    assert grown == pytest.approx(max(0.0, load - capacity), rel=0.05, abs=capacity * 0.02)


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_more_cores_are_never_slower_where_planning_costs_nothing(skew: float) -> None:
    rates = [Pipeline(Cluster(slots=2**power, skew=skew), FREE).capacity() for power in range(12)]
    for (fewer, full), (more, _) in pairwise(rates):
        assert more >= fewer * 0.999
        if more < fewer * 1.05:
            assert full in {"sink", "hot key", "keys", "batch", "door"}


@pytest.mark.parametrize("slots", [1, 8, 1_000])
@pytest.mark.parametrize("skew", [0.0, 1.0, 1.5])
def test_no_cluster_is_faster_than_the_engine_of_its_busiest_key(slots: int, skew: float) -> None:
    cluster = Cluster(slots=slots, keys=1_000, skew=skew)
    busiest = 1 / sum(rank**-skew for rank in range(1, cluster.keys + 1))
    assert Pipeline(cluster, FREE).capacity()[0] <= 1 / (busiest * FREE.engine)


def test_each_resource_can_be_the_one_that_is_full() -> None:
    found = {
        Pipeline(cluster, constants).capacity()[1]
        for cluster, constants in (
            (Cluster(slots=1, keys=100), CONSTANTS),
            (Cluster(slots=64, keys=100), CONSTANTS),
            (Cluster(slots=64, skew=2.0), CONSTANTS),
            (Cluster(slots=4_000), CONSTANTS),
            (Cluster(slots=2, keys=100_000), CONSTANTS),
            (Cluster(slots=64), replace(CONSTANTS, door=1e-3, driver=0, database=0)),
        )
    }
    assert found == {"engines", "sink", "hot key", "batch", "woken engines", "door"}


def test_the_trigger_and_stages_make_batches_longer() -> None:
    one, _ = Pipeline(Cluster(), CONSTANTS).capacity()
    assert Pipeline(Cluster(stages=2), CONSTANTS).capacity()[0] < one
    assert Pipeline(Cluster(trigger=60.0), CONSTANTS).capacity()[0] == Cluster().most / 60


def test_the_tables_are_made_of_what_was_measured() -> None:
    told = json.loads(FILE.read_text())
    names = [name for name, rows in tables(told, Constants.read(told)) if len(rows) > 1]
    assert names == ["constants", "check", "one deployment", "keys", "loads"]
