"""The messages of a deployment's journal, read while its server runs or does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sensorstream.app.application import open_history
from sensorstream.history.sql import run_sql
from sensorstream.settings import Settings

_BATCH: Final = 500
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message as it arrived, whatever became of it."""

    id: str
    content: bytes
    received_at: datetime


class Recording:
    """A deployment's journal; stays readable until ``stack`` closes.

    Raises:
        HistoryError: the history cannot be opened or read.
    """

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self._url = open_history(settings.history, stack)

    def __len__(self) -> int:
        return int(self._ask("SELECT count(*) FROM history.messages")[0][0])

    def __iter__(self) -> Iterator[Recorded]:
        after = 0
        while rows := self._ask(
            "SELECT seq, id, content, received_at FROM history.messages "
            f"WHERE seq > {after:d} ORDER BY seq LIMIT {_BATCH}"
        ):
            for _, name, content, received_at in rows:
                yield Recorded(name, bytes(content), received_at)
            after = int(rows[-1][0])

    def _ask(self, query: str) -> tuple[tuple[Any, ...], ...]:
        return run_sql(self._url, query, timeout=_SECONDS, row_limit=_BATCH).rows
