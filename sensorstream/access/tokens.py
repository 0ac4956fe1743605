"""Bearer tokens of an OpenID provider (extra ``oidc``).

Source: OpenID Connect Discovery 1.0, sections 3 and 4; RFC 7519 (JWT), RFC 7517 (JWK), RFC 8725
(best practices: the server chooses the algorithms, not the token).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

from sensorstream.access.api_keys import digest_of
from sensorstream.access.roles import Identity, Role, all_of, role_mapping
from sensorstream.clock import Clock
from sensorstream.errors import SettingsError, Unauthenticated, Unavailable
from sensorstream.installation import require
from sensorstream.model.frozen import frozen

_LOG = logging.getLogger(__name__)
_ALGORITHMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""The algorithms that are accepted, and the kind of their keys. With a shared secret (HS256) the
provider's public key could be taken for the secret, and ``none`` is no signature.
"""
_LEEWAY: Final = timedelta(minutes=1)
"""The tolerated difference of the provider's clock."""
_FRESH: Final = timedelta(hours=1)
"""The time for which the provider's keys are used before they are fetched again."""
_PATIENCE: Final = timedelta(seconds=30)
"""Time between two tries to fetch the keys: tokens with made-up keys must not become requests."""
_SECONDS: Final = 10.0
"""The time limit of a request to the provider."""
_LONGEST_ANSWER: Final = 1 << 20
_LONGEST_TOKEN: Final = 16_384
_KEPT: Final = 1000
"""Verified tokens that are remembered: to verify one takes as long as ten requests."""
_SMALLEST_RSA: Final = 2048


@frozen
class Trust:
    """The provider, and the tokens that are accepted; ``roles`` maps the values of ``claim``."""

    issuer: str
    audience: str
    claim: str
    roles: Mapping[str, Role]

    @classmethod
    def of(cls, issuer: str, audience: str, claim: str, roles: tuple[str, ...]) -> Trust:
        """Read the settings ``http.issuer`` and so on.

        Raises:
            SettingsError: they do not fit.
            MissingExtra: the extra is not installed.
        """
        require("oidc", "http.issuer")
        issuer = issuer.rstrip("/")
        if not _is_safe(issuer):
            raise SettingsError(
                f"http.issuer: expected an address that begins with https://, not '{issuer}'"
            )
        if not audience:
            raise SettingsError(
                "http.audience is not set: without it a token for another service would do"
            )
        return cls(issuer, audience, claim, role_mapping(roles))


class Tokens:
    """The verification of tokens with the provider's keys, which may take seconds. Thread-safe."""

    def __init__(self, trust: Trust, clock: Clock) -> None:
        self._trust = trust
        self._clock = clock
        self._keys: Mapping[str, Mapping[str, Any]] = {}
        self._fetched = self._tried = datetime.min.replace(tzinfo=UTC)
        self._fetching = Lock()
        self._known: dict[bytes, Identity] = {}

    def known(self, token: str) -> Identity | None:
        """The identity of a token that was verified before; None: :meth:`identify` has to do it."""
        found = self._known.get(digest_of(token))
        if found is None or not admits(found, self._clock.now()):
            return None
        return found

    def identify(self, token: str) -> Identity:
        """Verify a token and return its identity.

        Raises:
            Unauthenticated: it is not valid.
            Unavailable: the provider does not answer, and its keys are not known.
        """
        import jwt

        if len(token) > _LONGEST_TOKEN:
            raise Unauthenticated(f"the token is longer than {_LONGEST_TOKEN} characters")
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")), str(header.get("alg", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=list(_ALGORITHMS),
                audience=self._trust.audience,
                issuer=self._trust.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise Unauthenticated(f"the token is not valid: {error}") from None
        try:
            until = datetime.fromtimestamp(claims["exp"], UTC) + _LEEWAY
        except (OverflowError, OSError, ValueError, TypeError):
            until = datetime.max.replace(tzinfo=UTC)
        roles = all_of(
            self._trust.roles[each]
            for each in _values(claims, self._trust.claim)
            if each in self._trust.roles
        )
        found = Identity("token", str(claims["sub"])[:200], roles, until=until)
        while len(self._known) >= _KEPT:
            self._known.pop(next(iter(self._known)), None)
        self._known[digest_of(token)] = found
        return found

    def _key(self, name: str, algorithm: str) -> Any:
        """The provider's public key that a token names, for an algorithm.

        Raises:
            Unauthenticated: there is no such key, or it is not for this algorithm.
        """
        import jwt
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

        kind = _ALGORITHMS.get(algorithm)
        if kind is None:
            raise Unauthenticated(f"the token's algorithm is '{algorithm[:20]}', not a signature")
        found = self._found(name)
        if found["kty"] != kind or found.get("alg", algorithm) != algorithm:
            raise Unauthenticated("the token's key is not for its algorithm")
        key = jwt.PyJWK.from_dict(dict(found), algorithm=algorithm)
        if isinstance(key.key, RSAPublicKey) and key.key.key_size < _SMALLEST_RSA:
            raise Unauthenticated(f"the token's key has less than {_SMALLEST_RSA} bits")
        return key

    def _found(self, name: str) -> Mapping[str, Any]:
        now = self._clock.now()
        if now - self._fetched > _FRESH or self._named(name) is None:
            # While keys are known, no other request waits for a slow provider: otherwise tokens
            # with made-up key names could take all places.
            if self._fetching.acquire(blocking=not self._keys):
                try:
                    if now - self._tried > _PATIENCE:
                        self._tried = now
                        self._fetch()
                finally:
                    self._fetching.release()
            elif self._named(name) is None:
                raise Unavailable(f"the keys of {self._trust.issuer} are being fetched")
        found = self._named(name)
        if found is not None:
            return found
        if not self._keys:
            raise Unavailable(f"the keys of {self._trust.issuer} cannot be fetched now")
        raise Unauthenticated("the token is signed by a key that its issuer does not name")

    def _named(self, name: str) -> Mapping[str, Any] | None:
        keys = self._keys
        if not name and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(name)

    def _fetch(self) -> None:
        import httpx

        issuer = self._trust.issuer
        try:
            found = _read(f"{issuer}/.well-known/openid-configuration", self._clock)
            if str(found.get("issuer", "")).rstrip("/") != issuer:
                raise ValueError(f"it says that it is '{found.get('issuer')}'")
            address = str(found.get("jwks_uri", ""))
            if not _is_safe(address) or (issuer[:6] == "https:" and address[:6] != "https:"):
                raise ValueError(f"its keys are at '{address}', which is not https")
            listed = _read(address, self._clock).get("keys")
            self._keys = {
                str(each.get("kid", "")): each
                for each in (listed if isinstance(listed, list) else [])
                if isinstance(each, dict)
                and each.get("kty") in _ALGORITHMS.values()
                and each.get("use", "sig") == "sig"
            }
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            _LOG.warning("the keys of %s cannot be fetched: %s", issuer, error)
        else:
            self._fetched = self._clock.now()
            # A key that is gone signs nothing any more.
            self._known = {}


def admits(identity: Identity, now: datetime) -> bool:
    """Whether a token that was valid still is."""
    return identity.until is None or now < identity.until


def _read(url: str, clock: Clock) -> dict[str, Any]:
    """A JSON object from the web.

    Raises:
        ValueError, httpx.HTTPError: there is none, it is too long, or it takes too long.
    """
    import httpx

    end = clock.counter() + _SECONDS
    content = b""
    with httpx.Client(trust_env=False, timeout=_SECONDS) as client, client.stream("GET", url) as it:
        if it.status_code != httpx.codes.OK:
            raise ValueError(f"{url} answered {it.status_code}")
        for piece in it.iter_bytes():
            content += piece
            if len(content) > _LONGEST_ANSWER or clock.counter() > end:
                raise ValueError(f"the answer of {url} is too long")
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError(f"{url} is not a JSON object")
    return found


def _is_safe(url: str) -> bool:
    """Whether nobody on the way can change the answer: HTTPS, or this machine."""
    try:
        parts = urlsplit(url)
        if parts.scheme == "https":
            return bool(parts.hostname)
        return parts.scheme == "http" and ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _values(claims: Mapping[str, Any], name: str) -> Iterator[str]:
    """The values of a claim: a list, or words (as in ``scope``); ``a.b`` is ``b`` within ``a``."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        yield from found.split()
    elif isinstance(found, list):
        yield from (each for each in found if isinstance(each, str))
