"""Answers that Spark's executors write to a folder or an address, each task its own part."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from sensorstream.errors import QueryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_NAME: Final = re.compile(r"[^\W_][\w.=+@-]*")
# RFC 4180, with times as in JSON; Spark's own would cut texts and times.
_CSV: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_FORMATS: Final = {".parquet": ("parquet", {}), ".csv": ("csv", _CSV)}
"""Spark's format and its options, by the end of a name."""
_LOOK: Final = 0.05
_LOOKS: Final = 20
_ENDING: Final = 5.0
"""Seconds that the tasks of a cancelled job may take to end."""


def below_one_of(output: str, folders: Sequence[str]) -> str:
    """The full name of an output below one of the folders and addresses that jobs may write to; a
    name alone is below the first. No file system but this machine's is asked.

    Raises:
        QueryError: it is not below them, also by a link, or is there.
    """
    if not folders:
        raise QueryError(
            "output: this server lets jobs write nowhere: its setting spark.results names the "
            "folders and addresses below which they may"
        )
    bases = [f"{each.rstrip('/')}/" for each in folders]
    is_name = not output.startswith("/") and not _ADDRESS.match(output)
    whole = bases[0] + output if is_name else output
    base = max((each for each in bases if whole.startswith(each)), key=len, default=None)
    if base is None:
        raise QueryError(f"output: expected a name below {' or '.join(folders)}, not '{output}'")
    *within, last = whole.removeprefix(base).split("/")
    if not all(map(_NAME.fullmatch, (*within, last))) or any(map(_end_of, within)):
        raise QueryError(
            "output: expected names of letters, digits and . _ = + @ -, which begin with a letter "
            f"or digit, and not within another output, not '{output}'"
        )
    if not _ADDRESS.match(whole) and not Path(whole).resolve().is_relative_to(Path(base).resolve()):
        raise QueryError(f"output: '{output}' leads out of {base} by a link")
    check_output(whole)
    return whole


def check_output(output: str) -> None:
    """Refuse, by a QueryError, an output whose name says no format, or a folder that is there."""
    if _end_of(output) is None:
        expected = " or ".join(_FORMATS)
        raise QueryError(f"output: expected a name that ends in {expected}, not '{output}'")
    if not _ADDRESS.match(output) and os.path.lexists(output):
        raise _there(output)


def write_answer(answer: DataFrame, output: str) -> int:
    """Let the executors write an answer, whose parts have its rows in their order; returns their
    number.

    The output has a file ``_SUCCESS`` when it is whole; if it does not get there, it is removed.

    Raises:
        QueryError: it is there, cannot be reached, or has no such columns.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import Observation, functions

    check_output(output)
    kind, options = _FORMATS[_end_of(output) or ""]
    address = output if _ADDRESS.match(output) else f"file:{Path(output).absolute()}"
    context: Any = answer.sparkSession.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(address)  # noqa: SLF001
    try:
        files = place.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        there = files.exists(place)
    except Py4JJavaError as error:
        told = str(error.java_exception).partition("\n")[0]
        raise QueryError(f"output: Spark does not reach {output}: {told}") from error
    if there:
        raise _there(output)
    rows = Observation()
    counted = typed(answer).observe(rows, functions.count(functions.lit(1)).alias("rows"))
    try:
        counted.write.format(kind).options(**options).save(address)
        names = [each.getPath().getName() for each in files.listStatus(place)]
        if not any(each.startswith("part-") for each in names):
            raise QueryError(
                f"output: the executors do not write to {output}: on a cluster it must be an "
                "address, or a folder that they share with the driver"
            )
    except BaseException as error:
        # What another program made meanwhile is not ours.
        if "PATH_ALREADY_EXISTS" in str(error):
            raise _there(output) from error
        _wait_for_tasks(context)
        # A task that counts as ended may still be making its folder.
        for _ in range(_LOOKS):
            files.delete(place, True)
            sleep(_LOOK)
        raise
    return int(rows.get["rows"])


def typed(answer: DataFrame) -> DataFrame:
    """The answer with texts for columns that are NULL only, which no format has a type for."""
    for field in answer.schema.fields:
        if field.dataType.typeName() == "void":
            answer = answer.withColumn(field.name, answer[field.name].cast("string"))
    return answer


def remove_unfinished(output: str | None) -> None:
    """Remove a folder of this machine that a Spark which was killed left half written."""
    if output is None:
        return
    folder = Path(output)
    if (folder / "_temporary").is_dir() and not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_tasks(context: Any) -> None:
    """Wait for the tasks of a cancelled job, which may still write."""
    tracker = context._jsc.sc().statusTracker()  # noqa: SLF001
    deadline = monotonic() + _ENDING
    while any(each.numRunningTasks() for each in tracker.getExecutorInfos()):
        if monotonic() > deadline:
            return
        sleep(_LOOK)


def _end_of(name: str) -> str | None:
    return next((each for each in _FORMATS if name.endswith(each)), None)


def _there(output: str) -> QueryError:
    return QueryError(f"output: {output} is there already, and nothing is written over it")
