"""What ``sensorstream stream`` tells on stderr."""

from __future__ import annotations

import pytest

from sensorstream.cli.spark_command import StreamProgress
from sensorstream.history.effects_writer import JournalPosition


def test_it_tells_what_is_stored_what_waits_and_how_many_keys_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = StreamProgress(quiet=False)
    progress.stored(60, 60)
    progress.show(JournalPosition(100, 60, keys=4))
    progress.end()
    line, end = capsys.readouterr().err.splitlines()
    assert line.startswith("batch 1: 60 entries, ")
    assert line.endswith("/s, 40 wait, 4 keys")
    assert end.startswith("60 entries in 1 batches, ")


def test_quiet_it_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress = StreamProgress(quiet=True)
    progress.stored(60, 60)
    progress.show(JournalPosition(100, 60))
    progress.end()
    assert capsys.readouterr().err == ""
