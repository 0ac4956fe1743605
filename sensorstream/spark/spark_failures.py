"""Sentences for what Spark, Java and Python report when Spark does not start, or breaks down."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from typing import IO, Final

from sensorstream.errors import SparkError

_JAVA: Final = 17
"""The oldest Java for Spark 4.3."""
_MOST: Final = 100_000
"""Characters of what Java has written that are searched for a reason."""
_CLASS_FILES: Final = 44
"""The version of Java's class files is this and that of Java."""

_KNOWN: Final[Mapping[str, str | Callable[[re.Match[str]], str]]] = {
    r"UnsupportedClassVersionError.* up to (\d+)": lambda found: (
        f"Java {int(found[1]) - _CLASS_FILES} is too old: expected Java {_JAVA} or newer, on the "
        "workers too (JAVA_HOME there, or spark.executorEnv.JAVA_HOME in spark.conf)"
    ),
    r"Python in worker has different version: (\S+) than that in driver: (\d+\.\d+)": (
        "a worker has Python {0}, expected {1} as here: name another one by spark.pyspark.python"
    ),
    r'Cannot run program "([^"]*python[^"]*)"': (
        "a worker has no {0}: expected Python with SensorStream there, or spark.pyspark.python in "
        "spark.conf with the path that it has on the workers"
    ),
    r"No module named '?((?:sensorstream|pyspark|pandas|pyarrow|google)\b[\w.]*)": (
        "the Python of a worker has no module {0}: install 'sensorstream[spark]' there"
    ),
    r"InvalidClassException: (org\.apache\.spark\S*);": lambda _: (
        f"the cluster has another version of Spark: expected {metadata.version('pyspark')} there"
    ),
    r"All masters are unresponsive": (
        "no master answers: expected the address that the master's own log tells (spark.master)"
    ),
    r"Master removed our application|Max number of executor failures|exited abnormally": (
        "executors end as soon as they start: see their stderr in the folder 'work' of a worker; "
        f"each needs Java {_JAVA} or newer, and the memory of spark.executor.memory"
    ),
    r"ExecutorLostFailure \(executor (\S+) exited .*?Reason: ([^\n]*)": (
        "executor {0} was lost too often: {1}; if its memory was too small, set "
        "spark.executor.memory, or spark.executor.memoryOverhead, in spark.conf"
    ),
    r"HADOOP_CONF_DIR or YARN_CONF_DIR must be set": (
        "expected the environment variable HADOOP_CONF_DIR, the folder of yarn-site.xml"
    ),
    r"KubernetesClientException": (
        "the address in spark.master does not answer as Kubernetes does: expected k8s://https://"
        "HOST:PORT, as 'kubectl cluster-info' tells it, and an account that may make pods"
    ),
    r"BindException.*Address already in use.*Service '([^']+)'": (
        "the port of {0} is taken: give another one in spark.conf, or leave it out (any free one)"
    ),
    r"BindException.*Cannot assign requested address": (
        "this machine has no such address: set spark.driver.host to its address in the cluster's "
        "network, and spark.driver.bindAddress to 0.0.0.0"
    ),
    r"Could not reserve enough space|Too small maximum heap|Invalid (?:maximum|initial) heap|"
    r"insufficient memory|System memory \d+ must be|(?:Driver|Executor) memory .*must be": (
        "the memory of spark.driver.memory or spark.executor.memory cannot be had: expected what "
        'the machine has free, "2g" or so'
    ),
    r"OutOfMemoryError: Java heap space": (
        "the memory is too small: set spark.driver.memory or spark.executor.memory in spark.conf, "
        "or a smaller pipeline.batch"
    ),
    r"Failed to create any local dir|Failed to create a temp directory": (
        "no folder for temporary files can be made: expected spark.local.dir, or TMPDIR, on a disk "
        "that this user may write to"
    ),
    r"No space left on device": "the disk is full: make room, or set spark.local.dir or TMPDIR",
    r'No FileSystem for scheme "?([\w+.-]+)': (
        "no file system of Hadoop has addresses {0}://: expected file://, hdfs://, s3a:// or one "
        "whose package spark.jars.packages names"
    ),
    r"ClassNotFoundException: (?:Class )?([\w.$]+)": (
        "there is no class {0}: name the package that has it in spark.conf, as "
        '"spark.jars.packages" = "org.apache.hadoop:hadoop-aws:3.5.0" for s3a://'
    ),
    r"(?:Mkdirs failed to create|Parent path is not a directory:|not a directory:) (\S+)": (
        "{0} cannot be made: expected a folder that this user may write to"
    ),
    r"AccessControlException: Permission denied|Permission denied|AccessDenied": (
        "the permission to write is denied: expected a folder that this user may write to"
    ),
    r"STREAMING_UNFINISHED_REPARTITION": (
        "a division of the state was interrupted: start it again with the same --partitions"
    ),
    r"is a repartition batch with (\d+) shuffle partitions and didn't finish": (
        "a division was interrupted: start it with --partitions {0} first"
    ),
    r"CONCURRENT_STREAM_LOG_UPDATE|Concurrent update to the log": (
        "another pipeline writes to the same pipeline.folder: stop one of the two"
    ),
}
"""Patterns of reports, the most telling first, and the sentences instead, with their groups."""

_NOISE: Final = re.compile(
    r"\s|\S+ \S+ (WARN|INFO) |Setting default log|To adjust logging|\S+/spark-class: |$"
)
_NAMED: Final = re.compile(r"\b\w*(?:Error|Exception)\b[^:]*: \S")
_BEFORE: Final = re.compile(
    r"^(?:\S+ \S+ ERROR \w+: |Caused by: |: |Exception in thread \"[^\"]*\" )*"
    r"(?:[\w.$]+(?:Error|Exception): )*"
)
_NO_REASON: Final = "Spark gives no reason; the machine may have been short of memory"


def sentence(error: BaseException | None, log: str = "") -> str:
    """The reason of a failure, and what to do about it, in one line; ``log`` is what Java wrote."""
    told = "" if error is None else report_of(error)
    report = f"{told}\n{log}"
    for pattern, known in _KNOWN.items():
        found = re.search(pattern, report)
        if found is not None:
            groups = [each or "" for each in found.groups()]
            return known.format(*groups) if isinstance(known, str) else known(found)
    return _shortened(told, log)


def last_of(log: IO[str]) -> str:
    """The end of what Java has written."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - _MOST))
    return log.read()


@contextmanager
def told_as(what: str, log: IO[str] | None = None) -> Iterator[None]:
    """Turn an error of Spark into a SparkError of a sentence, which begins with what has failed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, OSError, RuntimeError, ValueError) as error:
        written = "" if log is None else last_of(log)
        raise SparkError(f"{what}: {sentence(error, written)}") from error


def report_of(error: BaseException) -> str:
    """The text of an error, with Java's stack; Java is asked for it, and may have ended."""
    try:
        return str(error)
    except Exception:
        return "its process of Java has ended"


def _shortened(told: str, log: str) -> str:
    """The line that names the innermost error, without its class: of the error, else the log. It
    keeps Spark's code, as ``[SPARK_JOB_CANCELLED]``.
    """
    written, lines = (
        [line for line in text.splitlines() if not _NOISE.match(line)] for text in (log, told)
    )
    named = [line for line in (*written, *lines) if _NAMED.search(line)]
    if not named:
        named = written[-1:] if "JAVA_GATEWAY" in told else lines[:1]
    line = named[-1] if named else told.strip()
    return _BEFORE.sub("", line).partition(" SQLSTATE: ")[0].strip() or _NO_REASON
