"""The control of access: keys and tokens, the audit log, and the rate of messages."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from sensorstream.access.api_keys import MARK, KeyRing
from sensorstream.access.audit import AuditedChange, Refusals
from sensorstream.access.roles import ANYBODY, Identity
from sensorstream.access.tokens import Tokens, Trust, admits
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.clock import Clock
from sensorstream.errors import HistoryError, SettingsError, TooFast, Unauthenticated
from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys
from sensorstream.settings.settings import HttpSettings

AUDIT: Final = logging.getLogger("sensorstream.audit")
"""One line for each change and each question."""
_LOG: Final = logging.getLogger(__name__)
_REFRESH: Final = 2.0
"""Seconds after which a new key works at the latest, and a revoked one does not any more."""
_VERIFYING: Final = 4
"""Tokens that are verified at once."""
_NOTE_USE: Final = timedelta(minutes=1)
_SHORTEN: Final = timedelta(hours=1)


class Access:
    """The identities of clients, and the log of their changes. Thread-safe. No request asks the
    database: a thread reads the keys every two seconds. While the database does not answer, the
    keys last read are those that count.
    """

    def __init__(
        self,
        keys: PostgresKeys,
        log: PostgresAuditLog,
        clock: Clock,
        *,
        needed: bool,
        audit_days: int,
        tokens: Tokens | None = None,
    ) -> None:
        """Begin without keys. ``needed``: a client without a key may do nothing; otherwise anybody
        may do all. ``tokens`` are accepted beside keys.
        """
        self.needed = needed
        self._keys = keys
        self._changes = log
        self.clock = clock
        self._audit_days = audit_days
        self._tokens = tokens
        self._verifying = CapacityLimiter(_VERIFYING)
        self._ring = KeyRing()
        self._used: dict[str, datetime] = {}
        self._noted = self._shortened = clock.now()
        self._refused, self._refused_changes = Refusals(), Refusals()
        trouble = "the keys are those of some time ago", "internal error in the control of access"
        self._beside = RepeatedWork("access", self._look, _REFRESH, trouble)

    def start(self) -> None:
        """Read the keys, and again and again from now on.

        Raises:
            HistoryError: the database cannot be read.
        """
        self.refresh()
        self._beside.start()

    def stop(self) -> None:
        """End the thread; the use of keys is noted."""
        self._beside.stop()
        self._tell_refused(last=True)
        try:
            self._tidy(last=True)
        except HistoryError as error:
            _LOG.warning("the last use of keys was not noted: %s", error)

    def refresh(self) -> None:
        """Read the keys now.

        Raises:
            HistoryError: the database cannot be read.
        """
        if self.needed:
            self._ring = KeyRing(self._keys.all())

    def known(self, credentials: str) -> Identity | None:
        """The identity for credentials: the text after ``Bearer``, or "" if there is none. None: it
        takes a while to find, by :meth:`identify`.

        Raises:
            Unauthenticated: they are not valid, or there are none and some are needed.
        """
        if not self.needed:
            return ANYBODY
        if not credentials:
            raise Unauthenticated("no key was shown: expected 'Authorization: Bearer <key>'")
        if credentials.startswith(MARK):
            now = self.clock.now()
            identity = self._ring.identify(credentials, now)
            self._used[identity.key] = now
            return identity
        if self._tokens is None:
            raise Unauthenticated(f"not a key: a key begins with {MARK}")
        return self._tokens.known(credentials)

    async def identify(self, credentials: str) -> Identity:
        """Return the identity for credentials, as :meth:`known` does.

        Raises:
            Unauthenticated: they are not valid, or there are none and some are needed.
            Unavailable: the provider of tokens does not answer.
        """
        known = self.known(credentials)
        if known is None:
            assert self._tokens is not None
            # In a thread: it computes for a while, and may ask the provider.
            known = await run_sync(self._tokens.identify, credentials, limiter=self._verifying)
        return known

    def admits(self, identity: Identity) -> bool:
        """Whether what was shown at the beginning of a long answer is still valid."""
        if identity.kind == "key":
            return self._ring.admits(identity, self.clock.now())
        return identity.kind != "token" or admits(identity, self.clock.now())

    def note(self, change: AuditedChange) -> None:
        """Write a request into the server's log; many refused ones are counted, see Refusals."""
        if self._refused.admits(change):
            AUDIT.info("%s", told(change))

    def record(self, change: AuditedChange) -> None:
        """Write a change into the audit log and the server's log; into the latter alone if the
        database fails. Many refused ones are counted, see Refusals.
        """
        if self._refused_changes.admits(change):
            self._keep(change)

    def changes(self, before: int | None, limit: int) -> Sequence[AuditedChange]:
        """Changes, newest first, with a number below ``before``."""
        return self._changes.before(before, limit)

    def _keep(self, change: AuditedChange) -> None:
        AUDIT.info("%s", told(change))
        try:
            self._changes.add(change)
        except HistoryError as error:
            _LOG.error("a change is not in the audit log: %s: %s", told(change), error)

    def _look(self) -> None:
        self._tell_refused()
        self.refresh()
        self._tidy()

    def _tell_refused(self, *, last: bool = False) -> None:
        now = self.clock.now()
        for each in self._refused.left_out(now, last=last):
            AUDIT.info("%s", told(each))
        for each in self._refused_changes.left_out(now, last=last):
            self._keep(each)

    def _tidy(self, *, last: bool = False) -> None:
        now = self.clock.now()
        if self._used and (last or now - self._noted >= _NOTE_USE):
            self._noted, used = now, dict(self._used)
            self._keys.used(used)
            for prefix, moment in used.items():
                if self._used.get(prefix) == moment:
                    del self._used[prefix]
        if now - self._shortened >= _SHORTEN:
            self._shortened = now
            self._changes.forget(now - timedelta(days=self._audit_days))


def tokens_of(settings: HttpSettings, clock: Clock) -> Tokens | None:
    """The tokens that are accepted beside keys; None: none.

    Raises:
        SettingsError: the settings do not fit.
        MissingExtra: the extra for tokens is not installed.
    """
    if not settings.issuer:
        return None
    if not settings.keys:
        raise SettingsError("http.issuer is set, but nobody needs a token: set http.keys = true")
    trust = Trust.of(settings.issuer, settings.audience, settings.roles_claim, settings.roles)
    return Tokens(trust, clock)


def told(change: AuditedChange) -> str:
    """A change as one line; the path cannot forge another one."""
    who = change.who if change.kind == "anonymous" else f"{change.kind} {change.who}"
    return f"{who!r} {change.address} {change.method} {change.path!r} {change.status}"


_BURST: Final = 10.0
"""Seconds of messages that an address may send at once, after a rest."""
_MOST: Final = 10_000
"""Addresses that are remembered: the one that was silent longest is forgotten first."""


class Rates:
    """A token bucket for each address. Thread-safe. A batch is admitted whole while the bucket is
    not empty, and leaves a debt that is worked off before the next message: so a batch needs no
    bucket of its size.
    """

    def __init__(self, rate: float) -> None:
        """``rate`` is in messages a second; 0: no limit."""
        self._rate = rate
        self._full = max(rate * _BURST, 1.0)
        # What an address may still send at a moment.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def charge(self, address: str, messages: int, now: float) -> None:
        """Let an address send messages at a moment, in seconds of a clock that never goes back.

        Raises:
            TooFast: it has sent too many; ``retry_after`` says when it may send again.
        """
        if not self._rate:
            return
        with self._lock:
            left, then = self._left.pop(address, (self._full, now))
            left = min(self._full, left + (now - then) * self._rate)
            refused = left < 1.0
            self._left[address] = (left if refused else left - messages, now)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        if refused:
            raise TooFast(
                f"{address} has sent more than {self._rate:g} messages a second: send more "
                "slowly; limits.rate allows more",
                retry_after=(1.0 - left) / self._rate,
            )
