"""The folder with the state of a pipeline: its mark, its move to another place, its division."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sensorstream.app.life.backup import STATE_MARK
from sensorstream.errors import HistoryError, SettingsError
from sensorstream.history.store import PostgresStore
from sensorstream.settings.settings import Settings
from sensorstream.spark.spark_failures import told_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMAT: Final = 1
"""The format of what Spark keeps of an engine: the columns of :class:`.KeyedState`, and the rows of
the journal in them. Checkpoints of engines have a version of their own.
"""
_SCHEMA: Final = re.compile(r'"file:[^"]*/state/(\d+/_stateSchema/)')
_NOT_NEEDED: Final = ("NO_BATCH_FOUND", "NO_COMMITTED_BATCH", "SHUFFLE_PARTITIONS_ALREADY_MATCH")


class FolderMark:
    """The mark of a pipeline in the folder of its state, read and written by Spark's Hadoop."""

    def __init__(self, spark: SparkSession, place: Path | str) -> None:
        """Raises Py4JJavaError: Hadoop does not know such an address, or cannot reach it."""
        # A path alone would be one of Hadoop's own file system.
        self.folder = place.absolute().as_uri() if isinstance(place, Path) else place
        jvm, context = spark._jvm, spark.sparkContext._jsc  # noqa: SLF001
        self._file = jvm.org.apache.hadoop.fs.Path(self.folder, STATE_MARK)
        self._system = self._file.getFileSystem(context.hadoopConfiguration())

    def read(self) -> str | None:
        """The mark; None: there is no state in the folder."""
        if not self._system.exists(self._file):
            return None
        with closing(self._system.open(self._file)) as stream:
            return bytes(stream.readAllBytes()).decode()

    def write(self, mark: str) -> None:
        """Make the folder, with a mark in ASCII."""
        with closing(self._system.create(self._file)) as stream:
            stream.writeBytes(mark)


def check_folder(settings: Settings, store: PostgresStore, mark: FolderMark) -> None:
    """Check that the state in ``pipeline.folder``, if there is any, is of this pipeline.

    Raises:
        SettingsError: it was made with another key, or in another format.
        HistoryError: there is none, and the journal's first entries were deleted.
    """
    folder = settings.pipeline.folder
    key, told = settings.pipeline.key, mark.read()
    if told is not None:
        found = json.loads(told)
        # The first format was not named.
        if (known := found.get("format", _FORMAT)) != _FORMAT:
            raise SettingsError(
                f"pipeline.folder: {folder} holds engines in format {known}, expected {_FORMAT}: "
                "start the version of SensorStream that wrote it, or give another folder (the "
                "journal is then processed again from its beginning)"
            )
        if found.get("key") != key:
            raise SettingsError(
                f"pipeline.key: {folder} holds the engines of the keys '{found.get('key')}', not "
                f"'{key}': expected the same key, or another pipeline.folder "
                "(the journal is then processed again from its beginning)"
            )
        if isinstance(folder, Path):
            _mend(folder)
        return
    if not store.whole():
        raise HistoryError(
            f"{folder} holds no state of a pipeline, and the journal does not hold all its "
            "entries any more: restore the folder, or start with an empty database"
        )
    store.displace()
    mark.write(json.dumps({"key": key, "format": _FORMAT}))


def _mend(folder: Path) -> None:
    """Mend the places of files in a state that was moved: Spark keeps them as absolute paths."""
    here = json.dumps(str(folder.absolute()))[1:-1]
    for each in folder.glob("state/*/_metadata/v2/[0-9]*"):
        text = each.read_text(encoding="utf-8")
        mended = _SCHEMA.sub(lambda found: f'"file:{here}/state/{found[1]}', text)
        if mended != text:
            each.with_name(f".{each.name}.crc").unlink(missing_ok=True)
            new = each.with_name(f".{each.name}.new")
            new.write_text(mended, encoding="utf-8")
            new.replace(each)


def divide(spark: SparkSession, folder: str, partitions: int) -> None:
    """Divide the state into so many partitions, if there is one. A batch that was not committed is
    left out: its entries are in the next one, and what is stored is not stored again.

    Raises:
        SparkError: the state cannot be divided.
    """
    from pyspark.errors import PySparkException

    with told_as(f"cannot divide the state in {folder} into {partitions} partitions"):
        try:
            spark._streamingCheckpointManager.repartition(folder, partitions, False)  # noqa: SLF001
        except PySparkException as error:
            if not (error.getCondition() or "").endswith(_NOT_NEEDED):
                raise
