"""The pipeline on Spark: one query of Structured Streaming from the journal to the history."""

from __future__ import annotations

import json
import os
import pickle
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from sensorstream.app.control.rule_files import key_prefixes
from sensorstream.app.control.wiring import runner_of, version_of
from sensorstream.errors import HistoryError, SettingsError, SparkError
from sensorstream.history.database import engine as database_engine
from sensorstream.history.effects_writer import Standings, Writes, claim
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.installation import require
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.records import Effects
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.schema import Schema
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.settings import Settings
from sensorstream.spark.launch import STREAM_SETTINGS, spark_session
from sensorstream.streaming.batch_figures import BatchFigures
from sensorstream.streaming.engine_host import deployment_of
from sensorstream.streaming.host_client import start_hosts
from sensorstream.streaming.key_routing import key_reader
from sensorstream.streaming.worker_messages import HostTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


class HistorySink:
    """The writer of each batch; runs in the driver.

    A batch is all entries between two numbers, over all keys, so the watermark of the history tells
    whether it is stored: Spark repeats the last batch after a crash, and then nothing is written. A
    batch that begins below the watermark is stored in part already, by the server in another mode
    or by a pipeline whose folder was deleted: the rest of it is written.
    """

    def __init__(
        self, store: PostgresStore, told: Callable[[int, int], None], figures: BatchFigures
    ) -> None:
        """``told`` gets the number of entries of each batch, and its last entry."""
        self._store = store
        self._told = told
        self._figures = figures

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch; called by Spark for each.

        Raises:
            HistoryError: nothing was written.
        """
        began = monotonic()
        table = frame.toArrow()
        worked = monotonic()
        told = [pickle.loads(content) for content in table.column("effects").to_pylist()]
        parts: list[Effects] = [each for of_key in told for each in of_key]
        entries = sum(len(each.statuses) for each in parts)
        stored = self._store.watermark()
        if not parts:
            return
        last = max(each.watermark for each in parts)
        changed = [pickle.loads(each) for each in table.column("standing").to_pylist()]
        standings = Standings(last, changed)
        new = [each for each in parts if each.watermark > stored]
        if new:
            self._store.commit(merged(new), standings)
        else:
            self._store.place(standings)
        loads = {
            one.key: sum(len(each.statuses) for each in of_key)
            for one, of_key in zip(changed, told, strict=True)
        }
        seconds = {"engines": worked - began, "store": monotonic() - worked}
        self._figures.stored(batch, loads, seconds)
        self._told(entries, last)


_CONFIGURATION: Final[Mapping[str, str]] = {
    **STREAM_SETTINGS,
    "spark.python.daemon.module": "sensorstream.streaming.worker_daemon",
    # Until the next look at a journal without news; Spark's own 10 ms cost a fifth of a core.
    "spark.sql.streaming.pollingDelay": "100ms",
}
_ATTEMPTS: Final = 4
"""How often a task is tried whose Python worker has ended; Spark's own number on a cluster."""
_MARK: Final = "sensorstream.json"
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunningStream:
    """A pipeline that runs."""

    store: PostgresStore
    query: StreamingQuery
    figures: BatchFigures

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, and store the figures of the last batch; False if it runs after
        so many seconds.

        Raises:
            SparkError: it has failed.
            HistoryError: the history cannot be reached.
        """
        from pyspark.errors import PySparkException

        try:
            ended = bool(self.query.awaitTermination(seconds))
            self.figures.tell(self.query)
            return ended
        except PySparkException as error:
            raise SparkError(f"the pipeline failed: {_cause(str(error))}") from error


@contextmanager
def running_stream(settings: Settings, url: str, told: Told) -> Iterator[RunningStream]:
    """Start Spark and the pipeline, over the history at ``url``; it ends with the block.

    Args:
        settings: those of the deployment; every executor must find its files in the same places.
        url: every executor must reach it.
        told: gets the number of entries of each batch that is stored, and its last entry.

    Raises:
        SettingsError, LanguageError, OntologyError: the deployment is not valid; or
            ``pipeline.folder`` was made with another key.
        HistoryError: the history cannot be used, or another process writes to it.
        SparkError: Spark does not start.
        MissingExtra: the extra "spark" is not installed.
    """
    require("spark", "the pipeline on Spark")
    with ExitStack() as stack:
        store = PostgresStore.open(url, settings.time.timeline, Writes.EFFECTS)
        stack.callback(store.close)
        task = _task(settings, url, store)
        deployment = deployment_of(task)
        on_spark = replace(settings, pipeline=replace(settings.pipeline, runner="spark"))
        claim(url, runner_of(on_spark))
        if task.ontology is None:
            version = version_of(deployment, store.watermark(), store.last_moment())
            store.record_ontology(version)
        prefixes = key_prefixes(settings, deployment.texts)
        key_reader(settings.pipeline.key, prefixes, settings.server.max_depth)
        check_folder(settings, store)
        sockets = stack.enter_context(own_folder("sensorstream-stream-"))
        if settings.spark.master.startswith("local"):
            # While the JVM starts; on a cluster the first worker of a machine does it.
            start_hosts(sockets, task, os.getpid())
        with ThreadPoolExecutor(1) as thread:
            shown = thread.submit(_show_views, url, settings, deployment.ontology.schema)
            at = replace(settings.spark, master=_patient(settings.spark.master))
            spark = stack.enter_context(spark_session(at, _CONFIGURATION))
            shown.result()
        figures = BatchFigures(url, spark.sparkContext.defaultParallelism)
        stack.callback(figures.close)
        sink = HistorySink(store, told, figures)
        query = _start(spark, settings, task, str(sockets), sink, prefixes)
        stack.callback(query.stop)
        yield RunningStream(store, query, figures)


def _patient(master: str) -> str:
    """Allow retries on one machine, where Spark gives up at a worker's first end by default."""
    return re.sub(r"^local\[(\d+|\*)\]$", rf"local[\1,{_ATTEMPTS}]", master)


