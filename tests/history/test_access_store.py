"""Keys and the audit log in PostgreSQL, against plain lists of both."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, text

from sensorstream.access.api_keys import Key
from sensorstream.access.audit import AuditedChange
from sensorstream.access.roles import Role
from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_keys_are_those_of_a_list(database: Engine) -> None:
    chance, kept, known = random.Random(7), PostgresKeys(database), list[Key]()
    for number in range(60):
        now = START + timedelta(seconds=number)
        later = now + timedelta(seconds=chance.randrange(90))
        one = chance.choice(known) if known else None
        match chance.choice(("add", "replace", "revoke", "used")):
            case "revoke" if one is not None:
                named = chance.choice((one.name, one.prefix))
                ended = [k for k in known if named in (k.name, k.prefix) and not k.revoked_at]
                assert sorted(kept.revoke(named, now)) == sorted(each.prefix for each in ended)
                known = [replace(k, revoked_at=now) if k in ended else k for k in known]
            case "used" if one is not None:
                kept.used({one.prefix: now, "gone": now})
                known = [replace(k, used_at=now) if k is one else k for k in known]
            case what:
                roles = tuple(chance.sample(list(Role), 2))
                sources = chance.choice((None, (), ("cam", "ü,{}")))
                ends = chance.choice((None, later))
                new = Key(f"ssk_{number}", chance.choice("abc"), b"\0", roles, sources, now, ends)
                kept.add(new, later if what == "replace" else None)
                if what == "replace":
                    known = [
                        replace(k, expires_at=min(later, k.expires_at or later))
                        if k.name == new.name
                        else k
                        for k in known
                    ]
                known.append(new)
        assert kept.all() == known
    with database.begin() as connection:
        connection.execute(text("update store.keys set roles = '{new,query}'"))
    assert {each.roles for each in kept.all()} == {(Role.QUERY,)}


def test_the_log_is_a_list_read_from_its_end(database: Engine) -> None:
    log = PostgresAuditLog(database)
    said = [
        AuditedChange(START + timedelta(days=n), "key", "ann", "::1", "PUT", path, 200 + n, n + 1)
        for n, path in enumerate(("/a", "/nul\0", "/\\0", "/ü", "/e"))
    ]
    for each in said:
        log.add(replace(each, seq=0))
    said[1] = replace(said[1], path="/nul\\0")
    for seq in (None, *range(7)):
        for limit in (1, 3, 9):
            found = [each for each in reversed(said) if seq is None or each.seq < seq]
            assert log.before(seq, limit) == found[:limit]
    log.forget(said[2].at)
    assert log.before(None, 9) == said[:1:-1]
