"""Entries that start, remove or stop a continuous query, or change a webhook."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import ClassVar, Final, Self

from sensorstream.engine.notices import STOPPED
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import QueryConflict, QueryError, SensorStreamError, UnknownQuery
from sensorstream.journal.entry import Change, Entry, Target, json_content
from sensorstream.journal.records import Record
from sensorstream.model.events import Cleared, Message, Status
from sensorstream.model.frozen import frozen
from sensorstream.model.webhook_definition import WebhookDefinition

MOST_QUERIES: Final = 1000
"""The most queries that may run at the same time."""
_LONGEST_NAME: Final = 2000


def checked_name(name: str) -> str:
    """The name itself; raises QueryError if no query can have it."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise QueryError(
            f"'{name[:40]}' is not a name of a query: expected 1 to {_LONGEST_NAME} "
            "printable characters"
        )
    if name in {".", ".."}:
        # Clients resolve them in an address, so nothing could ask for it or remove it.
        raise QueryError(f"'{name}' is not a name of a query: it has a meaning in addresses")
    return name


@frozen
class RegisterQuery(Change):
    """The start of a continuous query; with ``replaces``, instead of one of this name, if there is
    one. ``by`` is who sent it; empty if that is not known. ``found``: what the query finds at its
    start raises its alerts, as if it came.
    """

    kind: ClassVar[str] = "query"

    name: str
    text: str
    by: str = ""
    replaces: bool = False
    found: bool = False

    def encode(self) -> tuple[bytes, str]:
        told = {"query": self.text, "by": self.by, "replaces": self.replaces}
        return json_content({**told, "found": True} if self.found else told), self.name

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        text = content.decode()
        # The text alone will do, too; no query begins like this.
        if not text.startswith('{"query":'):
            return cls(source, text)
        told = json.loads(text)
        kept = told["query"], told["by"], told["replaces"]
        return cls(source, *kept, told.get("found", False))

    def check(self, target: Target) -> None:
        """Check that the query can be registered.

        Raises:
            QueryError: the text is not a valid query, or no query can have this name.
            UnsupportedQuery: it cannot be a continuous query.
            Overrun: it would take more than the limits to begin.
            QueryConflict: the name is taken, or too many queries run.
        """
        running = target.engine.queries.processor.queries
        if checked_name(self.name) in running and not self.replaces:
            raise QueryConflict(f"a query named '{self.name}' runs already: choose another name")
        if self.name not in running and len(running) >= MOST_QUERIES:
            raise QueryConflict(f"{MOST_QUERIES} queries run already: remove one first")
        target.engine.queries.check(self.name, self.text, replaces=self.replaces)

    def make(self, target: Target, message: Message) -> Outcome:
        engine = target.engine
        now = message.received if engine.now is None else engine.now
        at, told = now if self.found else None, (self.name, self.text, message.id)
        engine.queries.register(*told, replaces=self.replaces, found=at)
        return _outcome(target, message, self.name)

    def fails_now(self, target: Target, record: Record, error: SensorStreamError) -> None:
        """Report the loss with the next outcome that is stored."""
        target.engine.queries.lose(self.name, record.message.id, error)


@frozen
class RemoveQuery(Change):
    """The end of a continuous query; ``by`` is who removed it, empty if that is not known."""

    kind: ClassVar[str] = "query-end"
    columns: ClassVar[tuple[str, str]] = ("by", "name")

    name: str
    by: str = ""

    def check(self, target: Target) -> None:
        """Raise UnknownQuery unless there is a query of this name."""
        if not target.engine.queries.knows(self.name):
            raise UnknownQuery(f"there is no query '{self.name}'")

    def make(self, target: Target, message: Message) -> Outcome:
        target.engine.unregister(self.name)
        return _outcome(target, message, self.name)


@frozen
class QueryStopped(Entry):
    """The stop of a continuous query that went over its limits while the entry ``at`` was applied.

    It is written after that entry, whose effects report it. A replay lifts the limits and obeys
    this entry instead, since durations differ from run to run. To save the time, a replay stops the
    query before ``at`` is applied (:func:`.recovery.recover`).
    """

    kind: ClassVar[str] = "query-stopped"

    name: str
    registered: str
    """The journal's id of its registration."""
    at: int
    reason: str

    def encode(self) -> tuple[bytes, str]:
        return f"{self.registered} {self.at} {self.reason}".encode(), self.name

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        registered, at, reason = content.decode().split(" ", 2)
        return cls(source, registered, int(at), reason)

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        target.engine.queries.stop(self.name, self.registered, self.reason)
        return Entry.apply(self, target, record, refused)


def _outcome(target: Target, message: Message, name: str) -> Outcome:
    """The outcome of a query's start or removal: it ends the alerts of its stop or failure."""
    engine = target.engine
    now = engine.now or 0
    stopped = Cleared("", STOPPED, name, now, message.id)
    alerts = engine.queries.alerts
    over = alerts.over(message.id, now, 0)
    found, ended = alerts.raised(message.id, 0)
    return Outcome(message, Status.ACCEPTED, alerts=found, cleared=(stopped, *over, *ended))


def stops_of(target: Target, at: int) -> list[QueryStopped]:
    """The entries for the queries that the entry ``at`` has stopped by their limits."""
    return [
        QueryStopped(each.name, each.entry, at, each.reason)
        for each in target.engine.queries.take_overruns()
    ]


@frozen
class PutWebhook(Entry):
    """A new or changed webhook; ``by`` is who sent it."""

    kind: ClassVar[str] = "webhook-put"

    webhook: str
    definition: WebhookDefinition
    by: str

    def encode(self) -> tuple[bytes, str]:
        first = dict.fromkeys(("url", "queries", "format"))
        told = {**first, "by": self.by, **self.definition.data()}
        return json_content(told), self.webhook

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        return cls(source, WebhookDefinition.read(told), told["by"])


@frozen
class RemoveWebhook(Entry):
    """The removal of a webhook; ``by`` is who removed it."""

    kind: ClassVar[str] = "webhook-end"
    columns: ClassVar[tuple[str, str]] = ("by", "webhook")

    webhook: str
    by: str
