"""What a page of another web site may not do through the browser of somebody near the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.errors import SettingsError
from sensorstream.server.addresses import KnownSites, check_origins, check_tiles
from sensorstream.settings.settings import ServerSettings

MAP = "https://map.example.org"
EVIL = "https://evil.example"
READER = "https://query.example.org"


@pytest.fixture(scope="module")
def known(
    listen: Callable[[Application], Iterator[str]], in_memory: Callable[[], Application]
) -> Iterator[httpx.Client]:
    """A server with a name, which lets the pages of one site in."""
    application = in_memory()
    told = ServerSettings(names=("plant.example.org",), origins=(MAP,), read_origins=(READER,))
    application.settings = replace(application.settings, server=told)
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "a.localhost", "127.0.0.1:1", "127.1.2.3", "[::1]:80"]
)
def test_a_server_on_this_machine_answers_to_the_names_of_the_machine(
    client: httpx.Client, host: str
) -> None:
    assert client.get("/rules", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example@localhost",
        "192.168.1.5",
        "0.0.0.0",
        "[::2]",
        "[",
        "",
        "localhost/evil",
        "xn--localhost-",
    ],
)
def test_it_does_not_answer_to_a_name_that_a_site_gives_it(client: httpx.Client, host: str) -> None:
    for path in ("/rules", "/", "/healthz"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 421, path
        assert answer.json()["type"] == "urn:sensorstream:error:misdirected-request"


def test_a_name_of_the_settings_is_its_own(known: httpx.Client) -> None:
    for host, status in (
        ("plant.example.org:8080", 200),
        ("plant.example.org.", 200),
        ("localhost", 200),
        ("example.org", 421),
    ):
        assert known.get("/rules", headers={"host": host}).status_code == status


def test_a_server_on_a_network_has_all_names_unless_it_is_told_its_own() -> None:
    for names, host, refused in ((), b"any.example", False), (("a.org",), b"b.org", True):
        sites = KnownSites("0.0.0.0", names, ())
        scope = {"headers": [(b"host", host)], "http_version": "1.1", "method": "POST"}
        assert (sites.problem(scope) is not None) == refused


@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        ("/queries", "text/plain", "SELECT"),
        ("/queries", "application/sparql-query", "SELECT"),
        ("/messages", "application/xml", "<A/>"),
        ("/messages/batch", "text/plain", '["<A/>"]'),
        ("/sparql", "application/x-www-form-urlencoded", "query=ASK{}"),
        ("/sql", "text/plain", '{"query": "select 1"}'),
        ("/webhooks", "text/plain", '{"url": "https://evil.example"}'),
        ("/webhooks", "application/json", '{"url": "https://evil.example"}'),
        ("/soap", "text/xml", "<A/>"),
    ],
)
@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:1", "file://", ""])
def test_a_page_of_another_site_can_change_nothing(
    known: httpx.Client, path: str, content_type: str, body: str, origin: str
) -> None:
    headers = {"content-type": content_type, "origin": origin}
    answer = known.post(path, content=body, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:sensorstream:error:forbidden"
    assert not [each for each in answer.headers if each.startswith("access-control")]


def test_other_methods_are_changes_too(known: httpx.Client) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = known.request(method, "/ontology", headers={"origin": EVIL})
        assert answer.status_code == 403


def test_a_page_of_another_site_may_read_but_sees_no_answer(known: httpx.Client) -> None:
    answer = known.get("/rules", headers={"origin": EVIL})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_the_pages_of_the_server_itself_may_do_all(known: httpx.Client) -> None:
    headers = {"origin": "http://localhost:8080", "host": "localhost:8080"}
    query = known.post("/sparql", data={"query": "ASK {}"}, headers=headers)
    assert query.status_code == 200


def test_the_pages_of_a_site_of_the_settings_may_do_all(known: httpx.Client) -> None:
    asked = {"origin": MAP, "access-control-request-method": "POST"}
    answer = known.options("/sparql", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == MAP
    answer = known.post("/sparql", data={"query": "ASK {}"}, headers={"origin": MAP})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == MAP


def test_json_that_a_form_sends_as_text_is_not_read(client: httpx.Client) -> None:
    for path in ("/sql", "/webhooks", "/jobs", "/messages/batch"):
        answer = client.post(path, content="{}", headers={"content-type": "text/plain"})
        assert answer.status_code == 415, path


@pytest.mark.parametrize(
    "origin", ["*", "https://*.example.org", "map.example.org", "https://a.org/", "https://A.org"]
)
def test_what_is_no_origin_is_refused_in_the_settings(origin: str) -> None:
    with pytest.raises(SettingsError, match=r"server\.origins"):
        check_origins([origin])


def preflight(client: httpx.Client, path: str, method: str, origin: str = READER) -> httpx.Response:
    asked = {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,content-type",
    }
    return client.options(path, headers=asked)


def test_the_pages_of_a_reading_site_read_and_ask(known: httpx.Client) -> None:
    query = {"content-type": "application/sparql-query", "origin": READER}
    for answer in (
        known.get("/sparql", params={"query": "ASK {}"}, headers={"origin": READER}),
        known.post("/sparql", content="ASK {}", headers=query),
        known.post("/sql", json={"query": "select 1"}, headers={"origin": READER}),
        known.get("/graphs/window", headers={"origin": READER}),
        known.head("/rules", headers={"origin": READER}),
        known.get("/graphs/nothing", headers={"origin": READER}),
    ):
        assert answer.status_code in (200, 404), answer.text
        assert answer.headers["access-control-allow-origin"] == READER
        assert answer.headers["vary"].endswith("Origin")
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/sparql", {"GET", "HEAD", "POST"}),
        ("/sql", {"POST"}),
        ("/graphs", {"GET", "HEAD"}),
        ("/queries", {"GET", "HEAD"}),
        ("/queries/http%3A%2F%2Fx%2Fq/results", {"GET", "HEAD"}),
        ("/messages", {"GET", "HEAD"}),
    ],
)
def test_a_preflight_says_what_a_reading_site_may_do(
    known: httpx.Client, path: str, methods: set[str]
) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        answer = preflight(known, path, method)
        assert (answer.status_code == 200) == (method in methods), method
        assert set(answer.headers["access-control-allow-methods"].split(", ")) == methods
        assert answer.headers["access-control-allow-headers"] == "authorization,content-type"
    assert preflight(known, path, "GET", EVIL).status_code == 403


def test_a_reading_site_changes_nothing_and_sees_nothing_of_operators(known: httpx.Client) -> None:
    for path in ("/messages", "/queries", "/jobs", "/webhooks", "/trials", "/soap"):
        answer = known.post(path, content="<A/>", headers={"origin": READER})
        assert answer.status_code == 403, path
        assert "access-control-allow-origin" not in answer.headers
    for path in ("/settings", "/webhooks", "/audit"):
        answer = known.get(path, headers={"origin": READER})
        assert "access-control-allow-origin" not in answer.headers, path
        assert preflight(known, path, "GET").status_code == 405


def test_every_site_may_read_if_the_settings_say_so(
    listen: Callable[[Application], Iterator[str]], in_memory: Callable[[], Application]
) -> None:
    application = in_memory()
    told = ServerSettings(read_origins=("*",))
    application.settings = replace(application.settings, server=told)
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            for origin in (EVIL, "null"):
                query = {"content-type": "application/sparql-query", "origin": origin}
                answer = client.post("/sparql", content="ASK {}", headers=query)
                assert answer.headers["access-control-allow-origin"] == "*"
                assert "access-control-allow-credentials" not in answer.headers
                assert preflight(client, "/sparql", "POST", origin).status_code == 200
                assert client.put("/rules", headers={"origin": origin}).status_code == 403
    check_origins(["*", MAP], "server.read_origins", "*")
    with pytest.raises(SettingsError, match=r"server\.read_origins"):
        check_origins(["*.example.org"], "server.read_origins", "*")


@pytest.mark.parametrize("end", ["/{z}/{x}", "/{z}/{x}/{y}.png; script-src *", "{z}{x}{y}"])
def test_what_is_no_address_of_pictures_is_refused_in_the_settings(end: str) -> None:
    for each in ("", f"{MAP}/{{z}}/{{x}}/{{y}}.png", "http://{s}.example.org:80/{z}/{y}/{x}?key=1"):
        assert check_tiles(each) == each
    with pytest.raises(SettingsError, match=r"server\.map_tiles"):
        check_tiles(MAP + end)
