"""What ``--source`` accepts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import SettingsError
from sensorstream.history.journal_rows import journal_rows
from sensorstream.inputs.inputs import Inputs
from sensorstream.settings.endpoints import FolderInput, KafkaInput
from sensorstream.settings.settings import Settings
from sensorstream.streaming.message_sources import read_by_now, with_source
from tests.inputs.kafka_broker import KafkaBroker
from tests.streaming.conftest import seen
from tests.waiting import eventually


def test_the_journal_needs_no_other_input(settings: Settings) -> None:
    assert with_source(settings, "journal") == settings


def test_a_folder_is_an_input_that_ends_when_its_files_are_taken(
    settings: Settings, tmp_path: Path
) -> None:
    found = with_source(settings, f"folder:{tmp_path}")
    (one,) = found.inputs
    assert isinstance(one.options, FolderInput)
    assert one.options.path == tmp_path
    assert found.pipeline.runner == "spark"
    (tmp_path / "a.xml").write_text("<a/>")
    assert not read_by_now(found)
    (tmp_path / "a.xml").unlink()
    assert read_by_now(found)


def test_a_topic_is_an_input_without_an_end(settings: Settings) -> None:
    found = with_source(settings, "kafka:127.0.0.1:9092/seen")
    (one,) = found.inputs
    assert isinstance(one.options, KafkaInput)
    assert (one.options.brokers, one.options.topics) == (("127.0.0.1:9092",), ("seen",))
    with pytest.raises(SettingsError, match="a topic has no end"):
        read_by_now(found)


@pytest.mark.parametrize("text", ["", "folder", "folder:", "kafka:here:1", "kafka:/t", "mqtt:x"])
def test_another_text_is_refused(settings: Settings, text: str) -> None:
    with pytest.raises(SettingsError, match="expected journal, folder:DIR or kafka"):
        with_source(settings, text)


def journalled(url: str, count: int) -> bool:
    return len(list(journal_rows(url, 0))) >= count


def test_a_copied_topic_goes_into_the_journal_once(settings: Settings, database: str) -> None:
    broker = KafkaBroker()
    broker.produce("seen", [seen("north", n, (1, 2)) for n in range(3)])
    ours = replace(settings, history=replace(settings.history, url=database))
    for count in (3, 5):
        source = with_source(ours, f"kafka:{broker.address}/seen")
        (one,) = source.inputs
        assert isinstance(one.options, KafkaInput)
        source = replace(source, inputs=(replace(one, options=replace(one.options, copy=True)),))
        with Application.open(source) as application, Inputs(application):
            eventually(partial(journalled, database, count))
        broker.produce("seen", [seen("north", n, (1, 2)) for n in (8, 9)])
    taken = list(journal_rows(database, 0))
    assert [row[5] for row in taken] == [seen("north", n, (1, 2)) for n in (0, 1, 2, 8, 9)]
    assert {row[2] for row in taken} == {"stream"}
    assert len({row[9] for row in taken}) == 5, "each has a name by which a repetition is known"
