from __future__ import annotations

import base64
import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx
import pytest

from sensorstream.access.api_keys import Key, digest_of, new_secret, prefix_of
from sensorstream.access.roles import Identity, Role
from sensorstream.access.tokens import Tokens
from sensorstream.app.application import Application
from sensorstream.app.life.access_control import Access
from sensorstream.errors import Unauthenticated, Unavailable
from sensorstream.server.access_rules import RULES
from sensorstream.testing import ManualClock
from tests.server.memory import MemoryApplication
from tests.server.resources import NOW, MemoryAuditLog, MemoryKeys

XML = {"Content-Type": "application/xml"}
SOAP = (
    '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
    '<s:postMessage xmlns:s="urn:sensorstream:soap"><s:message>&lt;A/&gt;</s:message>'
    "</s:postMessage></e:Body></e:Envelope>"
)


@dataclass
class Kept:
    """A server that needs keys, and what is behind it."""

    client: httpx.Client
    keys: MemoryKeys
    log: MemoryAuditLog
    access: Access
    clock: ManualClock

    def key(self, *roles: Role, sources: tuple[str, ...] | None = None, name: str = "k") -> str:
        secret = new_secret()
        self.keys.kept.append(Key(prefix_of(secret), name, digest_of(secret), roles, sources, NOW))
        self.access.refresh()
        return secret

    def ask(self, method: str, path: str, secret: str | None = None, **more: object) -> int:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return self.client.request(method, path, headers=headers, **more).status_code  # type: ignore[arg-type]


@pytest.fixture
def kept(listen: Callable[[Application], Iterator[str]]) -> Iterator[Kept]:
    application = MemoryApplication()
    keys, log, clock = MemoryKeys(), MemoryAuditLog(), ManualClock(NOW)
    application.access = Access(keys, log, clock, needed=True, audit_days=30)
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Kept(client, keys, log, application.access, clock)


def test_every_operation_has_its_rule_and_every_rule_its_operation(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, each in paths.items() for method in each}
    pages = ("/", "/docs", "/openapi.json", "/assets/{path:path}", "/console/{path:path}")
    forms = {("POST", "/console/{path:path}")}
    assert set(RULES) == described | forms | {("GET", path) for path in pages}


def test_without_a_key_only_the_open_operations_answer(kept: Kept) -> None:
    for (method, path), rule in RULES.items():
        where = re.sub(r"\{[^}]*\}", "x", path)
        answer = kept.client.request(method, where)
        if rule.roles:
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == 'Bearer realm="sensorstream"'
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["type"] == "urn:sensorstream:error:unauthenticated"
        else:
            assert answer.status_code != 401, (method, path)
    assert kept.ask("GET", "/there/is/none") == 401


@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_do_what_the_table_says_and_no_more(kept: Kept, role: Role) -> None:
    secret = kept.key(role)
    may = {
        Role.INGEST: {Role.INGEST},
        Role.QUERY: {Role.QUERY},
        Role.OPERATOR: {Role.QUERY, Role.OPERATOR},
        Role.ADMIN: {Role.QUERY, Role.OPERATOR, Role.ADMIN},
    }[role]
    for (method, path), rule in RULES.items():
        if path == "/alerts/stream" or not rule.roles:
            continue
        where = re.sub(r"\{[^}]*\}", "x", path)
        answer = kept.client.request(method, where, headers={"Authorization": f"Bearer {secret}"})
        if may.intersection(rule.roles):
            assert answer.status_code not in (401, 403), (method, path)
        else:
            assert answer.status_code == 403, (method, path)
            assert f"the role {rule.roles[0]}" in answer.json()["detail"]
            assert "insufficient_scope" in answer.headers["www-authenticate"]
    assert kept.ask("GET", "/there/is/none", secret) == 404
    assert kept.ask("PATCH", "/window", secret) == 405


def test_encoded_names_cannot_lead_around_a_rule(kept: Kept) -> None:
    secret = kept.key(Role.QUERY)
    for path in ("/queries/a%2Fb", "/queries/a%2Fresults", "/queries/%2e%2e", "/queries//a"):
        assert kept.ask("DELETE", path, secret) in (403, 404), path
        assert kept.ask("DELETE", path) in (401, 404), path
    for path in ("//webhooks", "/Webhooks", "/webhooks/", "/./ontology", "/ontology%00"):
        assert kept.ask("PUT", path, secret) in (400, 403, 404, 405), path
    assert kept.ask("HEAD", "/webhooks", secret) == 403


