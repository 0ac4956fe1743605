from __future__ import annotations

from tests.console.browsing import Keyed
from tests.console.test_sign_in import asked


def test_who_is_signed_in_reads_what_the_http_interface_says(keyed: Keyed) -> None:
    with asked(keyed) as client:
        assert client.post("/console/sign-in", data={"key": keyed.key}).status_code == 303
        answer = client.get("/console/api/alerts?limit=1")
        assert answer.status_code == 200
        assert isinstance(answer.json()["alerts"], list)
        assert "sandbox" in answer.headers["content-security-policy"]
        refused = client.get("/console/api/alerts?limit=x")
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"


def test_without_a_key_the_way_to_the_data_leads_to_the_page_to_sign_in(keyed: Keyed) -> None:
    with asked(keyed) as client:
        answer = client.get("/console/api/window?limit=2")
        assert answer.status_code == 303
        there = "/console/sign-in?then=%2Fconsole%2Fapi%2Fwindow%3Flimit%3D2"
        assert answer.headers["location"] == there


def test_what_has_no_end_is_not_read(keyed: Keyed) -> None:
    with asked(keyed) as client:
        assert client.post("/console/sign-in", data={"key": keyed.key}).status_code == 303
        assert client.get("/console/api/alerts/stream").status_code == 406


def test_a_link_of_another_site_asks_nothing(keyed: Keyed) -> None:
    with asked(keyed) as client:
        assert client.post("/console/sign-in", data={"key": keyed.key}).status_code == 303
        asks = "/console/api/sparql?query=ASK%20%7B%7D"
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
            answer = client.get(asks, headers={"Sec-Fetch-Site": site})
            assert answer.status_code == status, site
