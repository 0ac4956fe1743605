"""Tokens of a real provider: a small HTTP server with its keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from sensorstream.access.roles import Role
from sensorstream.access.tokens import Tokens, Trust
from sensorstream.errors import SettingsError, Unauthenticated, Unavailable
from sensorstream.testing import ManualClock

AUDIENCE = "sensors"


@dataclass
class Provider:
    """What the provider answers, and how often it was asked."""

    url: str = ""
    keys: list[dict[str, Any]] = field(default_factory=list)
    says: str = ""
    asked: int = 0
    wait: threading.Event | None = None
    """It answers when this is set."""
    up: bool = True


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def listening() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked += 1
            if provider.wait is not None:
                provider.wait.wait(300)
            if not provider.up:
                self.send_error(500)
                return
            about = {"issuer": provider.says or provider.url, "jwks_uri": f"{provider.url}/keys"}
            told = {"keys": provider.keys} if self.path == "/keys" else about
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield provider
        server.shutdown()
        thread.join()


@pytest.fixture
def provider(
    listening: Provider, rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> Provider:
    listening.keys = [
        {**json.loads(RSAAlgorithm.to_jwk(rsa_key.public_key())), "kid": "r", "use": "sig"},
        {**json.loads(ECAlgorithm.to_jwk(ec_key.public_key())), "kid": "e", "alg": "ES256"},
        {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "shared"},
    ]
    listening.says, listening.asked, listening.up = "", 0, True
    return listening


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def tokens(provider: Provider, clock: ManualClock) -> Tokens:
    return Tokens(Trust.of(provider.url, AUDIENCE, "groups", ("staff = operator",)), clock)


def claims(provider: Provider, **other: Any) -> dict[str, Any]:
    now = int(time.time())
    told = {"iss": provider.url, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 600}
    return {
        name: value
        for name, value in (told | {"groups": ["staff", "others"]} | other).items()
        if value is not None
    }


def test_signatures_of_each_kind_are_verified_and_roles_are_mapped(
    provider: Provider,
    tokens: Tokens,
    rsa_key: rsa.RSAPrivateKey,
    ec_key: ec.EllipticCurvePrivateKey,
) -> None:
    edwards = ed25519.Ed25519PrivateKey.generate()
    provider.keys.append({**json.loads(OKPAlgorithm.to_jwk(edwards.public_key())), "kid": "d"})
    for key, kid, algorithm in (
        (rsa_key, "r", "RS256"),
        (rsa_key, "r", "PS512"),
        (ec_key, "e", "ES256"),
        (edwards, "d", "EdDSA"),
    ):
        token = jwt.encode(claims(provider), key, algorithm, {"kid": kid})
        assert tokens.known(token) is None
        who = tokens.identify(token)
        assert (who.kind, who.name) == ("token", "ada")
        assert who.roles == {Role.OPERATOR, Role.QUERY}
        assert tokens.known(token) == who
    # One look at the provider: its description and its keys.
    assert provider.asked == 2


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"aud": "elsewhere"}, "Audience"),
        ({"aud": None}, "aud"),
        ({"iss": "https://elsewhere.example"}, "issuer"),
        ({"exp": 1}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "not valid"),
        ({"nbf": 4_000_000_000}, "not yet valid"),
        ({"sub": None}, "sub"),
        ({"sub": 7}, "not valid"),
    ],
)
def test_a_token_for_others_or_of_another_time_is_refused(
    provider: Provider,
    tokens: Tokens,
    ec_key: ec.EllipticCurvePrivateKey,
    other: dict[str, Any],
    told: str,
) -> None:
    token = jwt.encode(claims(provider, **other), ec_key, "ES256", {"kid": "e"})
    with pytest.raises(Unauthenticated, match=told):
        tokens.identify(token)


def test_the_clocks_may_differ_by_a_minute(
    provider: Provider, tokens: Tokens, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    late = claims(provider, exp=int(time.time()) - 30)
    assert tokens.identify(jwt.encode(late, ec_key, "ES256", {"kid": "e"})).name == "ada"


def deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def unsigned(header: dict[str, Any], body: dict[str, Any]) -> str:
    parts = [json.dumps(each).encode() for each in (header, body)]
    return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)


def test_the_token_does_not_choose_how_it_is_verified(
    provider: Provider,
    tokens: Tokens,
    rsa_key: rsa.RSAPrivateKey,
    ec_key: ec.EllipticCurvePrivateKey,
) -> None:
    public = rsa_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    forged = []
    for algorithm in ("none", "None", "", "HS256"):
        told = unsigned({"alg": algorithm, "kid": "r"}, claims(provider))
        forged.append(f"{told}.")
        # The public key as the shared secret.
        mac = hmac.new(public, told.encode(), hashlib.sha256).digest()
        forged.append(f"{told}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")
    shared = jwt.encode(claims(provider), "s" * 32, "HS256", {"kid": "shared"})
    other = ec.generate_private_key(ec.SECP256R1())
    forged += [
        shared,
        jwt.encode(claims(provider), other, "ES256", {"kid": "e"}),
        jwt.encode(claims(provider), ec_key, "ES256", {"kid": "r"}),
        jwt.encode(claims(provider), rsa_key, "RS256", {"kid": "e"}),
        jwt.encode(claims(provider), other, "ES256", {"kid": "e", "jwk": provider.keys[1]}),
        jwt.encode(claims(provider), ec_key, "ES256"),
        jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e", "crit": ["exp"], "exp": 1}),
        jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e", "crit": ["b64"], "b64": False}),
        unsigned({"alg": "ES256", "kid": "e"}, {"deep": deep(900)}) + ".AAAA",
        base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".e30.AAAA",
        "a.b.c",
        "\ud800.\x00.é",
        "." * 16_000,
        "x" * 20_000,
        unsigned({"alg": "ES256", "kid": ["e"]}, claims(provider)) + ".AAAA",
    ]
    for token in forged:
        with pytest.raises(Unauthenticated):
            tokens.identify(token)


def test_a_short_rsa_key_is_refused(provider: Provider, tokens: Tokens) -> None:
    short = rsa.generate_private_key(65537, 1024)
    provider.keys = [{**json.loads(RSAAlgorithm.to_jwk(short.public_key())), "kid": "s"}]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = jwt.encode(claims(provider), short, "RS256", {"kid": "s"})
    with pytest.raises(Unauthenticated, match="less than 2048 bits"):
        tokens.identify(token)


def test_new_keys_are_fetched_but_not_for_every_made_up_name(
    provider: Provider, tokens: Tokens, clock: ManualClock, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    old = jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e"})
    tokens.identify(old)
    new = ec.generate_private_key(ec.SECP256R1())
    provider.keys = [{**json.loads(ECAlgorithm.to_jwk(new.public_key())), "kid": "n"}]
    token = jwt.encode(claims(provider), new, "ES256", {"kid": "n"})
    for _ in range(5):
        with pytest.raises(Unauthenticated, match="does not name"):
            tokens.identify(token)
    assert provider.asked == 2
    clock.advance(31)
    assert tokens.identify(token).name == "ada"
    assert provider.asked == 4
    # The key that is gone is not trusted any more, nor what it has signed.
    assert tokens.known(old) is None
    with pytest.raises(Unauthenticated, match="does not name"):
        tokens.identify(old)


def test_while_a_provider_is_slow_only_who_needs_its_answer_waits(
    provider: Provider, tokens: Tokens, clock: ManualClock, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    tokens.identify(jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e"}))
    asked = provider.asked
    clock.advance(31)
    provider.wait = threading.Event()
    made_up = jwt.encode(claims(provider), ec_key, "ES256", {"kid": "made-up"})

    def ask() -> None:
        with pytest.raises(Unauthenticated):
            tokens.identify(made_up)

    first = threading.Thread(target=ask)
    first.start()
    try:
        while provider.asked == asked:
            time.sleep(0.01)
        for _ in range(5):
            with pytest.raises(Unavailable, match="are being fetched"):
                tokens.identify(made_up)
        clock.advance(7200)
        other = jwt.encode(claims(provider, sub="eve"), ec_key, "ES256", {"kid": "e"})
        assert tokens.identify(other).name == "eve", "its key is known, although it is old"
    finally:
        provider.wait.set()
        first.join()
        provider.wait = None


def test_without_its_provider_tokens_wait_until_the_keys_were_known(
    provider: Provider, tokens: Tokens, clock: ManualClock, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    token = jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e"})
    provider.up = False
    with pytest.raises(Unavailable, match="cannot be fetched now"):
        tokens.identify(token)
    provider.up = True
    clock.advance(31)
    assert tokens.identify(token).name == "ada"
    provider.up = False
    clock.advance(7200)
    assert tokens.identify(token).name == "ada"


def test_a_provider_that_says_it_is_another_is_not_trusted(
    provider: Provider, tokens: Tokens, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    provider.says = "https://elsewhere.example"
    with pytest.raises(Unavailable):
        tokens.identify(jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e"}))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("scope", {"scope": "openid staff"}),
        ("realm_access.roles", {"realm_access": {"roles": ["staff"]}}),
        ("https://example.org/roles", {"https://example.org/roles": ["staff"]}),
    ],
)
def test_roles_are_found_where_providers_write_them(
    provider: Provider, ec_key: ec.EllipticCurvePrivateKey, name: str, told: dict[str, Any]
) -> None:
    trust = Trust.of(provider.url, AUDIENCE, name, ("staff = query",))
    tokens = Tokens(trust, ManualClock())
    token = jwt.encode(claims(provider, **told), ec_key, "ES256", {"kid": "e"})
    assert tokens.identify(token).roles == {Role.QUERY}
    without = jwt.encode(claims(provider), ec_key, "ES256", {"kid": "e"})
    assert tokens.identify(without).roles == set()


def test_settings_that_would_trust_anybody_are_refused() -> None:
    for unsafe in ("http://issuer.example", "issuer.example", "", "https://", "ftp://127.0.0.1"):
        with pytest.raises(SettingsError, match=r"http\.issuer: expected"):
            Trust.of(unsafe, AUDIENCE, "roles", ())
    with pytest.raises(SettingsError, match=r"http\.audience is not set"):
        Trust.of("https://issuer.example", "", "roles", ())