@pytest.mark.parametrize(
    "shown",
    [
        "Basic dTpw",
        "Bearer",
        "Bearer ssk_",
        "Bearer nonsense",
        "Bearer " + "ssk_" + "x" * 20_000,
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        "ssk_abc",
    ],
)
def test_what_is_no_key_is_refused(kept: Kept, shown: str) -> None:
    answer = kept.client.get("/window", headers={"Authorization": shown})
    assert answer.status_code == 401
    if len(shown) > 20:
        assert shown not in answer.text


def test_two_keys_in_one_request_are_refused(kept: Kept) -> None:
    value = f"Bearer {kept.key(Role.QUERY)}"
    answer = kept.client.get(
        "/window", headers=[("Authorization", value), ("Authorization", value)]
    )
    assert answer.status_code == 401


def test_a_revoked_or_expired_key_ends(kept: Kept) -> None:
    secret = kept.key(Role.QUERY)
    assert kept.ask("GET", "/window", secret) == 200
    key = kept.keys.kept.pop()
    kept.keys.kept.append(replace(key, expires_at=NOW + timedelta(hours=1)))
    kept.access.refresh()
    assert kept.ask("GET", "/window", secret) == 200
    kept.keys.kept[-1] = replace(key, revoked_at=NOW)
    kept.access.refresh()
    assert kept.ask("GET", "/window", secret) == 401


