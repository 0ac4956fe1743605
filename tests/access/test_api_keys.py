from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sensorstream.access.api_keys import Key, KeyRing, digest_of, new_secret, prefix_of
from sensorstream.access.roles import Role, all_of, role_mapping
from sensorstream.errors import SettingsError, Unauthenticated

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_key(secret: str) -> Key:
    return Key(prefix_of(secret), "grafana", digest_of(secret), (Role.OPERATOR,), ("camera",), NOW)


def test_a_key_is_recognised_by_its_whole_text_alone() -> None:
    secret, other = new_secret(), new_secret()
    ring = KeyRing([a_key(secret)])
    who = ring.identify(secret, NOW)
    assert (who.kind, who.name, who.sources) == ("key", "grafana", frozenset({"camera"}))
    assert who.roles == {Role.OPERATOR, Role.QUERY}
    for wrong in (other, secret[:-1], secret + "x", prefix_of(secret), secret[:12] + other[12:]):
        with pytest.raises(Unauthenticated, match="no such key"):
            ring.identify(wrong, NOW)


def test_a_key_has_32_random_bytes_and_none_are_kept() -> None:
    secret = new_secret()
    assert len(secret) == len("ssk_") + 43
    assert secret[12:] not in repr(a_key(secret))
    assert new_secret() != secret


def test_a_key_ends_when_it_expires_or_is_revoked() -> None:
    secret = new_secret()
    end = NOW + timedelta(days=1)
    lasting = replace(a_key(secret), expires_at=end)
    ring = KeyRing([lasting])
    who = ring.identify(secret, end - timedelta(microseconds=1))
    assert ring.admits(who, end - timedelta(microseconds=1))
    assert not ring.admits(who, end)
    with pytest.raises(Unauthenticated, match=r"'grafana'.* is expired since 2026-03-02"):
        ring.identify(secret, end)
    revoked = KeyRing([replace(lasting, revoked_at=NOW)])
    assert not revoked.admits(who, NOW)
    with pytest.raises(Unauthenticated, match="is revoked since 2026-03-01"):
        revoked.identify(secret, NOW)
    assert not KeyRing().admits(who, NOW)


def test_an_admin_may_do_what_an_operator_may_but_messages_are_apart() -> None:
    assert all_of([Role.ADMIN]) == set(Role) - {Role.INGEST}
    assert all_of([Role.QUERY]) == {Role.QUERY}
    assert all_of([Role.INGEST]) == {Role.INGEST}
    assert all_of([Role.INGEST, Role.OPERATOR]) == {Role.INGEST, Role.OPERATOR, Role.QUERY}
    assert all_of([]) == set()


def test_the_values_of_a_claim_are_mapped_to_roles() -> None:
    assert role_mapping([]) == {each.value: each for each in Role}
    assert role_mapping(["a=b = admin", "staff=query"]) == {"a=b": Role.ADMIN, "staff": Role.QUERY}
    for wrong in ("admin", "= admin", "staff = chief"):
        with pytest.raises(SettingsError, match=r"http\.roles: expected .* not "):
            role_mapping([wrong])
