from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from sensorstream.errors import SparkError
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark import class_cache, class_preparation
from sensorstream.spark.class_preparation import NumbersStream, prepare


def test_the_parts_of_the_stream_have_each_number_once() -> None:
    stream = NumbersStream()
    parts = stream.partitions(stream.initialOffset(), stream.latestOffset())
    read = [row for part in parts for batch in stream.read(part) for row in batch.to_pylist()]
    assert sorted(row["number"] for row in read) == list(range(stream.latestOffset()["row"]))


# ``make test`` runs the question and the stream for its own file, in a JVM of their own.
@pytest.mark.parametrize("made", [True, False])
def test_the_file_that_the_jvm_leaves_is_kept_and_nothing_else(
    made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def running(at: SparkSettings, *, classes: Path) -> Iterator[Mock]:
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
