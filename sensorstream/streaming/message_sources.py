"""The sources of the messages of ``sensorstream stream``.

Spark reads the journal only: it has all messages in one order, and keeps them. Another source is an
input of the deployment, in the command's own process: it writes what it reads to the journal.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from sensorstream.errors import SettingsError
from sensorstream.settings.endpoints import FolderInput, Input, KafkaInput
from sensorstream.settings.settings import Settings

JOURNAL: Final = "journal"
_NAME: Final = "stream"
_EXPECTED: Final = "expected journal, folder:DIR or kafka:HOST:PORT/TOPIC"


def with_source(settings: Settings, text: str) -> Settings:
    """The settings with one input, as the text says; unchanged for the journal, which others write.
    The messages of a topic stay there.

    Raises:
        SettingsError: the text is not a source.
    """
    kind, _, rest = text.partition(":")
    if text == JOURNAL:
        return settings
    options: FolderInput | KafkaInput
    if kind == "folder" and rest:
        options = FolderInput(path=Path(rest).absolute())
    elif kind == "kafka" and rest.count("/") == 1 and all(rest.split("/")):
        server, topic = rest.split("/")
        options = KafkaInput(brokers=(server,), topics=(topic,), copy=False)
    else:
        raise SettingsError(f"--source: '{text}' is not a source: {_EXPECTED}")
    pipeline = replace(settings.pipeline, runner="spark")
    return replace(settings, inputs=(Input(_NAME, _NAME, options),), pipeline=pipeline)


def read_by_now(settings: Settings) -> bool:
    """Whether the input of a folder has taken all files that are there; raises SettingsError for an
    input without an end.
    """
    for each in settings.inputs:
        options = each.options
        if not isinstance(options, FolderInput) or options.path is None:
            raise SettingsError("--once: a topic has no end: expected the source journal or folder")
        if any(file.is_file() for file in options.path.glob(options.pattern)):
            return False
    return True
