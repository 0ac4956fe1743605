"""How fast the pipeline on Spark is: ``python -m benchmarks.spark_stream``.

Messages of the paper's scenario (section 5.2), from as many sources as there are keys, are put into
the journal batch by batch, of several sizes and numbers of keys. Each master is a run of its own.
Printed are the seconds of each kind of batch, by the clock and of CPU (by process: the driver's
Python, the JVMs, Spark's Python workers, the engines, PostgreSQL), and what one entry, one key and
one batch cost, by least squares. Before that, in this process: one engine without history, and that
of a server. Seconds of CPU tell more where a machine does other work.

``--keep`` puts the figures of the run into ``benchmarks/results/scale.json``, which the model of
``benchmarks.scale`` takes its constants from.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any, Final
from urllib.request import Request, urlopen

import numpy as np
import psutil

from benchmarks import ROOT
from benchmarks.scale import FILE
from benchmarks.server import serving
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.app.life.process_memory import collect_less, spare_what_stays
from sensorstream.app.life.recovery import Start, recover
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from sensorstream.history import embedded
from sensorstream.history.database import one_value, opened
from sensorstream.history.effects_writer import Standings, Writes
from sensorstream.history.store import PostgresStore
from sensorstream.installation import bundled
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings
from sensorstream.streaming.deadly_entries import DeadlyEntries
from sensorstream.streaming.engine_host import EngineHost
from sensorstream.streaming.journal_source import JournalReader
from sensorstream.streaming.keyed_engine import Controls, KeyedEngine
from sensorstream.streaming.spark_stream import running_stream
from sensorstream.streaming.worker_messages import Work

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE: Final = 200
PROFILES: Final = ("plain", "hermit", "pellet")
GROUP: Final = 5_000
PARTS: Final = ("driver", "scheduler", "JVM", "workers", "engines", "PostgreSQL")
_SCHEDULING: Final = ("dag-scheduler", "task-result", "dispatcher", "spark-listener")
_PATIENCE: Final = 600.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Batches that are alike: entries, keys, how many of them; ``new``: of keys not seen before."""

    entries: int
    keys: int
    times: int
    new: bool = False