def test_a_stream_ends_with_its_key(
    kept: Kept, served: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is sent next finds out that the key is gone; by itself FastAPI sends every 15 s.
    monkeypatch.setattr("fastapi.routing._PING_INTERVAL", 0.1)
    secret = kept.key(Role.QUERY)
    key = kept.keys.kept[-1]
    listening = threading.Event()
    ended = threading.Event()

    def follow() -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        with kept.client.stream("GET", "/alerts/stream", headers=headers, timeout=60) as stream:
            for _ in stream.iter_lines():
                listening.set()
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert listening.wait(60)
    kept.keys.kept.remove(key)
    kept.access.refresh()
    assert ended.wait(60)
    thread.join()


def test_a_key_may_be_for_some_sources_only(kept: Kept) -> None:
    secret = kept.key(Role.INGEST, sources=("camera",))
    headers = {"Authorization": f"Bearer {secret}", **XML}

    def post(path: str, **more: str) -> httpx.Response:
        return kept.client.post(path, headers={**headers, **more}, content="<A/>")

    assert post("/messages?source=camera").status_code == 200
    refused = post("/messages?source=door")
    assert refused.status_code == 403
    assert "may send as camera, not as 'door'" in refused.json()["detail"]
    assert post("/messages").status_code == 403
    assert post("/messages?source=camera&source=door").status_code == 403
    lines = {"Content-Type": "application/x-ndjson"}
    assert post("/messages/batch?source=door", **lines).status_code == 403
    envelope = {"Content-Type": "text/xml"}
    answer = kept.client.post("/soap", headers={**headers, **envelope}, content=SOAP)
    assert answer.status_code == 403
    soap = kept.key(Role.INGEST, sources=("soap",))
    headers["Authorization"] = f"Bearer {soap}"
    answer = kept.client.post("/soap", headers={**headers, **envelope}, content=SOAP)
    assert answer.status_code == 200


def test_who_shows_no_key_learns_only_whether_the_server_is_ready(kept: Kept) -> None:
    assert kept.client.get("/readyz").json() == {"status": "ready", "parts": {}}
    shown = {"Authorization": f"Bearer {kept.key(Role.INGEST)}"}
    assert "pipeline" in kept.client.get("/readyz", headers=shown).json()["parts"]
    wrong = {"Authorization": f"Bearer {new_secret()}"}
    assert kept.client.get("/readyz", headers=wrong).json()["parts"] == {}


def test_changes_are_in_the_audit_log_and_nothing_else(kept: Kept) -> None:
    admin, reader = kept.key(Role.ADMIN, name="ada"), kept.key(Role.QUERY, name="bob")
    kept.log.kept.clear()
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    told = {"url": "http://127.0.0.1:9/hook?token=1", "secret": secret}
    assert kept.ask("POST", "/webhooks", admin, json=told) == 201
    assert kept.ask("DELETE", "/webhooks/none", admin) == 404
    assert kept.ask("DELETE", "/webhooks/none", reader) == 403
    assert kept.ask("GET", "/window", reader) == 200
    assert kept.ask("POST", "/sql", reader, json={"query": "select 1"}) == 200
    shown = {"Authorization": f"Bearer {admin}"}
    page = kept.client.get("/audit?limit=2", headers=shown).json()
    assert [
        (each["who"], each["method"], each["path"], each["status"]) for each in page["changes"]
    ] == [("bob", "DELETE", "/webhooks/none", 403), ("ada", "DELETE", "/webhooks/none", 404)]
    last = kept.client.get(page["next"], headers=shown).json()
    assert [(each["path"], each["kind"], each["address"]) for each in last["changes"]] == [
        ("/webhooks", "key", "127.0.0.1")
    ]
    assert last["next"] is None


def test_of_a_long_path_the_audit_log_keeps_the_beginning_and_tells_two_apart(kept: Kept) -> None:
    admin = kept.key(Role.ADMIN)
    for last in "ab":
        assert kept.ask("DELETE", f"/rules/{'x' * 50_000}{last}", admin) == 404
    newest, before = kept.client.get(
        "/audit?limit=2", headers={"Authorization": f"Bearer {admin}"}
    ).json()["changes"]
    assert {newest["status"], before["status"]} == {404}
    assert len(newest["path"]) == 500
    assert newest["path"] != before["path"]
    assert newest["path"].startswith("/rules/xxx")


def test_questions_and_refusals_are_lines_of_the_log_and_keys_are_not_in_them(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    reader = kept.key(Role.QUERY, name="bob\nmallory")
    with caplog.at_level(logging.DEBUG):
        assert kept.ask("POST", "/sql", reader, json={"query": "select 1"}) == 200
        assert kept.ask("GET", "/window", new_secret()) == 401
        assert kept.ask("PUT", "/ontology", reader) == 403
    lines = [each.getMessage() for each in caplog.records if each.name == "sensorstream.audit"]
    assert lines == [
        r"'key bob\nmallory' 127.0.0.1 POST '/sql' 200",
        "'anonymous' 127.0.0.1 GET '/window' 401",
        r"'key bob\nmallory' 127.0.0.1 PUT '/ontology' 403",
    ]
    assert "ssk_" not in caplog.text


def test_without_keys_everybody_may_do_all_and_changes_are_still_noted(
    client: httpx.Client, application: MemoryApplication
) -> None:
    assert client.delete("/webhooks/none").status_code == 404
    newest = client.get("/audit?limit=1").json()["changes"][0]
    assert (newest["kind"], newest["path"], newest["status"]) == (
        "anonymous",
        "/webhooks/none",
        404,
    )


def test_an_operator_sees_of_a_webhook_only_its_host(kept: Kept) -> None:
    admin = {"Authorization": f"Bearer {kept.key(Role.ADMIN)}"}
    operator = {"Authorization": f"Bearer {kept.key(Role.OPERATOR)}"}
    url = "http://127.0.0.1:9/services/T0/secret?token=s3cret"
    made = kept.client.post("/webhooks", json={"url": url}, headers=admin)
    where = made.headers["location"]
    assert kept.client.get(where, headers=admin).json()["url"] == url
    assert kept.client.get(where, headers=operator).json()["url"] == "http://127.0.0.1:9/…"
    for path in ("/webhooks", where):
        assert "s3cret" not in kept.client.get(path, headers=operator).text


class OneToken(Tokens):
    """Knows one token; the provider is away for another one."""

    def __init__(self) -> None:
        """Without a provider."""

    def known(self, token: str) -> Identity | None:
        return None

    def identify(self, token: str) -> Identity:
        if token == "away":
            raise Unavailable("the keys of the provider cannot be fetched now")
        if token != "good":
            raise Unauthenticated("the token is not valid")
        return Identity("token", "ada", frozenset({Role.QUERY}), until=NOW + timedelta(hours=1))


def test_tokens_are_accepted_beside_keys(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept.ask("GET", "/window", "good") == 401
    monkeypatch.setattr(kept.access, "_tokens", OneToken())
    assert kept.ask("GET", "/window", "good") == 200
    assert kept.ask("PUT", "/ontology", "good") == 403
    assert kept.ask("GET", "/window", "bad") == 401
    away = kept.client.get("/window", headers={"Authorization": "Bearer away"})
    assert (away.status_code, away.headers["retry-after"]) == (503, "1")
    assert kept.ask("GET", "/readyz", "away") == 200
    assert kept.ask("GET", "/window", kept.key(Role.QUERY)) == 200


def test_the_description_names_the_roles(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for (method, path), rule in RULES.items():
        if operation := document["paths"].get(path, {}).get(method.lower()):
            assert operation["security"] == [{"key": [role]} for role in rule.roles]
