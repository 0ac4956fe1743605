"""Kills at random points of a cluster, and then a comparison with one engine that nobody kills.

``python -m tests.streaming.cluster_kills --rounds 10`` starts a standalone master of Spark, two
workers, a server and a pipeline, and kills each kind of process that often while messages come.
With ``--local`` the master is ``local-cluster[2,1,1024]``, whose workers are within the driver.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

import httpx
import psutil
import psycopg2
import pyspark

from sensorstream.app.control.wiring import read_deployment
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.open_history import open_history
from sensorstream.settings.settings import HistorySettings, Settings
from sensorstream.spark.launch import java_home
from tests.databases import execute
from tests.inputs.mqtt_brokers import free_port
from tests.streaming.conftest import seen, write_deployment
from tests.streaming.stand_in import of_one_engine, write
from tests.streaming.test_spark_stream import RELATIONS, check_same
from tests.waiting import command_of

CAMERAS: Final = ("north", "south", "east", "west")
SPARK: Final = Path(pyspark.__file__).parent
LOCAL: Final = "local-cluster[2,1,1024]"
PATIENCE: Final = 600.0


class Cluster:
    """The processes, each started again when it has ended."""

    def __init__(self, folder: Path, settings: Settings, master: str, port: int) -> None:
        self._folder = folder
        home = java_home(folder / "java")
        java = {"JAVA_HOME": str(home), "PYTHONWARNINGS": "ignore"}
        java |= {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
        self._environment = os.environ | java
        config = ("-c", str(settings.path))
        spark = (str(SPARK / "bin" / "spark-class"),)
        deploy = "org.apache.spark.deploy"
        own = (sys.executable, "-m", "sensorstream")
        self._commands: dict[str, tuple[str, ...]] = {
            "server": (*own, "serve", *config, "--port", str(port)),
            "driver": (*own, "stream", *config, "--quiet"),
        }
        if master != LOCAL:
            _, host, number = master.replace("//", "").split(":")
            at = ("--host", host)
            self._commands["master"] = (*spark, f"{deploy}.master.Master", *at, "--port", number)
            for each in ("worker 1", "worker 2"):
                work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"))
                self._commands[each] = (*spark, f"{deploy}.worker.Worker", *at, *work, master)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.ended: Counter[str] = Counter()

    def keep(self) -> None:
        """Start what does not run."""
        for name, command in self._commands.items():
            found = self._running.get(name)
            if found is not None and found.poll() is None:
                continue
            if found is not None and found.returncode not in (0, -signal.SIGKILL):
                self.ended[name] += 1
            with (self._folder / f"{name.replace(' ', '-')}.log").open("ab") as log:
                self._running[name] = subprocess.Popen(
                    command, stdout=log, stderr=log, env=self._environment, start_new_session=True
                )

    def kill(self, kind: str, dice: random.Random) -> bool:
        """Kill a process of a kind; False: there is none at the moment."""
        if kind == "postgres":
            file = self._folder / "data" / "cluster" / "postmaster.pid"
            with suppress(OSError, IndexError, ValueError):
                os.kill(int(file.read_text().split()[0]), signal.SIGKILL)
                return True
            return False
        if kind == "executor":
            found = [
                each
                for name, parent in self._running.items()
                if parent.poll() is None and name not in ("master", "server")
                for each in psutil.Process(parent.pid).children(recursive=True)
                if "CoarseGrainedExecutorBackend" in " ".join(command_of(each))
            ]
            if found:
                with suppress(psutil.NoSuchProcess):
                    dice.choice(found).kill()
            return bool(found)
        name = kind if kind in self._running else f"{kind} {dice.randint(1, 2)}"
        if self._running[name].poll() is not None:
            return False
        # A driver's JVM notices by itself, as on a machine whose memory ran out.
        self._running[name].kill()
        self._running[name].wait()
        return True

    def close(self) -> None:
        for each in reversed(self._running.values()):
            each.terminate()
        for each in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                each.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)


KINDS: Final = ("executor", "worker", "driver", "server", "postgres")


@contextmanager
def sending(port: int, dice: random.Random) -> Iterator[Callable[[], int]]:
    """Messages of four cameras, each sent again with its key until it is acknowledged."""
    end = Event()
    count = 0

    def send() -> None:
        nonlocal count
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            while not end.is_set():
                camera = dice.choice(CAMERAS)
                people = [(dice.randrange(9), dice.randrange(101)) for _ in range(2)]
                content = seen(camera, count + 1, *people)
                head = {"Content-Type": "application/xml", "Idempotency-Key": f"key-{count}"}
                while True:
                    with suppress(httpx.HTTPError):
                        answer = client.post(
                            f"/messages?source={camera}", content=content, headers=head
                        )
                        if answer.status_code < 300:
                            break
                    time.sleep(0.2)
                count += 1
                time.sleep(0.05)

    thread = Thread(target=send)
    thread.start()
    try:
        yield lambda: count
    finally:
        end.set()
        thread.join()


def watermark(url: str) -> tuple[int, int]:
    """The last entry whose effects are stored, and the journal's last; zeros while it is away."""
    query = "select (select watermark from store.progress), (select max(seq) from store.messages)"
    try:
        with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            stored, last = cursor.fetchone() or (0, 0)
            return stored or 0, last or 0
    except psycopg2.Error:
        return 0, 0


