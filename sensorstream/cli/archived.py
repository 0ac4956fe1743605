"""The archive of a deployment, for commands that ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensorstream.extras import require

if TYPE_CHECKING:
    from sensorstream.archive.sparql.asking import Archive
    from sensorstream.settings import Settings


def archive_of(settings: Settings, url: str) -> Archive:
    """The archive of the history at ``url``.

    Raises:
        MissingExtra: the modules that read it are not installed.
    """
    require("archive", "the archive")
    from sensorstream.archive.sparql.asking import Archive

    told = settings.archive
    return Archive(url, told.folder, settings.limits.question_memory)
