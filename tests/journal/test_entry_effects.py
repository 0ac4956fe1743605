"""The effects of a group of entries: what is stored, and what is deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry_effects import effects_of
from sensorstream.journal.records import OntologyVersion, Record
from sensorstream.model.events import (
    Alert,
    Cleared,
    Departure,
    Ended,
    Individual,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.terms import IRI, Literal

NAME = IRI("http://e/a")
NOW = datetime(2014, 8, 1, tzinfo=UTC)


def ended(value: str, start: int, end: int) -> Ended:
    return Ended(1, NAME, (NAME, IRI("http://e/p"), Literal(value)), Provenance("m1", start), end)


def entry(seq: int, kind: str = "message", content: bytes = b"") -> Record:
    return Record(seq, Message(f"m{seq}", content, seq, "text/turtle"), NOW, kind=kind)


def outcome(seq: int, **facts: object) -> Outcome:
    return replace(Outcome(entry(seq).message, Status.ACCEPTED), **facts)  # type: ignore[arg-type]


def test_what_a_group_itself_revokes_is_neither_stored_nor_deleted() -> None:
    wrong, right, stored = ended("1", 300, 302), ended("1", 300, 301), ended("0", 290, 300)
    effects = effects_of(
        [entry(1), entry(2)],
        [outcome(1, ended=(wrong,)), outcome(2, ended=(right,), revoked=(stored, wrong))],
    )
    assert effects.ended == (right,)
    assert effects.revoked == (stored,)


def test_the_statements_of_the_departed_end_with_their_stay() -> None:
    one = Individual(NAME, 3, 10, 10, 1, "m1", {ended("x", 0, 0).triple: Provenance("m1", 10)})
    effects = effects_of([entry(1)], [outcome(1, departures=(Departure(one, 30),))])
    assert [(e.stay, e.valid_from, e.valid_to) for e in effects.ended] == [(3, 10, 30)]


def test_an_ontology_is_told_with_the_time_from_which_it_is_in_force() -> None:
    records = [entry(1, "ontology", b"one"), entry(2, "ontology", b"two"), entry(3)]
    refused = replace(outcome(2), status=Status.REJECTED)
    effects = effects_of(records, [outcome(1, time=42), refused, outcome(3, time=43)])
    assert effects.ontologies == (OntologyVersion(1, 42, b"one", "text/turtle"),)
    assert effects.ontologies[0].digest == sha256(b"one").hexdigest()


def test_what_alerts_told_of_ends_in_the_order_in_which_it_was_told() -> None:
    def raised(number: int, kind: str = "rule") -> Alert:
        return Alert(f"m1-{number}", "hot", kind, "info", "", "k", 1, "m1")

    def cleared(place: int) -> Cleared:
        return Cleared("hot", "rule", "k", 1, "m1", place)

    alerts = (raised(0, "late-message"), raised(1), raised(2))
    found = effects_of([entry(1)], [outcome(1, alerts=alerts, cleared=(cleared(0), cleared(1)))])
    assert found.alerts == (raised(0, "late-message"), cleared(0), raised(1), cleared(1), raised(2))
    last = effects_of([entry(1)], [outcome(1, alerts=alerts, cleared=(cleared(2),))])
    assert last.alerts == (*alerts, cleared(2))