def _is_after(url: str, entry: int) -> bool:
    return watermark(url)[0] > entry


def wait(cluster: Cluster, condition: Callable[[], object], what: str) -> None:
    """Keep the processes up until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        cluster.keep()
        time.sleep(0.5)


def endure(folder: Path, rounds: int, seed: int, *, local: bool) -> Counter[str]:
    """Run it; the number of kills of each kind, of restarts, and of messages."""
    dice = random.Random(seed)
    master, port = LOCAL if local else f"spark://127.0.0.1:{free_port()}", free_port()
    settings = write_deployment(
        folder,
        f'[history]\nfolder = "{folder / "data"}"\ncheckpoint_every = 50\n'
        f'[spark]\nmaster = "{master}"\n'
        '[spark.conf]\n"spark.executor.memory" = "512m"\n'
        f'[pipeline]\nrunner = "spark"\nfolder = "{folder / "state"}"\n',
    )
    kinds = [each for each in KINDS for _ in range(rounds) if not (local and each == "worker")]
    dice.shuffle(kinds)
    counted: Counter[str] = Counter()
    with ExitStack() as stack:
        cluster = Cluster(folder, settings, master, port)
        stack.callback(cluster.close)
        cluster.keep()
        time.sleep(5)
        url = open_history(settings.history, stack)
        with sending(port, dice) as count:
            wait(cluster, lambda: watermark(url)[0], "the first batch")
            before = 1
            for number, kind in enumerate(kinds):
                time.sleep(dice.uniform(0, 6))
                wait(cluster, partial(cluster.kill, kind, dice), f"a process: {kind}")
                counted[kind] += 1
                print(f"{number + 1}/{len(kinds)} {kind}: {watermark(url)}", flush=True)
                if number % 3 == 2:
                    wait(cluster, partial(_is_after, url, before), "a batch")
                before = max(before, watermark(url)[0])
                cluster.keep()
        wait(cluster, lambda: len(set(watermark(url))) == 1 and watermark(url)[0], "the end")
        counted["messages"] = count()
        counted |= {f"{name} ended by itself": n for name, n in cluster.ended.items()}
        compare(settings, url, stack, counted["messages"])
    return counted


def compare(settings: Settings, url: str, stack: ExitStack, count: int) -> None:
    """Compare the history with what one engine says of the same journal."""
    records = [replace(record_of(row), status=None) for row in journal_rows(url, 0)]
    messages = [each for each in records if each.kind == "message"]
    assert len(messages) == count, "each message is in the journal once"
    deployment = read_deployment(settings)
    other = HistorySettings(folder=settings.history.folder.parent / "expected")
    expected = open_history(other, stack)
    write(expected, records, of_one_engine(deployment, records))
    check_same(url, expected, deployment.ontology.schema, *RELATIONS)
    assert execute(url, "select count(*) = count(distinct id) from store.alerts") == [(True,)]


def main() -> int:
    """Run it in a folder of its own."""
    parser = argparse.ArgumentParser(prog="cluster_kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="kills of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--local", action="store_true", help=f"a master of {LOCAL}")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="sensorstream-cluster-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            counted = endure(folder, options.rounds, options.seed, local=options.local)
        except BaseException:
            for log in folder.glob("*.log"):
                print(f"{log.name} ends with:\n{log.read_text(errors='replace')[-3000:]}")
            raise
    for what, number in counted.items():
        print(f"{what:28}{number:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
