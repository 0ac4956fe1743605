"""The boards of Grafana: each of their queries is run, or looked up among the server's metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import promql_parser
import psycopg2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import make_url

from sensorstream.history.reader_role import reader_url
from sensorstream.model import xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from tests.databases import make_history
from tests.server.tracking import NOBODY_MAPS, Deployment, one, post

DEPLOY = Path(__file__).parents[2] / "deploy"
GRAFANA = DEPLOY / "grafana"
BOARDS = {
    each.stem: json.loads(each.read_text(encoding="utf-8"))
    for each in sorted((GRAFANA / "boards").glob("*.json"))
}
SOURCES = {
    each["uid"]: each
    for each in yaml.safe_load(
        (GRAFANA / "provisioning" / "datasources" / "sensorstream.yaml").read_text()
    )["datasources"]
}
METRICS = "sensorstream-metrics"
HISTORY = "sensorstream-history"
SEVERITIES = {"info", "warning", "critical"}
FROM, TO = "1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
LABELS = {
    name: set(filter(None, (labels or "").split(",")))
    for name, labels in re.findall(
        r"^\| `(\w+)(?:\{([\w,]+)\})?` \|",
        (DEPLOY.parent / "docs" / "operate" / "reference.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


def targets(board: str, source: str) -> list[tuple[Any, Any]]:
    """The panels of a board and their queries to one source."""
    return [
        (panel, target)
        for panel in BOARDS[board]["panels"]
        for target in panel["targets"]
        if target["datasource"]["uid"] == source
    ]


def matchers_of(selector: Any) -> Any:
    """The labels that a selector compares, with their values."""
    found = selector.matchers
    return [(each.name, each.value) for each in getattr(found, "matchers", found)]


def expanded(sql: str, variables: Mapping[str, list[str]]) -> str:
    """A query as Grafana sends it: first the variables, then the macros of its data source."""

    def value(found: re.Match[str]) -> str:
        values = variables[found[1]]
        if found[2] == "raw":
            (raw,) = values
            return raw
        return ",".join("'{}'".format(each.replace("'", "''")) for each in values)

    def macro(found: re.Match[str]) -> str:
        name, arguments = found[1], [each.strip() for each in found[2].split(",")]
        if name == "__timeFilter":
            return f"{arguments[0]} BETWEEN '{FROM}' AND '{TO}'"
        assert name == "__timeGroupAlias", f"no macro {name}"
        assert arguments[1] == "1m"
        return f'floor(extract(epoch from {arguments[0]})/60)*60 AS "time"'

    text = re.sub(r"\$\{(\w+):(\w+)\}", value, sql).replace("$__interval", "1m")
    text = re.sub(r"\$(\w+)\(([^)]*)\)", macro, text)
    assert "$" not in text.replace("$'", "")
    return text


class Reader:
    """A connection of the role that reads, with the values of a board's variables."""

    def __init__(self, url: str, board: str) -> None:
        self._connection = psycopg2.connect(reader_url(url))
        self._connection.autocommit = True
        self.variables: dict[str, list[str]] = {}
        for each in BOARDS[board]["templating"]["list"]:
            if each["type"] == "query":
                assert each["datasource"]["uid"] == HISTORY
                _, rows = self.ask(each["query"])
                found = [str(row[0]) for row in rows]
                self.variables[each["name"]] = found if each.get("multi") else found[:1]

    def ask(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        with self._connection.cursor() as cursor:
            cursor.execute(expanded(sql, self.variables).replace("%", "%%"))
            return [each.name for each in cursor.description or ()], cursor.fetchall()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def filled(deployment: Deployment) -> str:
    """The history of a window of five that has let individuals go, with alerts of two kinds."""
    hook = deployment.web.post("/webhooks", json={"url": "http://127.0.0.1:9/"})
    assert hook.is_success, hook.text
    for _ in range(8):
        assert post(deployment.web, one(certainty=12)).is_success
    assert post(deployment.web, NOBODY_MAPS % 1).is_success
    return deployment._settings.history.url


@pytest.mark.parametrize("board", BOARDS)
def test_the_queries_to_the_history_have_what_their_panels_show(filled: str, board: str) -> None:
    with closing(Reader(filled, board)) as reader:
        for panel, target in targets(board, HISTORY):
            names, rows = reader.ask(target["rawSql"])
            assert rows, panel["title"]
            if target["format"] == "time_series":
                assert (names[0], panel["type"]) == ("time", "timeseries")
                # One column of numbers for each value of metric.
                assert "metric" not in names or names[1:] == ["metric", "value"]
            else:
                assert panel["type"] in ("table", "stat", "bargauge")
            overrides = panel["fieldConfig"]["overrides"]
            assert {each["matcher"]["options"] for each in overrides} <= {*names, *SEVERITIES}
        for note in BOARDS[board]["annotations"]["list"]:
            names, rows = reader.ask(note["target"]["rawSql"])
            assert (names, bool(rows)) == (["time", "text", "tags"], "critical" not in note["name"])


def test_times_of_dates_are_shown_as_they_are(new_database: Callable[[], str]) -> None:
    url = new_database()
    value = IRI("http://example.org/value")
    ranges = {value: frozenset({IRI(xsd.DOUBLE)})}
    schema = Schema(datatype_properties=frozenset({value}), ranges_of=ranges)
    make_history(url, schema, Timeline.DATETIME)
    with closing(Reader(url, "sensors")) as reader:
        assert reader.variables["moment"] == ["timestamptz"]
        assert reader.variables["property"] == ["value"]
        reader.variables["individual"] = ["it's"]
        for _, target in targets("sensors", HISTORY):
            assert reader.ask(target["rawSql"])[1] == []


def names_of(expression: Any) -> Iterator[tuple[str, set[str]]]:
    """The metrics of a PromQL expression, each with the labels that it is asked for."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield str(expression.name), {name for name, _ in matchers_of(expression)}
        return
    within = [getattr(expression, name, None) for name in ("expr", "lhs", "rhs", "vector_selector")]
    asked = set()
    if isinstance(expression, promql_parser.AggregateExpr) and expression.modifier is not None:
        asked = set(expression.modifier.labels)
    for each in (*within, *getattr(expression, "args", ())):
        for name, labels in () if each is None else names_of(each):
            yield name, labels | asked


def test_the_metrics_of_the_boards_are_those_of_a_server(
    filled: str, deployment: Deployment
) -> None:
    text = deployment.web.get("/metrics").text
    served = {each.name for each in text_string_to_metric_families(text)}
    asked = set()
    for board in BOARDS:
        for panel, target in targets(board, METRICS):
            expression = target["expr"].replace("$__rate_interval", "1m")
            tree = promql_parser.parse(expression.replace("$__interval", "1m"))
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            for name, labels in names_of(tree):
                asked.add(name)
                if name == "up":
                    continue
                family = re.sub(r"_(bucket|count|total)$", "", name)
                assert family in served, panel["title"]
                known = LABELS.get(name, LABELS.get(family, set())) | {"job", "le"}
                assert labels | shown <= known, (panel["title"], name)
    assert len(asked) > 25


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_board_is_whole(board: Mapping[str, Any]) -> None:
    panels = board["panels"]
    assert [each["id"] for each in panels] == list(range(1, len(panels) + 1))
    assert [board["uid"], board["tags"]] == [
        f"sensorstream-{board['title'][14:]}",
        ["sensorstream"],
    ]
    places: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & places
        assert place["x"] + place["w"] <= 24
        places |= own
        for target in panel["targets"]:
            source = SOURCES[target["datasource"]["uid"]]
            assert target["datasource"]["type"] == panel["datasource"]["type"] == source["type"]
    known = {each["name"] for each in board["templating"]["list"]} | {"__value"}
    assert set(re.findall(r"\$\{(\w+)", json.dumps(board))) <= known


def test_the_data_sources_fit_the_services() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    boards = {name: each for name, each in services.items() if "profiles" in each}
    assert {tuple(each["profiles"]) for each in boards.values()} == {("boards",)}
    for each in boards.values():
        for volume in each.get("volumes", ()):
            here = volume.split(":")[0]
            assert not here.startswith(".") or (DEPLOY / here).exists()
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ()))
    given = boards["grafana"]["environment"]
    text = (GRAFANA / "provisioning" / "datasources" / "sensorstream.yaml").read_text()
    assert set(re.findall(r"\$([A-Z_]+)", text)) <= given.keys()
    own = services["postgres"]["environment"]
    history = SOURCES[HISTORY]
    assert history["url"] == "postgres:5432"
    assert history["jsonData"]["database"] == own["POSTGRES_DB"]
    address = f"postgresql://{own['POSTGRES_USER']}:secret@postgres/{own['POSTGRES_DB']}"
    assert make_url(reader_url(address)).username == history["user"]
    read = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text(encoding="utf-8"))
    (job,) = read["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["server:8080"]}]
    (provider,) = yaml.safe_load(
        (GRAFANA / "provisioning" / "dashboards" / "sensorstream.yaml").read_text()
    )["providers"]
    mounted = [each.split(":")[1] for each in boards["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounted
