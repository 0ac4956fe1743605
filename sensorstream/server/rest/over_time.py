"""Files with rules over time under ``/rules``: other addresses of the queries that they run as."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from sensorstream.app.application import Application
from sensorstream.app.trials import QueryTrial
from sensorstream.app.versions import Match, Version
from sensorstream.dotr.reader import is_rules
from sensorstream.errors import QueryError, UnknownQuery, UnknownRules
from sensorstream.server.rest.versioned import Kept

_ENDING: Final = ".dotr"


class OverTime:
    """``/rules/NAME.dotr`` is the text of the continuous query ``NAME``."""

    def __init__(self, application: Application) -> None:
        self._queries = application.queries

    def has(self, name: str) -> bool:
        """Whether a name is that of a file with rules over time."""
        return PurePath(name).suffix.lower() == _ENDING

    def files(self) -> Iterator[tuple[str, str, str]]:
        """The names of all files and queries, and their texts."""
        for each in self._queries.views():
            if is_rules(each.text) and not each.stopped:
                yield f"{each.name}{_ENDING}", each.name, each.text

    def text(self, name: str) -> str:
        """The text of a file.

        Raises:
            UnknownRules: there is none of this name.
        """
        try:
            found = self._queries.view(_query(name)).text
        except UnknownQuery:
            found = ""
        if not is_rules(found):
            there = ", ".join(name for name, _, _ in self.files()) or "none"
            raise UnknownRules(f"no rules over time are named '{name[:60]}': there are {there}")
        return found

    def put(self, name: str, text: str, by: str, match: Match) -> str:
        """As :meth:`.Queries.put`.

        Returns:
            The journal's id of the change.

        Raises:
            QueryError: the text has no rules over time.
        """
        if not is_rules(text):
            raise QueryError(f"'{name[:60]}': expected rules over time: define … from …")
        return self._queries.put(_query(name), text, by, match).entry

    def try_put(self, name: str, text: str) -> QueryTrial:
        """As :meth:`.Queries.try_put`."""
        return self._queries.try_put(_query(name), text)

    def remove(self, name: str, by: str, match: Match) -> str:
        """As :meth:`.Queries.remove`.

        Returns:
            The journal's id of the change.

        Raises:
            UnknownRules: there is none of this name.
        """
        self.text(name)
        return self._queries.remove(_query(name), by, match)

    def with_versions_of(self, others: Kept) -> Kept:
        """The versions of files with rules over time, and of all other rule files."""
        return _Versions(self, self._queries.versions, others)


@dataclass(frozen=True, slots=True)
class _Versions:
    over_time: OverTime
    queries: Kept
    others: Kept

    def all(self, name: str = "") -> Iterator[Version]:
        if self.over_time.has(name):
            return self.queries.all(_query(name))
        return self.others.all(name)

    def one(self, change: str, name: str = "") -> Version:
        if self.over_time.has(name):
            return self.queries.one(change, _query(name))
        return self.others.one(change, name)


def _query(name: str) -> str:
    return name[: -len(_ENDING)]
