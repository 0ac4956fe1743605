"""The outcomes of messages that were taken in, and the replay of those in quarantine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from sensorstream.alerts.alert_records import LoggedDelivery, RaisedAlert
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.life.entry_queue import MessageSender
from sensorstream.app.questions.individuals import IndividualQuestions
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Busy, RepeatedMessage, SensorStreamError, UnknownMessage
from sensorstream.history.asked_records import (
    NOT_WHOLE,
    Choice,
    KeptMessage,
    Left,
    QuarantineChoice,
)
from sensorstream.journal.message import origin_of_replay
from sensorstream.model.frozen import frozen

MOST_INDIVIDUALS: Final = 1000
"""Individuals of a message whose statements are counted."""
MOST: Final = 1000
"""Messages that one request takes in anew."""
_DISMISSED: Final = 10_000
"""Messages that one request dismisses."""
_AT_ONCE: Final = 50
"""Replays that may wait for the engine at a time: their contents are held meanwhile."""
_FULL: Final = 0.05
"""Seconds between two attempts while there is no room."""


@frozen
class KnownOrigin:
    """A message, its SHA-256, and the alerts that its facts name, early and late."""

    message: KeptMessage
    digest: bytes
    alerts: Sequence[RaisedAlert]


@frozen
class Life:
    """The life of a message up to now.

    ``facts`` are the latest ones, those of a held message when it had its turn; None: nothing is
    known. ``live`` counts the statements in the window that it said, and that it caused. ``left``
    is what history has of it. ``replay`` names the message that came instead of it, if one did.
    """

    message: KeptMessage
    facts: Mapping[str, Any] | None
    alerts: Sequence[RaisedAlert]
    deliveries: Sequence[LoggedDelivery]
    live: tuple[int, int]
    left: Left
    replay: str | None = None


@frozen
class Replayed:
    """A message of the quarantine with its ``seq`` and id, and its outcome now."""

    seq: int
    name: str
    told: Outcome | SensorStreamError

    @property
    def well(self) -> bool:
        """Whether nothing of it is in quarantine now."""
        return isinstance(self.told, Outcome) and self.told.status not in NOT_WHOLE


class Messages:
    """The messages of the journal with their alerts and statements, and their replay. Thread-safe.
    It raises :class:`.HistoryError` if they cannot be read, :class:`.Unavailable` if the window
    cannot be now, and :class:`.UnknownMessage` if the journal has no message of a name.
    """

    def __init__(self, app: Handle, individuals: IndividualQuestions) -> None:
        self._app = app
        self._individuals = individuals

    def of_origins(self, origins: Collection[str]) -> Mapping[str, KnownOrigin]:
        """The newest message of each origin that the journal has."""
        found = self._app.reader.kept_by_origins(origins)
        names = {name for each, _ in found.values() for name in _alerts(each.facts)}
        raised = {each.id: each for each in self._raised(names)}
        return {
            origin: KnownOrigin(
                each, digest, [raised[name] for name in _alerts(each.facts) if name in raised]
            )
            for origin, (each, digest) in found.items()
        }

    def life(self, name: str) -> Life:
        """The life of a message: its content, and its effects until now."""
        message = self._app.reader.kept_message(name)
        first = message.facts
        facts = None if first is None else first.get("settled", first)
        names = [] if facts is None else facts["individuals"][:MOST_INDIVIDUALS]
        # First the window: what leaves it meanwhile is in history then.
        live = self._individuals.said_by(message.id, names)
        left = Left()
        if names:
            left = self._app.reader.left_for_history(message, names)
        raised = self._raised(_alerts(first))
        ids = [each.id for each in raised]
        deliveries = self._app.reader.deliveries_of_alerts(ids) if ids else []
        replay = self._app.reader.replay_of_message(message.id)
        return Life(message, facts, raised, deliveries, live, left, replay)

    def replay(self, name: str, content: bytes | None, sender: MessageSender) -> Future[Outcome]:
        """Take one message in anew, as it came or with another content. The future raises what a
        new message would, and :class:`.RepeatedMessage` if it was replayed before.

        Raises:
            UnknownMessage: it is not in quarantine.
        """
        message = self._app.reader.kept_message(name)
        if message.status not in NOT_WHOLE or message.dismissed_at is not None:
            raise UnknownMessage(f"message {message.id} is not in quarantine")
        found = self._app.reader.content_of_message(name) if content is None else content
        origin = origin_of_replay(message.id)
        return self._app.pipeline.submit(found, message.source, sender, origin=origin)

    def replay_all(self, choice: Choice, sender: MessageSender) -> Sequence[Replayed]:
        """Take chosen messages in anew, as they came, in their order; waits until all is done.

        Raises:
            Busy: there is no room for the first; for the others it is waited for.
        """
        done: list[Replayed] = []
        under_way: deque[tuple[int, str, Future[Outcome]]] = deque()
        for position, (seq, name, source) in enumerate(choice.first):
            if len(under_way) >= _AT_ONCE:
                done.append(_done(*under_way.popleft()))
            while True:
                try:
                    content = self._app.reader.content_of_message(name)
                except UnknownMessage as error:  # It was erased meanwhile.
                    done.append(Replayed(seq, name, error))
                    break
                origin = origin_of_replay(name)
                entered = self._app.pipeline.submit(content, source, sender, origin=origin)
                if not (entered.done() and isinstance(busy := entered.exception(), Busy)):
                    under_way.append((seq, name, entered))
                    break
                if not position:
                    raise busy
                if under_way:
                    done.append(_done(*under_way.popleft()))
                else:
                    time.sleep(_FULL)
        return [*done, *(_done(*each) for each in under_way)]

    def dismiss(self, name: str) -> None:
        """Take one message out of quarantine; the journal keeps it.

        Raises:
            UnknownMessage: it is not in quarantine.
        """
        seq = self._app.reader.kept_message(name).seq
        gone, _ = self.dismiss_all(QuarantineChoice(after=seq - 1, before=seq + 1))
        if not gone:
            raise UnknownMessage(f"message {name} is not in quarantine")

    def dismiss_all(self, chosen: QuarantineChoice) -> tuple[int, int]:
        """Take many messages out of quarantine; returns how many they are, and how many stay."""
        return self._app.reader.dismiss(chosen, _DISMISSED, self._app.clock.now())

    def _raised(self, names: Collection[str]) -> list[RaisedAlert]:
        return self._app.reader.alerts_named(names) if names else []


def _alerts(facts: Mapping[str, Any] | None) -> list[str]:
    facts = facts or {}
    return [*facts.get("alerts", ()), *facts.get("settled", {}).get("alerts", ())]


def _done(seq: int, name: str, entered: Future[Outcome]) -> Replayed:
    try:
        return Replayed(seq, name, entered.result())
    except RepeatedMessage:
        return Replayed(seq, name, RepeatedMessage(f"message {name} was replayed before"))
    except SensorStreamError as error:
        return Replayed(seq, name, error)