def _task(settings: Settings, url: str, store: PostgresStore) -> HostTask:
    last = store.last_seq()
    put = store.last_accepted(PutOntology.kind, last)
    rules = store.last_accepted(PutRules.kind, last)
    ontology = None
    if put is not None:
        told = PutOntology.decode(put.content, put.source)
        ontology = (told.content, told.media_type)
    entry = None if rules is None else PutRules.decode(rules.content, rules.source)
    if entry is not None and entry.found:
        entry = None
    return HostTask(settings, url, ontology, secrets.token_bytes(32), entry, last)


def _show_views(url: str, settings: Settings, schema: Schema) -> None:
    database = database_engine(url, pool_size=1)
    try:
        install_views(database, schema, settings.time.timeline)
    finally:
        database.dispose()


def check_folder(settings: Settings, store: PostgresStore) -> None:
    """Check that the state in ``pipeline.folder``, if there is any, is of this pipeline.

    Raises:
        SettingsError: it was made with another key.
        HistoryError: there is none, and the journal's first entries were deleted.
    """
    folder = settings.pipeline.folder
    mark, key = folder / _MARK, {"key": settings.pipeline.key}
    if mark.is_file():
        found = json.loads(mark.read_text(encoding="utf-8"))
        if found != key:
            raise SettingsError(
                f"pipeline.key: {folder} holds the engines of the keys '{found.get('key')}', not "
                f"'{settings.pipeline.key}': expected the same key, or another pipeline.folder "
                "(the journal is then processed again from its beginning)"
            )
        return
    if not store.whole():
        raise HistoryError(
            f"{folder} holds no state of a pipeline, and the journal does not hold all its "
            "entries any more: restore the folder, or start with an empty database"
        )
    store.displace()
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps(key), encoding="utf-8")


def _start(
    spark: SparkSession,
    settings: Settings,
    task: HostTask,
    sockets: str,
    sink: HistorySink,
    prefixes: Mapping[str, str],
) -> StreamingQuery:
    from sensorstream.streaming.journal_source import FORMAT, JournalSource
    from sensorstream.streaming.keyed_state import OUTPUT, KeyedState

    cores = spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", str(cores))
    spark.dataSource.register(JournalSource)
    entries = (
        spark.readStream.format(FORMAT)
        .options(
            url=task.url,
            key=settings.pipeline.key,
            prefixes=pickle.dumps(dict(prefixes)).hex(),
            depth=str(settings.server.max_depth),
            batch=str(settings.pipeline.batch),
            parts=str(cores),
        )
        .load()
    )
    effects = entries.groupBy("key").transformWithState(
        statefulProcessor=KeyedState(sockets, task),
        outputStructType=OUTPUT,
        outputMode="append",
        timeMode="none",
    )
    return (
        effects.writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(settings.pipeline.folder))
        .outputMode("append")
        .start()
    )


def _cause(told: str) -> str:
    """The last line of Spark's report that names an error."""
    lines = [line.strip() for line in told.splitlines() if "Error: " in line]
    return lines[-1] if lines else told.strip().partition("\n")[0]
