"""What a cluster would do: ``python -m benchmarks.scale`` writes the tables of its page.

A model of the pipeline on Spark. Its constants are seconds of CPU and bytes that
``benchmarks.spark_stream`` has measured. A batch is planned, its entries are read, each key's
engine works on its own, and one connection stores all:

    time = batch + tasks + entries x reader / tasks + max over partitions of
           (entries x engine + keys x key + woken engines) + entries x sink

Keys are put on partitions at random, and their shares of the messages follow Zipf's law. While a
batch runs, messages wait for the next one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.publish import with_tables

FILE: Final = Path(__file__).parent / "results" / "scale.json"
PAGE: Final = Path(__file__).parent.parent / "docs" / "understand" / "scale.md"
PRICE: Final = 0.04 * 730
"""Assumed: a month of a core, with 4 GB of memory, disk and network."""
_BASE: Final = "local[2]"
_MOST_STATEMENTS: Final = 500_000
"""Statements that the engines of a partition hold awake, see :mod:`.engine_host`."""
_KEPT: Final = 50
"""Entries since the checkpoint of an engine, on average."""
_WOKEN: Final = 3
"""What it takes to wake an engine and to lay another one down, in engines made anew."""


def _of(value: float, unit: str, what: str) -> Any:
    return field(default=value, metadata={"unit": unit, "what": what})


@dataclass(frozen=True, slots=True)
class Constants:
    """Seconds of CPU, and bytes; the fields' metadata say of what."""

    door: float = _of(66e-6, "µs a message", "server: HTTP in batches of 500, check, journal")
    journal: float = _of(6e-6, "µs a message", "PostgreSQL: to append and to read it")
    reader: float = _of(30e-6, "µs a message", "Spark: to read it, and bring it to its engine")
    engine: float = _of(280e-6, "µs a message", "engine: mapping, window, rules, effects")
    driver: float = _of(60e-6, "µs a message", "driver: to put the effects into rows")
    database: float = _of(80e-6, "µs a message", "PostgreSQL: to store them")
    key: float = _of(1.1e-3, "ms a key and batch", "Spark: to read and write its state")
    create: float = _of(1.2e-3, "ms a key", "to make its engine")
    batch: float = _of(0.3, "ms a batch", "Spark: planning, logs, state (by the clock)")
    task: float = _of(4e-3, "ms a task", "Spark's driver: to plan it and take its result")
    empty: float = _of(137e3, "kB a key", "memory: an engine with an empty window")
    individual: float = _of(10e3, "kB an individual", "memory: six statements in a key's engine")
    window: float = _of(8e3, "kB an individual", "memory: the same in one engine for all keys")
    checkpoint: float = _of(380.0, "bytes an individual", "Spark's state: in a checkpoint")
    kept: float = _of(340.0, "bytes a message", "Spark's state: since the checkpoint")
    effects: float = _of(600.0, "bytes a message", "network: effects on their way to the driver")
    disk: float = _of(1_500.0, "bytes a message", "history with its journal, on disk")

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Constants:
        """Those that were measured."""
        costs, stages, cpu = told[_BASE]["costs"], told["stages"], told["engines"]
        few, many = (
            told[f"local[{cores}] short"]["batches"][-1]["cpu"]["scheduler"] for cores in (2, 16)
        )
        return cls(
            door=told["door"] * 1e-6,
            journal=sum(stages[each]["PostgreSQL"] for each in ("journal", "reader")) * 1e-6,
            reader=sum(costs[part]["entry"] for part in ("scheduler", "JVM", "workers")),
            engine=costs["engines"]["entry"],
            driver=costs["driver"]["entry"],
            database=stages["sink"]["PostgreSQL"] * 1e-6,
            key=sum(part["key"] for name, part in costs.items() if name != "clock"),
            create=cpu["create"] * 1e-6,
            batch=costs["clock"]["batch"],
            task=max(0.0, many - few) / 14,
            disk=stages["history"]["bytes"],
            **told["sizes"],
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cores for tasks of one deployment, and what they have to do.

    It has one driver, one server and one PostgreSQL. ``skew`` is the exponent of Zipf's law; 0: all
    keys are alike. ``most`` are the entries of a batch, ``trigger`` the least seconds between two.
    Each of the ``stages`` has engines of its own.
    """

    slots: int = 6
    keys: int = 5_000
    individuals: int = 10
    statements: int = 183
    skew: float = 0.0
    most: int = 20_000
    trigger: float = 0.0
    stages: int = 1
    network: float = 1.25e9
    seed: int = 1


@dataclass(slots=True)
class Run:
    """What a run has shown."""

    arrived: int = 0
    stored: int = 0
    seconds: float = 0.0

    @property
    def lag(self) -> int:
        """Messages that wait."""
        return self.arrived - self.stored


class Pipeline:
    """A deployment: its keys on its partitions."""

    def __init__(self, cluster: Cluster, constants: Constants) -> None:
        self.cluster, self.constants = cluster, constants
        self._dice = np.random.default_rng(cluster.seed)
        shares = np.arange(1, cluster.keys + 1, dtype=float) ** -cluster.skew
        self._shares = shares / shares.sum()
        self._place = (self._dice.random(cluster.keys) * cluster.slots).astype(int)
        self._loads = self._by_place(self._shares)
        here = np.maximum(1, self._by_place(np.ones(cluster.keys)))
        self._missing = np.maximum(0, 1 - _MOST_STATEMENTS / cluster.statements / here)

    def _by_place(self, values: Any) -> Any:
        return np.bincount(self._place, values, self.cluster.slots)

    def phases(self, entries: int) -> dict[str, float]:
        """Seconds of a batch by phase."""
        c, it = self.constants, self.cluster
        keys = self._by_place(1 - np.exp(-entries * self._shares))
        woken = keys * self._missing * _WOKEN * c.create
        messages = entries * self._loads * c.engine
        parts = {"engines": messages, "keys": keys * c.key, "woken engines": woken}
        slowest = int(sum(parts.values()).argmax())
        found = {name: float(part[slowest]) * it.stages for name, part in parts.items()}
        if self._shares[0] > 0.5 * self._loads[slowest] and it.slots > 1:
            found["hot key"] = found.pop("engines")
        readers = min(it.slots, max(1, entries // 500))
        return found | {
            "batch": c.batch * it.stages + (it.slots + readers) * it.stages * c.task,
            "reader": entries * c.reader * it.stages / readers,
            "sink": entries * (c.driver + c.database),
            "network": entries * c.effects / it.network,
        }

    def capacity(self) -> tuple[float, str]:
        """Messages a second at most, and what is full first."""
        phases, most = self.phases(self.cluster.most), self.cluster.most
        rate = most / max(sum(phases.values()), self.cluster.trigger)
        door = 1 / self.constants.door
        return (door, "door") if door < rate else (rate, max(phases, key=phases.__getitem__))

    def run(self, load: float, seconds: float) -> Run:
        """Messages that come at random, ``load`` a second, and the batches that store them."""
        found = Run()
        load = min(load, 1 / self.constants.door)
        while found.seconds < seconds:
            entries = min(found.lag, self.cluster.most)
            took = sum(self.phases(entries).values()) if entries else 0.1
            took = max(took, self.cluster.trigger)
            found.arrived += int(self._dice.poisson(load * took))
            found.stored += entries
            found.seconds += took
        return found

    def sizes(self) -> tuple[float, float]:
        """Bytes of the engines in memory, and of Spark's state on disk."""
        c, it = self.constants, self.cluster
        held = min(it.keys, it.slots * (_MOST_STATEMENTS // it.statements)) * it.stages
        state = it.individuals * c.checkpoint + _KEPT * c.kept
        awake, asleep = c.empty + it.individuals * c.individual, it.individuals * c.checkpoint
        sleepers = it.keys * it.stages - held
        return held * awake + sleepers * asleep, it.keys * it.stages * state


def tables(told: Mapping[str, Any], constants: Constants) -> Iterator[tuple[str, list[Any]]]:
    """The tables by name: the heads, and the rows."""
    factors = {"µs": 1e6, "ms": 1e3, "kB": 1e-3, "bytes": 1.0}
    rows: list[Any] = [("where, and what", "seconds of CPU, or bytes", "")]
    for one in fields(constants):
        unit, _, per = one.metadata["unit"].partition(" ")
        value = getattr(constants, one.name) * factors[unit]
        rows.append((one.metadata["what"], f"{value:,.{1 if value < 10 else 0}f} {unit}", per))
    yield "constants", rows

    rows = ["cores | entries | keys | s, model | s, here | messages/s, model | here | error"]
    for cores in (1, 2):
        best: dict[tuple[int, int], float] = {}
        for each in told[f"local[{cores}]"]["batches"]:
            kind = each["kind"]["entries"], each["kind"]["keys"]
            if each["warm"] and not each["kind"]["new"]:
                best[kind] = min(each["best"], best.get(kind, math.inf))
        for (entries, keys), here in best.items():
            model = sum(Pipeline(Cluster(cores, keys), constants).phases(entries).values())
            rates = f"{entries / model:,.0f}", f"{entries / here:,.0f}"
            error = f"{model / here - 1:+.0%}"
            sizes = cores, f"{entries:,}", f"{keys:,}"
            rows.append((*sizes, f"{model:.2f}", f"{here:.2f}", *rates, error))
    yield "check", rows

    rows = ["cores for tasks | messages/s | s a batch | full first | Zipf: messages/s | full first"]
    for slots in (1, 2, 4, 8, 16, 80, 800, 8_000):
        alike, skewed = (Pipeline(Cluster(slots, skew=x), constants).capacity() for x in (0, 1))
        each = f"{alike[0]:,.0f}", f"{Cluster().most / alike[0]:.1f}", alike[1]
        rows.append((f"{slots:,}", *each, f"{skewed[0]:,.0f}", skewed[1]))
    yield "one deployment", rows

    rows = ["keys | messages/s | full first | engines, GB | state, GB"]
    for keys in (100, 1_000, 10_000, 20_000, 50_000, 100_000):
        pipeline = Pipeline(Cluster(keys=keys), constants)
        rate, full = pipeline.capacity()
        memory, state = (f"{each / 1e9:.1f}" for each in pipeline.sizes())
        rows.append((f"{keys:,}", f"{rate:,.0f}", full, memory, state))
    yield "keys", rows

    rows = ["messages/s | deployments | cores | s a batch | engines, GB | state, GB | a month"]
    for load in (100_000, 1_000_000, 10_000_000):
        pipeline = Pipeline(Cluster(), constants)
        count = math.ceil(load * 4 / 3 / pipeline.capacity()[0])
        wait = pipeline.run(load / count, 300).lag / (load / count)
        memory, state = (f"{each * count / 1e9:,.0f}" for each in pipeline.sizes())
        found = f"{load:,}", f"{count:,}", f"{count * 8:,}", f"{wait:.1f}", memory, state
        rows.append((*found, f"{count * 8 * PRICE:,.0f}"))
    yield "loads", rows


def main() -> None:
    """Write the tables into the page."""
    told = json.loads(FILE.read_text())
    page = PAGE.read_text()
    for name, rows in tables(told, Constants.read(told)):
        lines = (row if isinstance(row, str) else " | ".join(map(str, row)) for row in rows)
        head, *rest = (f"| {line} |" for line in lines)
        table = "\n".join((head, "|---" * (head.count("|") - 1) + "|", *rest))
        page = with_tables(page, table, f"<!-- begin: {name} -->", f"<!-- end: {name} -->")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