WARM: Final = (Kind(1_000, 10, 1), Kind(10_000, 10, 2))
ONE: Final = Kind(1, 1, 10)
KINDS: Final = (
    Kind(10_000, 10, 3),
    ONE,
    Kind(1_000, 10, 4),
    Kind(1_000, 1_000, 1, new=True),
    Kind(1_000, 1_000, 3),
    Kind(10_000, 1_000, 1),
    Kind(10_000, 10, 2),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Batches of a kind: seconds of one by the clock (the best, and the median), and of CPU."""

    kind: Kind
    best: float
    median: float
    cpu: Mapping[str, float]
    warm: bool = True

    def __str__(self) -> str:
        cpu = sum(self.cpu.values())
        parts = ", ".join(f"{name} {each:.3f}" for name, each in self.cpu.items())
        kind = self.kind
        return (
            f"{kind.entries:6} entries of {kind.keys:5}{' new' if kind.new else ''} keys: "
            f"{self.best:.2f} s at best, median {self.median:.2f}, "
            f"{cpu / kind.entries * 1e3:.3f} ms of CPU an entry ({parts})"
        )


class Messages:
    """Entries in turn from each of some sources, numbered over all calls."""

    def __init__(self, people: int = PEOPLE) -> None:
        """``people`` are seen by each source."""
        self._people = people
        self._texts: dict[int, Iterator[bytes]] = {}
        self.last = 0

    def take(self, count: int, keys: int, first: int = 0) -> list[Record]:
        """The next entries, of the keys from ``first`` on."""
        found = []
        for place in range(count):
            key = first + place % keys
            if key not in self._texts:
                self._texts[key] = tracker_messages(seed=key, people=self._people)
            self.last += 1
            text = next(self._texts[key])
            message = Message(f"m{self.last}", text, self.last, f"camera-{key}")
            found.append(Record(self.last, message, NOW))
        return found


class Processes:
    """The seconds of CPU of all that this process has started, by part. Workers of Spark that have
    ended count as they were when they were last looked at: their parent does not wait for them.
    """

    def __init__(self, history: Path) -> None:
        """``history`` is the folder of PostgreSQL."""
        self._history = history
        self._known: dict[int, tuple[str, float]] = {}

    def spent(self) -> dict[str, float]:
        """The seconds since the start."""
        me = psutil.Process()
        for each in me.children(recursive=True):
            try:
                part, seconds = _part(each.cmdline()), _seconds(each)
                if part == "JVM":
                    tasks = _scheduling(each)
                    self._known[-each.pid] = "scheduler", tasks
                    seconds -= tasks
                self._known[each.pid] = part, seconds
            except psutil.Error:
                continue
        found = dict.fromkeys(PARTS, 0.0)
        for part, seconds in self._known.values():
            found[part] += seconds
        found["driver"] += sum(me.cpu_times()[:2])
        found["PostgreSQL"] = sum(map(_seconds, _postgres(self._history)))
        return found

    def memory(self) -> dict[str, float]:
        """Megabytes now, what processes share in equal parts."""
        me = psutil.Process()
        found = {"driver": me.memory_full_info().pss / 1e6}
        for each in me.children(recursive=True):
            with suppress(psutil.Error):
                part, size = _part(each.cmdline()), each.memory_full_info().pss / 1e6
                found[part] = found.get(part, 0.0) + size
        return found


def _scheduling(java: psutil.Process) -> float:
    """Seconds of the threads of Spark's driver that plan tasks and take their results."""
    total = 0.0
    for each in java.threads():
        with suppress(OSError):
            name = Path(f"/proc/{java.pid}/task/{each.id}/comm").read_text()
            if name.startswith(_SCHEDULING):
                total += each.user_time + each.system_time
    return total


def _part(words: Sequence[str]) -> str:
    if words and words[0].endswith("java"):
        return "JVM"
    if words and "postgres" in words[0]:
        return "PostgreSQL"
    return "engines" if "sensorstream.streaming.engine_host" in words else "workers"


def _seconds(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:4])
    except psutil.Error:
        return 0.0


def _postgres(folder: Path) -> list[psutil.Process]:
    number = int((folder / "cluster" / "postmaster.pid").read_text().split()[0])
    server = psutil.Process(number)
    return [server, *server.children(recursive=True)]


def deployment(folder: Path, profile: str = "plain") -> Settings:
    """The paper's deployment, with a window for each source."""
    settings = Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
        rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
    )
    return replace(
        settings,
        window=replace(settings.window, partition="source"),
        reasoning=replace(settings.reasoning, profile=profile),
    )


def bare(settings: Settings, entries: Sequence[Record]) -> float:
    """Seconds of CPU a message of one engine without history; half of them warm it."""
    machine = build_machine(read_deployment(settings), time.perf_counter)
    half = len(entries) // 2
    for each in entries[:half]:
        machine.engine.take(machine.mapper.map(each.message))
    begin = _with_children()
    for each in entries[half:]:
        machine.engine.take(machine.mapper.map(each.message))
    spent = _with_children() - begin
    machine.engine.close()
    return spent / (len(entries) - half)


def _with_children() -> float:
    me = psutil.Process()
    return sum(map(_seconds, (me, *me.children(recursive=True))))


def server(settings: Settings, url: str) -> float:
    """Seconds of CPU a message of a server's engine that processes what is in its journal."""
    parts = read_deployment(settings)
    machine = build_machine(parts, time.perf_counter)
    target = Exchange(machine.engine, machine.mapper, parts)
    with PostgresStore.open(url, settings.time.timeline) as store:
        spent = time.process_time()
        count = recover(target, store, Start(), lambda _: None, NOW)
        spent = time.process_time() - spent
    machine.engine.close()
    return spent / count


