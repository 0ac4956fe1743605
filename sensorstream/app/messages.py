"""What the journal says of messages that were taken in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from sensorstream.alerts.records import RaisedAlert
from sensorstream.history.alerts import alerts_named
from sensorstream.history.kept_messages import KeptMessage, kept_by_origins


@dataclass(frozen=True, slots=True)
class Known:
    """A message, and the alerts that its facts name; those of a held one came later."""

    message: KeptMessage
    alerts: Sequence[RaisedAlert]


class Messages:
    """Reads the journal and the alerts. Thread-safe."""

    def __init__(self, database: Engine) -> None:
        self._database = database

    def of_origins(self, origins: Collection[str]) -> Mapping[str, Known]:
        """The newest message of each origin that the journal has.

        Raises:
            HistoryError: the journal cannot be read.
        """
        found = kept_by_origins(self._database, origins)
        return dict(zip(found, self._known(list(found.values())), strict=True))

    def _known(self, found: Sequence[KeptMessage]) -> list[Known]:
        named = {name for each in found for name in _alerts(each)}
        raised = {each.id: each for each in alerts_named(self._database, named)} if named else {}
        return [
            Known(each, [raised[name] for name in _alerts(each) if name in raised])
            for each in found
        ]


def _alerts(message: KeptMessage) -> list[str]:
    facts = message.facts or {}
    return [*facts.get("alerts", ()), *facts.get("settled", {}).get("alerts", ())]
