"""Which runner a history belongs to: another one's windows would tell the same ends once more."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Final, Literal

from psycopg2.extras import Json

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, describe, translating

_SETTINGS: Final = {"engine": "one engine", "spark": "engines on Spark"}


@dataclass(frozen=True, slots=True)
class Runner:
    """What decides which window an entry of the journal goes to.

    ``key`` parts the windows; empty: there is one. ``by_count``: they count elements, and messages
    do not wait for each other, so that a window depends on the entries of its key alone.
    """

    kind: Literal["engine", "spark"]
    key: str
    by_count: bool

    def __str__(self) -> str:
        return f"{_SETTINGS[self.kind]} (pipeline.runner = {self.kind!r}{self._by_key})"

    @property
    def _by_key(self) -> str:
        return f", pipeline.key = {self.key!r}" if self.kind == "spark" else ""

    def goes_on_from(self, other: Runner) -> bool:
        """Whether its windows, rebuilt from the journal, hold what the other's do."""
        if self.kind == other.kind:
            return self.kind == "engine" or self.key == other.key
        return self.by_count and other.by_count and bool(self.key) and self.key == other.key


def claim(url: str, runner: Runner) -> None:
    """Write down that a runner is the history's; the schema is there.

    Raises:
        HistoryError: another one is, and its windows hold what this one would store again.
    """
    with (
        closing(connect(url, application="sensorstream runner")) as connection,
        translating("cannot read which runner the history belongs to"),
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "select runner, exists (select from store.messages) from store.pipeline for update"
        )
        found, begun = cursor.fetchone() or (None, False)
        known = None if found is None else Runner(**found)
        if begun and known is not None and not runner.goes_on_from(known):
            raise HistoryError(
                f"the history {describe(url)} belongs to {known}, and this is {runner}: what is in "
                "the windows there would be missing or stored twice. Set [pipeline] as it was, or "
                "give this runner an empty database (history.url, or history.folder). One can "
                "follow the other where both have the same windows: window.unit = individuals or "
                "triples, window.partition = source, pipeline.key = source, and no time.lateness"
            )
        if known != runner:
            cursor.execute("update store.pipeline set runner = %s", (Json(asdict(runner)),))
