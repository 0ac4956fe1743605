"""API keys: making, storage, recognition.

A key is ``ssk_`` and 32 random bytes. Its first characters, which name it, and the SHA-256 of the
whole are kept. Unlike passwords, keys need no slow hash: that many random bits cannot be guessed,
and each request computes the hash.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sensorstream.access.roles import Identity, Role, all_of
from sensorstream.errors import Unauthenticated
from sensorstream.model.frozen import field, frozen

MARK: Final = "ssk_"
"""The beginning of every key."""
_SHOWN: Final = 12
"""Characters of a key that are not secret: 4 of the mark, 8 random ones."""
_BYTES: Final = 32


@frozen
class Key:
    """A key as it is kept; all times are aware. ``sources`` are those that its messages may come
    from; None: any. ``used_at`` may be a minute behind.
    """

    prefix: str
    name: str
    digest: bytes = field(repr=False)
    roles: tuple[Role, ...]
    sources: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def state(self, now: datetime) -> str:
        """The state of the key: ``active``, ``revoked`` or ``expired``."""
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.expires_at is None or now < self.expires_at else "expired"

    def identity(self) -> Identity:
        sources = None if self.sources is None else frozenset(self.sources)
        return Identity("key", self.name, all_of(self.roles), sources, self.prefix)


def new_secret() -> str:
    """A new key, as its owner gets it."""
    return MARK + secrets.token_urlsafe(_BYTES)


def prefix_of(secret: str) -> str:
    """The part of a key that may be shown."""
    return secret[:_SHOWN]


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 by which a key or a token is known."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


class KeyRing:
    """The keys, by which a shown key is recognised. Immutable: shared between threads."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = {each.prefix: (each, each.identity()) for each in keys}

    def identify(self, secret: str, now: datetime) -> Identity:
        """Return the identity of the owner of a key.

        Raises Unauthenticated if the key is unknown, revoked or expired; the error says which only
        to a caller with the whole key.
        """
        found = self._keys.get(prefix_of(secret))
        # In constant time: the time to compare must not tell how much of a guess is right.
        if found is None or not hmac.compare_digest(found[0].digest, digest_of(secret)):
            raise Unauthenticated("there is no such key: 'sensorstream keys list' names them all")
        key, identity = found
        state = key.state(now)
        if state != "active":
            when = key.revoked_at or key.expires_at
            raise Unauthenticated(f"the key '{key.name}' ({key.prefix}…) is {state} since {when}")
        return identity

    def admits(self, identity: Identity, now: datetime) -> bool:
        """Whether a key that was recognised before is still active."""
        found = self._keys.get(identity.key)
        return found is not None and found[0].state(now) == "active"
