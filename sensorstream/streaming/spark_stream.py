"""The pipeline on Spark: one query of Structured Streaming from the journal to the history."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, TypeAlias

from sensorstream.app.control.rule_files import key_prefixes
from sensorstream.app.control.wiring import Stage, runner_of, shipped, version_of
from sensorstream.app.life.starting import in_force, read_files
from sensorstream.app.life.store_writes import Attempts
from sensorstream.errors import SparkError
from sensorstream.history.database import engine as database_engine
from sensorstream.history.database import opened
from sensorstream.history.effects_writer import Standings, Writes, claim, forget_events
from sensorstream.history.open_history import open_history
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.installation import require
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.key_routing import key_reader
from sensorstream.journal.records import Effects
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.endpoints import KafkaInput
from sensorstream.settings.settings import Settings
from sensorstream.spark.launch import STREAM_SETTINGS, spark_session
from sensorstream.spark.spark_failures import told_as
from sensorstream.streaming.batch_figures import BatchFigures
from sensorstream.streaming.host_client import start_hosts
from sensorstream.streaming.stage_events import passed_on
from sensorstream.streaming.state_folder import FolderMark, check_folder, divide
from sensorstream.streaming.worker_messages import HostTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


_LOG: Final = logging.getLogger(__name__)
Told: TypeAlias = Callable[[int, int], None]
"""Gets the number of entries of each batch that is stored, and its last entry."""


@frozen
class HistorySink:
    """The writer of each batch; runs in the driver.

    A batch is all entries between two numbers, over all keys, so the watermark of the history tells
    whether it is stored: Spark repeats the last batch after a crash, and then nothing is written. A
    batch that begins below the watermark is stored in part already, by the server in another mode
    or by a pipeline whose folder was deleted: the rest of it is written.
    """

    store: PostgresStore
    told: Told
    figures: BatchFigures
    stages: Sequence[Stage] = ()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch; called by Spark for each. Raises HistoryError if nothing was written."""
        # A million objects come and go without circles; collections would look at all of them.
        gc.disable()
        try:
            self._store(frame, batch)
        finally:
            gc.enable()

    def _store(self, frame: DataFrame, batch: int) -> None:
        began = monotonic()
        table = frame.toArrow()
        worked = monotonic()
        told: list[list[Effects]] = list(map(pickle.loads, table.column("effects").to_pylist()))
        if not any(told):
            return
        changed = list(map(pickle.loads, table.column("standing").to_pylist()))
        last = max(each.watermark for each in chain(*told))
        stored = self.store.watermark()
        new = [[each for each in of_key if each.watermark > stored] for of_key in told]
        if any(new):
            keys = [each.key for each in changed]
            events = passed_on(self.stages, list(zip(keys, new, strict=True)))
            self.store.commit(merged(list(chain(*new))), Standings(last, changed, events))
        else:
            self.store.place(Standings(last, changed))
        loads = {each.key: each.entries for each in changed}
        seconds = {"engines": worked - began, "store": monotonic() - worked}
        self.figures.stored(batch, loads, seconds)
        self.told(sum(loads.values()), last)


