from __future__ import annotations

import httpx
import pytest

from tests.console.browsing import Keyed


def asked(keyed: Keyed) -> httpx.Client:
    return httpx.Client(base_url=keyed.url, timeout=60, trust_env=False)


def test_without_a_key_a_page_leads_to_the_one_to_sign_in(keyed: Keyed) -> None:
    with asked(keyed) as client:
        first = client.get("/")
        assert (first.status_code, first.headers["location"]) == (307, "/console/")
        page = client.get("/console/")
        assert (page.status_code, page.headers["location"]) == (
            307,
            "/console/sign-in?then=%2Fconsole%2F",
        )
        form = client.get("/console/sign-in")
        assert form.status_code == 200
        assert "API key" in form.text


def test_an_address_that_no_page_has_says_so_and_leads_to_the_pages(keyed: Keyed) -> None:
    answer = httpx.get(f"{keyed.url}/console/nothing%3Cb%3E")
    assert answer.status_code == 404
    assert "There is no page <code>/console/nothing&lt;b&gt;</code>" in answer.text
    assert '<a href="/console/alerts">Alerts</a>' in answer.text


def test_a_key_that_is_not_valid_is_not_kept(keyed: Keyed) -> None:
    with asked(keyed) as client:
        answer = client.post("/console/sign-in", data={"key": "<b>"})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert "<b>" not in answer.text
        assert client.post("/console/sign-in", content=b"x" * 5000).status_code == 413


def test_a_key_is_kept_where_no_script_and_no_other_site_finds_it(keyed: Keyed) -> None:
    with asked(keyed) as client:
        answer = client.post("/console/sign-in", data={"key": keyed.key})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
        cookie = answer.headers["set-cookie"]
        assert {"HttpOnly", "Path=/console", "SameSite=strict"} <= set(cookie.split("; "))
        assert client.get("/console/").status_code == 200
        assert client.post("/console/sign-out").status_code == 303
        assert client.get("/console/").status_code == 307


def test_the_key_of_one_browser_is_not_sent_for_another_one(keyed: Keyed) -> None:
    with asked(keyed) as ann, asked(keyed) as bob:
        assert ann.post("/console/sign-in", data={"key": keyed.key}).status_code == 303
        assert ann.get("/console/").status_code == 200
        assert bob.get("/console/").status_code == 307


def test_a_page_of_another_site_cannot_sign_somebody_in(keyed: Keyed) -> None:
    with asked(keyed) as client:
        origin = {"Origin": "https://elsewhere.example.org"}
        answer = client.post("/console/sign-in", data={"key": keyed.key}, headers=origin)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_signing_in_leads_to_the_page_that_was_asked_for(keyed: Keyed) -> None:
    with asked(keyed) as client:
        first = client.get("/console/?a=b%20c")
        form = client.get(first.headers["location"])
        assert 'name="then" value="/console/?a=b%20c"' in form.text
        data = {"key": keyed.key, "then": "/console/?a=b%20c"}
        answer = client.post("/console/sign-in", data=data)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/?a=b%20c")


@pytest.mark.parametrize(
    "then",
    ["https://elsewhere.example.org/console/", "//elsewhere.example.org/console/", "/alerts"],
)
def test_signing_in_leads_to_no_other_site(keyed: Keyed, then: str) -> None:
    with asked(keyed) as client:
        answer = client.post("/console/sign-in", data={"key": keyed.key, "then": then})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
