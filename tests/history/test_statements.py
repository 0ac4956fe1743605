"""The statements of history in the order of time, against a list of them."""

from __future__ import annotations

import random

import pytest

from sensorstream.history.database import opened
from sensorstream.history.statements import (
    HeldStatement,
    StatementChange,
    archived_after,
    changes,
    inferred_between,
)
from sensorstream.history.store import PostgresStore
from sensorstream.model.events import Ended, Provenance
from sensorstream.model.terms import IRI, BlankNode, Literal
from tests.databases import execute
from tests.history.test_store import EX, effects, entry

VALUES = (IRI(f"{EX}a"), BlankNode("_:b"), Literal("1"), Literal("1", language="en"))


@pytest.fixture
def said(store: PostgresStore) -> list[Ended]:
    """Statements of message 1, and some that hold at no instant."""
    chance = random.Random(5)
    store.append([entry(1)])
    made = []
    for stay in range(1, 80):
        start = chance.randrange(30)
        name, end = IRI(f"{EX}{stay % 3}"), start + chance.randrange(9)
        triple = (name, IRI(f"{EX}p{stay % 2}"), chance.choice(VALUES))
        inferred = chance.random() < 0.4
        made.append(Ended(stay, name, triple, Provenance("m1", start), end, inferred=inferred))
    store.commit(effects(1, 1, ended=made))
    # Filled in without a window.
    execute(store.url, "update store.statements set message = -1 where stay > 70")
    return [each for each in made if each.stay <= 70]


@pytest.mark.parametrize(("start", "end"), [(0, 99), (10, 20), (15, 16), (50, 60)])
def test_changes_are_the_begins_and_ends_in_a_span(
    store: PostgresStore, said: list[Ended], start: int, end: int
) -> None:
    expected = []
    for each in said:
        begun, over = each.valid_from, each.valid_to
        if not each.inferred and begun < over and begun < end and over > start:
            expected.append(StatementChange(max(begun, start), True, each.triple, each.stay, 1))
            if over < end:
                expected.append(StatementChange(over, False, each.triple, each.stay, 1))
    found = list(changes(store.url, start, end))
    assert [(each.time, each.added) for each in found] == sorted((e.time, e.added) for e in found)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_what_was_inferred_in_a_span_is_found_with_what_ended_at_its_begin(
    store: PostgresStore, said: list[Ended]
) -> None:
    with opened(store.url, "cannot read") as cursor:
        for start in range(40):
            end = start + start % 3 * 5
            assert sorted(inferred_between(cursor, start, end), key=repr) == sorted(
                (
                    HeldStatement(each.triple, each.stay, 1, each.valid_from, each.valid_to)
                    for each in said
                    if each.inferred
                    and each.valid_from < each.valid_to
                    and each.valid_from <= end
                    and each.valid_to >= start
                ),
                key=repr,
            )


def test_only_what_is_in_the_archive_alone_is_after_a_time(store: PostgresStore) -> None:
    execute(
        store.url,
        "insert into store.archives (name, ended_from, ended_before, state) values "
        "('a', 0, 10, 'archived'), ('b', 10, 20, 'archived'), ('c', 20, 30, 'restored')",
    )
    with opened(store.url, "cannot read") as cursor:
        assert [archived_after(cursor, each) for each in (5, 19, 20)] == [20, 20, None]
