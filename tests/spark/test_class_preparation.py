from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.sql import Row

from sensorstream.errors import SparkError
from sensorstream.spark import class_cache, class_preparation
from sensorstream.spark.class_preparation import KeyCounts, NumbersStream, prepare


class State:
    """What a processor keeps for a key."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def getValueState(self, name: str, schema: str) -> State:  # noqa: N802
        return State()

    getListState = getValueState  # noqa: N815

    def get(self) -> Any:
        return self.values[-1] if self.values and len(self.values[-1]) > 1 else self.values

    def update(self, value: Any) -> None:
        self.values = [value]

    def clear(self) -> None:
        self.values.clear()

    def appendValue(self, value: Any) -> None:  # noqa: N802
        self.values.append(value)


def test_the_stream_has_each_number_once_and_a_key_is_counted_over_batches() -> None:
    stream = NumbersStream()
    parts = stream.partitions(stream.initialOffset(), stream.latestOffset())
    read = [row for part in parts for batch in stream.read(part) for row in batch.to_pylist()]
    assert sorted(row["number"] for row in read) == list(range(stream.latestOffset()["row"]))
    counts: Counter[str] = Counter()
    processors = {}
    for batch in (read[:300], read[300:]):
        for key in sorted({row["key"] for row in batch}):
            rows = [Row(**row) for row in batch if row["key"] == key]
            if key not in processors:
                processors[key] = KeyCounts()
                processors[key].init(State())
            counts[key] += len(rows)
            (said,) = processors[key].handleInputRows((key,), iter(rows), None)
            assert said.key == key
            assert said.content.decode() == str([(row.text,) for row in rows])
            assert processors[key]._count.get()[0] == counts[key]


# ``make test`` runs the question and the stream for its own file, in a JVM of their own.
@pytest.mark.parametrize("made", [True, False])
def test_the_file_that_the_jvm_leaves_is_kept_and_nothing_else(
    made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def running(master: str, configuration: object, classes: Path) -> Iterator[Mock]:
        yield Mock()
        if made:
            classes.write_bytes(b"classes")

    ran: list[str] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(class_preparation, "spark_session", running)
    monkeypatch.setattr(class_preparation, "_ask", lambda *_: ran.append("question"))
    monkeypatch.setattr(class_preparation, "_stream", lambda *_: ran.append("stream"))
    file = class_cache.cache_file()
    if made:
        assert prepare() == file
        assert file.read_bytes() == b"classes"
    else:
        with pytest.raises(SparkError, match="has not kept the classes"):
            prepare()
    assert ran == ["question", "stream"]
    assert list(file.parent.iterdir()) == [file] * made
