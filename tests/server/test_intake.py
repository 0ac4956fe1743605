"""Disorder, filters and load shedding as a client sees them: HTTP in front, PostgreSQL behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.installation import bundled
from sensorstream.settings.settings import (
    FilterSettings,
    HistorySettings,
    OntologySettings,
    PolicySettings,
    RuleSettings,
    Settings,
    SheddingSettings,
    SourceSettings,
    TimeSettings,
    WindowSettings,
)
from tests.waiting import eventually

TRACKING = "http://sensorstream.example/tracking#"
XML = {"content-type": "application/xml"}


@pytest.fixture(scope="module")
def web(
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
    listen: Callable[[Application], Iterator[str]],
) -> Iterator[httpx.Client]:
    """Lateness for one source, a filter, and a budget that a large batch exceeds."""
    folder: Path = tmp_path_factory.mktemp("deployment")
    ontologies = bundled("ontologies")
    settings = Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((ontologies / "tracking.ttl", ontologies / "synopsis.ttl")),
        rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
        time=TimeSettings(lateness="0", idle=1.0),
        sources={"camera": SourceSettings("10")},
        window=WindowSettings(size="1000"),
        filters={
            "outside": FilterSettings(
                f"{TRACKING}Human", (f"{TRACKING}hasXLocation",), below="0", above="100"
            )
        },
        shedding=SheddingSettings(budget=40, keep="all"),
        policies={"people": PolicySettings(f"{TRACKING}Human", "none")},
        history=HistorySettings(url=new_database()),
    )
    with Application.open(settings) as application:
        for url in listen(application):
            with httpx.Client(base_url=url, timeout=300) as client:
                yield client


def seen(number: int, at: int, x: int = 5) -> str:
    return (
        f"<Message><Event><Tracker type='FaceTracker'><TimeStamp value='{at}'/>"
        f"<person id='{number}' certainty='90'><location2d x='{x}' y='8'/></person>"
        "</Tracker></Event></Message>"
    )


def post(web: httpx.Client, number: int, at: int, x: int = 5) -> dict[str, Any]:
    answer = web.post(
        "/messages", content=seen(number, at, x), headers=XML, params={"source": "camera"}
    )
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def alerts(web: httpx.Client) -> list[tuple[str, str]]:
    return [(a["kind"], a["severity"]) for a in web.get("/alerts").json()["alerts"]]


def test_a_stream_out_of_order_with_outliers_and_a_flood(web: httpx.Client) -> None:
    assert [post(web, n, at)["status"] for n, at in ((1, 100), (2, 95))] == ["held", "held"]
    assert web.get("/healthz").json()["held"] == 2
    assert post(web, 3, 120, x=500)["status"] == "held"
    late = post(web, 4, 90)
    assert (late["status"], late["individuals"]) == ("late", [f"{TRACKING}human-4"])
    assert "straight to history" in late["warnings"][0]
    eventually(lambda: web.get("/healthz").json()["held"] == 0)
    window = web.get("/window").json()
    people = [each["iri"] for each in window["individuals"] if "human" in each["iri"]]
    assert people == [f"{TRACKING}human-2", f"{TRACKING}human-1"]
    query = "select iri from history.human order by iri"
    rows = [[f"{TRACKING}human-3"], [f"{TRACKING}human-4"]]
    # What was held is stored a moment after it is taken in.
    eventually(lambda: web.post("/sql", json={"query": query}).json()["rows"] == rows)
    metrics = web.get("/metrics").text
    assert 'sensorstream_filtered_individuals_total{filter="outside"} 1.0' in metrics
    assert 'sensorstream_messages_total{status="late"} 1.0' in metrics

    batch = [seen(100 + n, 200 + n) for n in range(100)]
    results = web.post("/messages/batch", json=batch, params={"source": "camera"}).json()["results"]
    assert all("outcome" in each for each in results)
    eventually(lambda: ("load-shedding", "info") in alerts(web))
    assert ("load-shedding", "warning") in alerts(web)
    (shedding,) = (
        each
        for each in web.get("/alerts", params={"state": "cleared"}).json()["alerts"]
        if each["kind"] == "load-shedding"
    )
    assert (shedding["count"], shedding["severity"]) == (2, "info")
    eventually(lambda: web.get("/healthz").json()["held"] == 0)
    text = web.get("/metrics").text
    line = f'sensorstream_shed_individuals_total{{class="{TRACKING}Human"}}'
    shed = next(float(each.split()[-1]) for each in text.splitlines() if each.startswith(line))
    assert shed > 0
    query = """PREFIX ss: <urn:sensorstream:vocabulary#>
        SELECT (SUM(?n) AS ?all) { ?s a ss:Synopsis ; ss:of ?class ; ss:count ?n }"""
    eventually(
        lambda: (
            web.post("/sparql", data={"query": query}, headers={"accept": "text/csv"}).text.split()[
                -1
            ]
            == str(int(shed))
        ),
    )