def spark(
    settings: Settings, url: str, processes: Processes, kinds: Sequence[Kind]
) -> Iterator[Measured]:
    """Batches of these kinds on one Spark; the first kind is its start."""
    there = Event()
    messages = Messages()

    def told(_: int, last: int) -> None:
        if last == messages.last:
            there.set()

    with ExitStack() as stack:
        # As a server would: the writer of effects is Spark's driver.
        store = PostgresStore.open(url, settings.time.timeline, Writes.JOURNAL)
        stack.callback(store.close)
        store.append(messages.take(kinds[0].entries, kinds[0].keys))
        known, spent, begin = 0, processes.spent(), time.perf_counter()
        running = stack.enter_context(running_stream(settings, url, told))
        for number, kind in enumerate(kinds):
            waited = []
            for _ in range(kind.times):
                if number:
                    entries = messages.take(kind.entries, kind.keys, known if kind.new else 0)
                    there.clear()
                    begin = time.perf_counter()
                    store.append(entries)
                while not there.wait(5):
                    running.wait(0.05)
                waited.append(time.perf_counter() - begin)
                known += kind.keys if kind.new else 0
            now = processes.spent()
            cpu = {each: (now[each] - spent[each]) / kind.times for each in now}
            found = Measured(kind, min(waited), sorted(waited)[len(waited) // 2], cpu, number > 1)
            print(f"  {found}", flush=True)
            yield found
            spent = processes.spent()


def fitted(found: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """Seconds of CPU of one entry, one key and one batch by part, and by the clock ("clock")."""
    ones = [each for each in found if not each.kind.new]
    sizes = np.array([[each.kind.entries, each.kind.keys, 1] for each in ones], float)
    parts = {part: [each.cpu[part] for each in ones] for part in ones[0].cpu}
    parts["clock"] = [each.best for each in ones]
    return {part: _least(sizes, np.array(values)) for part, values in parts.items()}


def _least(sizes: Any, values: Any) -> dict[str, float]:
    """Least squares of the relative errors, without a negative term."""
    names = ("entry", "key", "batch")
    kept = list(range(len(names)))
    while True:
        weights = 1 / np.maximum(values, 1e-3)
        found = np.linalg.lstsq(sizes[:, kept] * weights[:, None], values * weights, rcond=None)[0]
        if (found >= 0).all() or len(kept) == 1:
            break
        del kept[int(found.argmin())]
    told = dict.fromkeys(names, 0.0)
    return told | {names[place]: float(max(0, x)) for place, x in zip(kept, found, strict=True)}


def stages(settings: Settings, folder: Path) -> dict[str, dict[str, float]]:
    """Microseconds of CPU a message by stage, of this process and of PostgreSQL, without Spark;
    with those by the clock, and the bytes that the history grows by. The second of two batches of
    10,000 from ten keys counts.
    """
    messages = Messages()
    found: dict[str, dict[str, float]] = {}
    count = 10_000

    def measured(name: str, work: Callable[[], Any]) -> Any:
        gc.collect()
        before = time.process_time(), _database(folder), time.perf_counter()
        answer = work()
        after = time.process_time(), _database(folder), time.perf_counter()
        spent = [(b - a) / count * 1e6 for a, b in zip(before, after, strict=True)]
        found[name] = dict(zip(("own", "PostgreSQL", "clock"), spent, strict=True))
        return answer

    with embedded.start(folder) as database:
        url, line = database.url, settings.time.timeline
        host = EngineHost(read_deployment(settings), url)
        options = {"url": url, "key": "source", "prefixes": pickle.dumps({}).hex(), "depth": "100"}
        reader = JournalReader(options | {"batch": str(count), "parts": "1"})
        places: dict[str, Any] = {}
        with (
            PostgresStore.open(url, line, Writes.JOURNAL) as journal,
            PostgresStore.open(url, line, Writes.EFFECTS) as history,
        ):

            def turn(number: int) -> None:
                entries = messages.take(count, 10)
                groups = [entries[at : at + 500] for at in range(0, count, 500)]
                measured("journal", lambda: deque(map(journal.append, groups), 0))
                span = [{"seq": n * count, "controls": 0} for n in (number, number + 1)]
                parts = reader.partitions(*span)
                rows = measured("reader", lambda: [b for p in parts for b in reader.read(p)])
                chunks: dict[str, list[bytes]] = {}
                for each in rows:
                    for row in each.to_pylist():
                        chunks.setdefault(row["key"], []).append(row["entries"])
                works = [Work(key, places.get(key), 0, told) for key, told in chunks.items()]
                done = measured("engines", lambda: [host.work(each) for each in works])
                for work, each in zip(works, done, strict=True):
                    places[work.key] = each.place

                def sink() -> None:
                    effects = [part for each in done for part in pickle.loads(each.effects)]
                    standings = Standings(entries[-1].seq, [each.standing for each in done])
                    history.commit(merged(effects), standings)

                measured("sink", sink)

            turn(0)
            before = _size(url)
            turn(1)
            found["history"] = {"bytes": (_size(url) - before) / count}
        host.close()
    return found


def waits(folder: Path, count: int = 40) -> list[float]:
    """Seconds from the post of a message to the delivery of its alert, for one at a time: server
    and pipeline of a folder made by ``sensorstream init``, a receiver in this process.
    """
    came: Queue[float] = Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.put(time.perf_counter())
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    found = []
    with ExitStack() as stack:
        receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        stack.callback(receiver.shutdown)
        Thread(target=receiver.serve_forever, daemon=True).start()
        os.environ["SENSORSTREAM_PIPELINE_RUNNER"] = "spark"
        os.environ["SENSORSTREAM_WEBHOOKS_ALLOW"] = "127.0.0.0/8"
        deployed = stack.enter_context(serving(folder, ROOT))
        command = [sys.executable, "-m", "sensorstream", "stream", "--quiet", "-c"]
        pipeline = subprocess.Popen([*command, str(folder / "sensorstream.toml")])
        stack.callback(pipeline.wait)
        stack.callback(pipeline.terminate)
        hook = {"url": f"http://127.0.0.1:{receiver.server_port}/"}
        _post(f"{deployed.url}/webhooks", json.dumps(hook).encode(), "application/json")
        for number in range(count + 5):
            # Nobody has seen this face, and its certainty is low: an alert.
            text = PAPER_MESSAGE.replace(b"2678", b"%d" % (number + 1)).replace(b"'100'", b"'40'")
            begin = time.perf_counter()
            _post(f"{deployed.url}/messages", text, "application/xml")
            found.append(came.get(timeout=_PATIENCE) - begin)
            time.sleep(0.7 + 0.1 * (number % 5))
            while not came.empty():
                came.get()
    return found[5:]


def door(folder: Path) -> float:
    """Seconds of CPU a message of a server that writes batches of 500 to the journal for Spark."""
    os.environ["SENSORSTREAM_PIPELINE_RUNNER"] = "spark"
    texts = tracker_messages()
    with serving(folder, ROOT) as deployed:
        for turn in range(12):
            if turn == 2:
                begin = _with_children() - time.process_time()
            body = json.dumps([next(texts).decode() for _ in range(500)]).encode()
            _post(f"{deployed.url}/messages/batch", body, "application/json")
        return (_with_children() - time.process_time() - begin) / 5_000


def _post(url: str, body: bytes, kind: str) -> None:
    with urlopen(Request(url, body, {"Content-Type": kind})):
        """It is taken."""


def _size(url: str) -> int:
    with opened(url, "the size of the history", application="benchmark") as cursor:
        return int(one_value(cursor, "select pg_database_size(current_database())"))


def _database(folder: Path) -> float:
    return sum(map(_seconds, _postgres(folder)))


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--masters", nargs="*", default=["local[1]", "local[2]"])
    parser.add_argument("--engines", action="store_true", help="also what runs without Spark")
    parser.add_argument("--waits", action="store_true", help="also the time to a webhook")
    parser.add_argument("--keys", type=int, default=0, help="memory for so many keys instead")
    parser.add_argument("--short", action="store_true", help="only batches of one entry")
    parser.add_argument("--keep", action="store_true", help="keep the figures")
    options = parser.parse_args(arguments)
    # As a server does.
    collect_less()
    kept: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    with tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as name:
        folder = Path(name)
        if options.engines:
            # First, while no freed memory is used again.
            kept |= {"sizes": sizes(folder), "engines": engines(folder)}
            kept |= {"stages": stages(deployment(folder), folder / "stages")}
            kept |= {"door": door(folder / "door") * 1e6}
            kept |= {"load": os.getloadavg()[0], "cores": os.cpu_count()}
            names = ("engines", "stages", "sizes", "door")
            print(json.dumps({each: kept[each] for each in names}, indent=1))
        if options.waits:
            found = sorted(waits(folder / "waits"))
            kept["waits"] = {"median": found[len(found) // 2], "p90": found[len(found) * 9 // 10]}
            print(f"from a post to its webhook, seconds: {kept['waits']}")
        for number, master in enumerate(options.masters):
            print(f"{master}, load {os.getloadavg()[0]:.1f}", flush=True)
            settings = deployment(folder)
            settings = replace(
                settings,
                spark=replace(settings.spark, master=master),
                pipeline=replace(settings.pipeline, folder=folder / f"p{number}", batch=20_000),
            )
            kinds: tuple[Kind, ...] = (*WARM, *KINDS)
            if options.keys:
                kinds = (WARM[0], Kind(20_000, 2_000, options.keys // 2_000, new=True))
            elif options.short:
                kinds = (*WARM[:1], ONE, ONE)
            with embedded.start(folder / f"h{number}") as database:
                processes = Processes(folder / f"h{number}")
                batches = []
                for each in spark(settings, database.url, processes, kinds):
                    batches.append(each)
                    memory = processes.memory()
            called = f"{options.keys} keys" if options.keys else master
            called += " short" * options.short
            told: dict[str, Any] = {"batches": [asdict(each) for each in batches]}
            kept[called] = told | {"memory": memory}
            print(f"  MB: {memory}")
            if kinds[1:] == (*WARM[1:], *KINDS):
                told["costs"] = costs = fitted(batches[len(WARM) :])
                for part, cost in costs.items():
                    line = ", ".join(f"a {each} {s * 1e3:.3f} ms" for each, s in cost.items())
                    print(f"  {part:10} {line}")
                kept[called] |= told
    if options.keep:
        FILE.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


def sizes(folder: Path, keys: int = 500, people: int = 10) -> dict[str, float]:
    """Bytes of the engine of a key, empty and for each individual; of an individual in a window of
    one engine for all; of one in a checkpoint.
    """
    parts = read_deployment(deployment(folder))
    spare_what_stays()
    own = [Messages(people).take(people * 5 // 2, 1) for _ in range(keys)]
    shared = Messages(keys * people).take(keys * people * 5 // 2, 1)
    deadly = DeadlyEntries()
    KeyedEngine(parts, time.perf_counter, 1, "", deadly).take(own[0], Controls(""), 0)
    before = _memory()
    engines = [KeyedEngine(parts, time.perf_counter, 1, "", deadly) for _ in own]
    empty = _memory()
    controls = Controls("")
    for each, entries in zip(engines, own, strict=True):
        each.take(entries, controls, 0)
    full = _memory()
    machine = build_machine(parts, time.perf_counter)
    for entry in shared:
        machine.engine.take(machine.mapper.map(entry.message))
    count = sum(each.standing(()).individuals for each in engines)
    return {
        "empty": (empty - before) / keys,
        "individual": (full - empty) / count,
        "window": (_memory() - full) / len(machine.engine.window),
        "checkpoint": len(engines[0].checkpoint()) * keys / count,
    }


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_full_info().uss)


def engines(folder: Path) -> dict[str, float]:
    """Microseconds of CPU a message of one engine: without history by profile; of a server, and of
    PostgreSQL there.
    """
    entries = Messages().take(20_000, 10)
    found = {each: bare(deployment(folder, each), entries) * 1e6 for each in PROFILES}
    parts, spent = read_deployment(deployment(folder)), time.process_time()
    for _ in range(200):
        KeyedEngine(parts, time.perf_counter, 1, "").close()
    found["create"] = (time.process_time() - spent) / 200 * 1e6
    with embedded.start(folder / "server") as database:
        settings = deployment(folder)
        with PostgresStore.open(database.url, settings.time.timeline, Writes.JOURNAL) as store:
            for start in range(0, len(entries), GROUP):
                store.append(entries[start : start + GROUP])
        begun = _database(folder / "server")
        found["server"] = server(settings, database.url) * 1e6
        found["server PostgreSQL"] = (_database(folder / "server") - begun) / len(entries) * 1e6
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
