"""The messages of a deployment's journal, with or without its running server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sensorstream.history.opening import open_kept
from sensorstream.history.read_only_sql import run_sql
from sensorstream.settings import Settings

_BATCH: Final = 500
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message as it arrived, independent of its outcome."""

    id: str
    source: str
    content: bytes
    received_at: datetime


class Recording:
    """A deployment's journal as it is now; stays readable until ``stack`` closes.

    Later messages are not part of it, so a journal may be replayed to its own server.

    Raises:
        HistoryError: the history cannot be opened or read.
    """

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self._url = open_kept(settings.history, stack)
        statement = "SELECT count(*), coalesce(max(seq), 0) FROM history.messages"
        self._count, self._last = map(int, self._ask(statement)[0])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Recorded]:
        after = 0
        while rows := self._ask(
            "SELECT seq, id, source, content, received_at FROM history.messages "
            f"WHERE seq > {after:d} AND seq <= {self._last:d} ORDER BY seq LIMIT {_BATCH}"
        ):
            for _, name, source, content, received_at in rows:
                yield Recorded(name, source, bytes(content), received_at)
            after = int(rows[-1][0])

    def _ask(self, query: str) -> tuple[tuple[Any, ...], ...]:
        return run_sql(self._url, query, timeout=_SECONDS, row_limit=_BATCH).rows
