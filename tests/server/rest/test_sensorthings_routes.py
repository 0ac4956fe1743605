"""/sensorthings/v1.1 over HTTP: of what has left the window, and of what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.settings.settings import (
    HistorySettings,
    OntologySettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

ROOT = "/sensorthings/v1.1"
E = "http://example.org/"
ONTOLOGY = f"""
@prefix : <{E}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
sosa:Observation a owl:Class . sosa:Sensor a owl:Class . sosa:Platform a owl:Class .
sosa:ObservableProperty a owl:Class .
sosa:hosts a owl:ObjectProperty . sosa:madeBySensor a owl:ObjectProperty .
sosa:observedProperty a owl:ObjectProperty .
sosa:hasSimpleResult a owl:DatatypeProperty ; rdfs:range xsd:integer .
:mast a sosa:Platform ; rdfs:label "Mast" ; sosa:hosts :s1 , :s2 .
"""
RULES = """
prefix : <http://example.org/>
prefix sosa: <http://www.w3.org/ns/sosa/>
mapping observations
on message {/o}
then
  insert individual :o{@n} a sosa:Observation at {@n}
    ; sosa:madeBySensor :s{@s}
    ; sosa:observedProperty :level
    ; sosa:hasSimpleResult {@v} .
"""


@pytest.fixture(scope="module")
def web(
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
    listen: Callable[..., Iterator[str]],
) -> Iterator[httpx.Client]:
    """A client of a deployment whose window has the last three of eight observations."""
    folder = tmp_path_factory.mktemp("sosa")
    (folder / "sosa.ttl").write_text(ONTOLOGY)
    (folder / "sosa.rules").write_text(RULES)
    settings = Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((Path(folder / "sosa.ttl"),)),
        rules=RuleSettings((Path(folder / "sosa.rules"),)),
        window=WindowSettings(size="3"),
        history=HistorySettings(url=new_database()),
    )
    with (
        Application.open(settings) as application,
        contextmanager(listen)(application) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for n in range(1, 9):
            sent = f"<o n='{n}' s='{n % 2 + 1}' v='{n * 10}'/>"
            answer = client.post(
                "/messages", content=sent, headers={"content-type": "application/xml"}
            )
            assert answer.json()["status"] == "accepted"
        yield client


def test_what_left_the_window_stands_beside_what_is_in_it(web: httpx.Client) -> None:
    asked = {"$filter": "result gt 30", "$orderby": "result desc", "$top": "4", "$count": "true"}
    page = web.get(f"{ROOT}/Observations", params=asked).json()
    assert page["@iot.count"] == 5
    assert [each["result"] for each in page["value"]] == [80, 70, 60, 50]
    more = web.get(page["@iot.nextLink"]).json()
    assert [each["result"] for each in more["value"]] == [40]
    assert "@iot.nextLink" not in more


def test_links_lead_from_the_root_to_a_value(web: httpx.Client) -> None:
    root = web.get(ROOT).json()
    assert web.get(f"{ROOT}/").json() == root
    assert (
        "http://www.opengis.net/spec/iot_sensing/1.1/req/datamodel"
        in (root["serverSettings"]["conformance"])
    )
    urls = {each["name"]: each["url"] for each in root["value"]}
    assert len(urls) == 8
    (thing,) = web.get(urls["Things"]).json()["value"]
    assert web.get(thing["@iot.selfLink"]).json() == thing
    streams = web.get(thing["Datastreams@iot.navigationLink"]).json()["value"]
    assert [each["@iot.id"] for each in streams] == [f"{E}s{n}|{E}level" for n in (1, 2)]
    found = web.get(streams[0]["Observations@iot.navigationLink"]).json()["value"]
    assert [each["result"] for each in found] == [20, 40, 60, 80]
    value = web.get(f"{found[0]['@iot.selfLink']}/result/$value")
    assert (value.text, value.headers["content-type"]) == ("20", "text/plain; charset=utf-8")


def test_an_id_may_be_written_with_and_without_percent_signs(web: httpx.Client) -> None:
    for name in (quote(f"{E}mast", safe=""), f"{E}mast"):
        assert web.get(f"{ROOT}/Things('{name}')/name").json() == {"name": "Mast"}


def test_a_property_without_a_value_has_no_content(web: httpx.Client) -> None:
    path = f"{ROOT}/Datastreams('{quote(f'{E}s1|{E}level', safe='')}')/unitOfMeasurement/symbol"
    assert (web.get(path).status_code, web.get(path).content) == (204, b"")


@pytest.mark.parametrize(
    ("path", "asked", "status", "told"),
    [
        ("Rockets", {}, 404, "expected one of Things, Locations"),
        ("Things('nothing')", {}, 404, "no such entity"),
        ("Things/name", {}, 400, "follows a collection"),
        ("Observations", {"$filter": "result gt"}, 400, "not the end"),
        ("Observations", {"$filter": "rocket gt 1"}, 400, "have no 'rocket'"),
        ("Observations", {"$top": "many"}, 400, "a number"),
        ("Observations", {"$filter": "result add 1"}, 200, ""),
        ("Observations", {"$filter": "cast(result) eq 1"}, 501, "no function 'cast'"),
        ("Observations", {"$resultFormat": "dataArray"}, 501, "$resultFormat is not supported"),
        ("Observations", {"$rocket": "1"}, 400, "no query option"),
        ("Observations", {"$filter": "time gt duration'P1D'"}, 501, "durations"),
        (
            "Locations",
            {"$filter": "st_within(location, geography'POLYGON((0 0,1 0,1')"},
            400,
            "POLYGON",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(
    web: httpx.Client, path: str, asked: dict[str, str], status: int, told: str
) -> None:
    answer = web.get(f"{ROOT}/{path}", params=asked)
    assert answer.status_code == status, answer.text
    assert told in answer.json().get("detail", "")
    if status == 400 and "$filter" in asked:
        assert answer.json()["position"]["file"] == "$filter"


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_nothing_can_be_changed(web: httpx.Client, method: str) -> None:
    answer = web.request(method, f"{ROOT}/Things", json={"name": "Rocket"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "text",
    [
        " add ".join(["result"] * 3000),
        "(" * 3000,
        "not " * 3000,
        "-" * 3000 + "1",
        "result mod " * 90 + "1 eq 1",
        "result eq '" + "x" * 20_000 + "'",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_hostile_condition_costs_little(web: httpx.Client, text: str) -> None:
    answer = web.get(f"{ROOT}/Observations", params={"$filter": text, "$top": "1"})
    assert answer.status_code in (200, 400, 422, 431), answer.text
    assert answer.elapsed.total_seconds() < 20