_CONFIGURATION: Final[Mapping[str, str]] = {
    **STREAM_SETTINGS,
    "spark.python.daemon.module": "sensorstream.streaming.worker_daemon",
    # Until the next look at a journal without news; Spark's own 10 ms cost a fifth of a core.
    "spark.sql.streaming.pollingDelay": "100ms",
}
_OF_FILES: Final[Mapping[str, str]] = {
    # Spark's own manager starts 40 processes a batch for a folder of files: chmod, readlink.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
_ATTEMPTS: Final = 4
"""How often a task is tried whose Python worker has ended; Spark's own number on a cluster."""
_SLOW: Final = "Python worker failed to connect back"
"""What Spark says of the reader's process if that takes longer than ten seconds to start."""
_SLOW_STARTS: Final = 15
"""So often in a row the machine may be busy."""
_END: Final = "end"
_PARTITIONS: Final = "spark.sql.shuffle.partitions"
"""The partitions of a new state; those of a state that is there are kept with it."""
_DYNAMIC: Final = "spark.dynamicAllocation.enabled"
_PATIENCE: Final = 180.0
"""Seconds in which a cluster must start an executor, which may load an image."""
_LOOK: Final = 0.1
"""Seconds between two looks whether an executor is there, or the last batch has ended."""


class RunningStream(Attempts):
    """A pipeline that runs. Where the history was lost it begins again with the last batch, as a
    restart does: the engines, their reader and the writer may all have met the loss. While the file
    ``end`` is there, no batch begins.
    """

    def __init__(
        self,
        store: PostgresStore,
        begin: Callable[[PostgresStore], StreamingQuery],
        reopen: Callable[[], PostgresStore],
        figures: BatchFigures,
        end: Path,
    ) -> None:
        super().__init__()
        self._store, self._begin, self._reopen = store, begin, reopen
        self._figures, self._end = figures, end
        self._query = begin(store)
        self._slow = 0

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, and store the figures of the last batch; False if it runs after
        so many seconds. Waits for a history that was lost.

        Raises:
            SparkError: it has failed.
            HistoryError: see :meth:`surely`.
        """

        def attempt(again: bool) -> bool:
            with told_as("the pipeline failed"):
                if again:
                    self.close()
                    self._store = self._reopen()
                    self._query = self._begin(self._store)
                return self._ended(seconds)

        return self.surely(attempt)

    def _ended(self, seconds: float) -> bool:
        from pyspark.errors import StreamingQueryException

        try:
            ended = bool(self._query.awaitTermination(seconds))
        except StreamingQueryException as error:
            # The writer, which nobody uses any more, has lost its connection with all others.
            self._store.watermark()
            self._slow = 1 if self._query.lastProgress else self._slow + 1
            if _SLOW not in str(error) or self._slow > _SLOW_STARTS:
                raise
            _LOG.warning("%s within ten seconds: the pipeline begins again", _SLOW)
            self._query = self._begin(self._store)
            return False
        self._figures.tell(self._query)
        return ended

    def finish(self) -> None:
        """Wait until the batch that runs is stored and committed; no other begins. Raises what
        :meth:`wait` raises.
        """
        self._end.touch()
        # A trigger that begins after this moment finds the file.
        while not self.wait(_LOOK) and self._query.status["isTriggerActive"]:
            """It may be planning a batch."""

    def close(self) -> None:
        """End it at once; the process of Java may have ended."""
        with suppress(SparkError), told_as("the pipeline failed"):
            self._query.stop()
        self._store.close()


@contextmanager
def running_stream(
    settings: Settings, url: str, told: Told, partitions: int | None = None
) -> Iterator[RunningStream]:
    """Start Spark and the pipeline, over the history at ``url``, which every executor must reach;
    it ends with the block. From now on the keys are divided into ``partitions``; None: as before,
    at first into as many as there are cores.

    Raises:
        SettingsError, LanguageError, OntologyError: the deployment is not valid; or
            ``pipeline.folder`` was made with another key.
        HistoryError: the history cannot be used, or another process writes to it.
        SparkError: Spark does not start.
        MissingExtra: the extra "spark" is not installed.
    """
    require("spark", "the pipeline on Spark")
    with ExitStack() as stack:

        def opened_store() -> PostgresStore:
            # An embedded PostgreSQL may have been killed.
            open_history(settings.history, stack)
            return PostgresStore.open(url, settings.time.timeline, Writes.EFFECTS)

        store = opened_store()
        stack.callback(store.close)
        last = store.last_seq()
        deployment, put = in_force(settings, read_files(settings), store, last)
        on_spark = replace(settings, pipeline=replace(settings.pipeline, runner="spark"))
        claim(url, runner_of(on_spark))
        if put is None:
            version = version_of(deployment, store.watermark(), store.last_moment())
            store.record_ontology(version)
        prefixes = key_prefixes(settings, deployment.texts)
        task = HostTask(settings, url, secrets.token_bytes(32), shipped(deployment), upto=last)
        key_reader(settings.pipeline.key, prefixes, settings.server.max_depth)
        with opened(url, "cannot forget events", application="sensorstream stream") as cursor:
            forget_events(cursor, ["", *(each.name for each in deployment.stages)])
        sockets = stack.enter_context(own_folder("sensorstream-stream-"))
        if settings.spark.master.startswith("local"):
            # While the JVM starts; on a cluster the first worker of a machine does it.
            start_hosts(sockets, task, os.getpid())
        with ThreadPoolExecutor(1) as thread:
            shown = thread.submit(_show_views, url, settings, deployment.ontology.schema)
            # On one machine Spark gives up at a worker's first end by default.
            tries = rf"local[\1,{_ATTEMPTS}]"
            master = re.sub(r"^local\[(\d+|\*)\]$", tries, settings.spark.master)
            at = replace(settings.spark, master=master)
            folder = settings.pipeline.folder
            files = isinstance(folder, Path) or folder.startswith("file:")
            configuration = {**_CONFIGURATION, **(_OF_FILES if files else {})}
            spark = stack.enter_context(spark_session(at, configuration))
            spark.conf.set(_PARTITIONS, str(spark.sparkContext.defaultParallelism))
            shown.result()
            with told_as("pipeline.folder"):
                mark = FolderMark(spark, folder)
                check_folder(settings, store, mark)
        figures = BatchFigures(url, spark.sparkContext.defaultParallelism)
        stack.callback(figures.close)
        with told_as("the pipeline failed"):
            fixed = spark.conf.get(_DYNAMIC, "false") == "false"
            if fixed and not settings.spark.master.startswith("local"):
                await_executor(spark, settings.spark.master, _PATIENCE)
            if partitions is not None:
                divide(spark, mark.folder, partitions)
                spark.conf.set(_PARTITIONS, str(partitions))

            def begin(store: PostgresStore) -> StreamingQuery:
                sink = HistorySink(store, told, figures, deployment.stages)
                return _start(spark, settings, task, str(sockets), sink, prefixes, mark.folder)

            running = RunningStream(store, begin, opened_store, figures, sockets / _END)
        stack.callback(running.close)
        yield running


def await_executor(spark: SparkSession, master: str, seconds: float) -> None:
    """Wait for the first executor of a cluster; raises SparkError after so many seconds without."""
    members = spark.sparkContext._jsc.sc().getExecutorMemoryStatus  # noqa: SLF001
    end = monotonic() + seconds
    # The driver is one of them.
    while members().size() < 2:
        if monotonic() > end:
            raise SparkError(
                f"no executor has started at {master} for {seconds:.0f} s: expected a worker with "
                "a free core and the memory of spark.executor.memory (1g by default)"
            )
        sleep(_LOOK)


def topics_of(settings: Settings) -> dict[str, KafkaInput]:
    """The inputs whose messages stay in their topics, by name."""
    kafka = ((e.name, e.options) for e in settings.inputs if isinstance(e.options, KafkaInput))
    return {name: options for name, options in kafka if not options.copy}


def _show_views(url: str, settings: Settings, schema: Schema) -> None:
    database = database_engine(url, pool_size=1)
    try:
        install_views(database, schema, settings.time.timeline)
    finally:
        database.dispose()


def _start(
    spark: SparkSession,
    settings: Settings,
    task: HostTask,
    sockets: str,
    sink: HistorySink,
    prefixes: Mapping[str, str],
    folder: str,
) -> StreamingQuery:
    from sensorstream.streaming.journal_source import FORMAT, JournalSource
    from sensorstream.streaming.keyed_state import OUTPUT, KeyedState

    cores = spark.sparkContext.defaultParallelism
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
            inputs=pickle.dumps(topics_of(settings)).hex(),
            size=str(settings.server.max_message_bytes),
            end=str(Path(sockets) / _END),
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
        .option("checkpointLocation", folder)
        .outputMode("append")
        .start()
    )
