"""Several statements in one round trip."""

from __future__ import annotations

from typing import Any

import pytest

from sensorstream.history.database import PipelinedCursor
from sensorstream.history.store import PostgresStore
from sensorstream.model.terms import IRI, Triple
from tests.history.test_store import EX, alert, departure, effects, entry


def test_a_message_costs_one_round_trip_for_the_journal_and_one_for_its_effects(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = IRI(f"{EX}human-1")
    triples: list[Triple] = [(human, IRI(f"{EX}knows"), IRI(f"{EX}human-{n}")) for n in range(5)]
    store.append([entry(1)])
    store.commit(effects(1, 1, departures=[departure(1, *triples)]))
    sent: list[str] = []
    execute = PipelinedCursor.execute

    def counted(self: PipelinedCursor, query: Any, values: Any = None) -> None:
        sent.append(str(query))
        execute(self, query, values)

    monkeypatch.setattr(PipelinedCursor, "execute", counted)
    monkeypatch.setattr(PipelinedCursor, "copy_expert", None)
    store.append([entry(2)])
    assert len(sent) == 1
    store.commit(effects(2, 2, departures=[departure(2, *triples)], alerts=[alert("m2-1")]))
    assert len(sent) == 2
