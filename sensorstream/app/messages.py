"""What the journal, the window and history say of messages that were taken in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sensorstream.alerts.records import LoggedDelivery, RaisedAlert
from sensorstream.app.handle import Handle
from sensorstream.app.individuals import Individuals
from sensorstream.history.alerts import alerts_named
from sensorstream.history.kept_messages import (
    KeptMessage,
    Left,
    Wanted,
    content_of_message,
    kept_by_origins,
    kept_message,
    kept_messages,
    left_for_history,
    replay_of_message,
)
from sensorstream.history.webhooks import deliveries_of_alerts

MOST_INDIVIDUALS: Final = 1000
"""Of so many individuals of a message the statements are counted."""


@dataclass(frozen=True, slots=True)
class Known:
    """A message, its SHA-256, and the alerts that its facts name, early and late."""

    message: KeptMessage
    digest: bytes
    alerts: Sequence[RaisedAlert]


@dataclass(frozen=True, slots=True)
class Life:
    """What became of a message up to now.

    ``facts`` are the latest ones, those of a held message when it had its turn; None: nothing is
    known. ``live`` counts the statements in the window that it said, and that it caused; None:
    the window is not here. ``left`` is what history has of it. ``replay`` names the message that
    came instead of it, if one did.
    """

    message: KeptMessage
    facts: Mapping[str, Any] | None
    alerts: Sequence[RaisedAlert]
    deliveries: Sequence[LoggedDelivery]
    live: tuple[int, int] | None
    left: Left
    replay: str | None = None


class Messages:
    """Reads the journal, the alerts and statements. Thread-safe."""

    def __init__(self, app: Handle, individuals: Individuals | None) -> None:
        """``individuals``: None where the window is not here."""
        self._app = app
        self._individuals = individuals

    def of_origins(self, origins: Collection[str]) -> Mapping[str, Known]:
        """The newest message of each origin that the journal has.

        Raises:
            HistoryError: the journal cannot be read.
        """
        found = kept_by_origins(self._app.database, origins)
        names = {name for each, _ in found.values() for name in _alerts(each.facts)}
        raised = {each.id: each for each in self._raised(names)}
        return {
            origin: Known(
                each, digest, [raised[name] for name in _alerts(each.facts) if name in raised]
            )
            for origin, (each, digest) in found.items()
        }

    def page(self, wanted: Wanted, limit: int) -> Sequence[KeptMessage]:
        """Some messages, newest first.

        Raises:
            HistoryError: the journal cannot be read.
        """
        return kept_messages(self._app.database, wanted, limit, self._app.seconds)

    def content(self, name: str) -> bytes:
        """The content of one message.

        Raises:
            UnknownMessage: the journal has none with this id.
            HistoryError: the journal cannot be read.
        """
        return content_of_message(self._app.database, name)

    def life(self, name: str) -> Life:
        """What became of one message.

        Raises:
            UnknownMessage: the journal has none with this id.
            Unavailable: the window cannot be read now.
            HistoryError: history cannot be read.
        """
        message = kept_message(self._app.database, name)
        first = message.facts
        facts = None if first is None else first.get("settled", first)
        names = [] if facts is None else facts["individuals"][:MOST_INDIVIDUALS]
        # First the window: what leaves it meanwhile is in history then.
        live = None if self._individuals is None else self._individuals.said_by(message.id, names)
        left = Left()
        if names:
            left = left_for_history(self._app.database, message, names, self._app.seconds)
        raised = self._raised(_alerts(first))
        ids = [each.id for each in raised]
        deliveries = deliveries_of_alerts(self._app.database, ids) if ids else []
        replay = replay_of_message(self._app.database, message.id)
        return Life(message, facts, raised, deliveries, live, left, replay)

    def _raised(self, names: Collection[str]) -> list[RaisedAlert]:
        return alerts_named(self._app.database, names) if names else []


def _alerts(facts: Mapping[str, Any] | None) -> list[str]:
    facts = facts or {}
    return [*facts.get("alerts", ()), *facts.get("settled", {}).get("alerts", ())]
