"""Each application's results equal a plain computation over its messages."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import sys
from collections import deque
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.cli.simulation.application_streams import EVERY
from tests.examples.applications import EXAMPLES, moment, reports, simulated

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
WEIGHTS = ("1.16818457031250", "-0.28197558593750", "0.14689746093750", "-0.03310644531250")
Price = tuple[datetime, str, Decimal]
QUERIES = [f"query-{number}.rq" for number in ("1", "2", "3", "4", "5-first", "5", "6")]


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, list[Any]]]:
    """The news of a stock exchange, and the rows of each query."""
    folder = tmp_path_factory.mktemp("stocks")
    news = simulated("stocks", 120, folder)
    rows: dict[str, list[Any]] = {}
    for row in reports("stocks", folder, *QUERIES):
        rows.setdefault(row.query, []).append(row)
    return news, rows


def prices(news: Any) -> list[Price]:
    return [
        (moment(each.get("time")), told.get("company"), Decimal(told.text))
        for each in news
        for told in each.iterfind("price")
    ]


def told(rows: list[Any], *names: str) -> list[Any]:
    """The values and the interval of each row, in order."""
    return sorted((*(row.bindings.get(name, "") for name in names), *row.interval) for row in rows)


def test_query_1_finds_falls_and_rises_within_thirty_days(exchange: Any) -> None:
    news, rows = exchange
    expected = [
        (c1, str(p1), str(p2), str(p3), t1, t3)
        for (t1, c1, p1), (_, c2, p2), (t3, c3, p3) in combinations(prices(news), 3)
        if c1 == c2 == c3
        and p2 < p1 * Decimal("0.7")
        and p3 > p1 * Decimal("1.05")
        and t3 - t1 < 30 * DAY
    ]
    assert len(expected) > 3
    found = told(rows["query-1"], "company", "price1", "price2", "price3")
    assert _numbers(found) == _numbers(sorted(expected))


def downratings(news: Any) -> list[tuple[str, str, datetime, datetime]]:
    ratings = [
        (moment(each.get("time")), r.get("company"), r.get("by"), int(r.text))
        for each in news
        for r in each.iterfind("rating")
    ]
    return [
        (company, agency, first, second)
        for (first, company, agency, high), (second, *same, low) in combinations(ratings, 2)
        if same == [company, agency] and low < high
    ]


def test_query_2_names_the_agency_that_downrated_before_a_fall(exchange: Any) -> None:
    news, rows = exchange
    before = downratings(news)
    expected = set()
    for (t1, company, p1), (t2, other, p2) in combinations(prices(news), 2):
        if company == other and p2 < p1 * Decimal("0.5"):
            agencies = [(a, start) for c, a, start, end in before if c == company and end < t1]
            expected |= {(company, a, start, t2) for a, start in agencies or [("", t1)]}
    assert {agency for _, agency, _, _ in expected} > {""}
    assert told(rows["query-2"], "company", "ratingagency") == sorted(expected)


def test_query_3_leaves_out_who_has_acquired_another_company(exchange: Any) -> None:
    news, rows = exchange
    bought = [
        (moment(each.get("time")), told.get("by"))
        for each in news
        for told in each.iterfind("acquisition")
    ]
    expected = [
        (company, str(p1), str(p2), t1, t2)
        for (t1, company, p1), (t2, other, p2) in combinations(prices(news), 2)
        if company == other and p2 > p1 * Decimal("1.5") and t2 - t1 < 15 * DAY
        if not any(who == company and when < t2 for when, who in bought)
    ]
    assert expected
    found = told(rows["query-3"], "company", "price1", "price2")
    assert _numbers(found) == _numbers(sorted(expected))


def test_query_4_makes_an_event_of_each_downrating(exchange: Any) -> None:
    news, rows = exchange
    expected = {(start, end) for _, _, start, end in downratings(news)}
    assert {row.interval for row in rows["query-4"]} == expected


def test_queries_5_and_6_give_averages_as_soon_as_ten_days_are_over(exchange: Any) -> None:
    news, rows = exchange
    acme = [(time, price) for time, company, price in prices(news) if company == "ACME"]
    expected = set()
    for place, ((before, _), (first, _)) in enumerate(pairwise(acme), 1):
        for end in range(place, len(acme)):
            last = acme[end][0]
            if last - before > 10 * DAY > last - first:
                chain = [price for _, price in acme[place : end + 1]]
                expected.add((round(sum(chain) / len(chain), 9), before, last))
    assert len(expected) > 3
    found = {
        (round(Decimal(a), 9), start, end) for a, start, end in told(rows["query-6"], "average")
    }
    assert found == expected


def _numbers(rows: list[Any]) -> list[Any]:
    """Prices as numbers, for they lose zeros at their end."""
    return sorted((row[0], *map(Decimal, row[1:-2]), *row[-2:]) for row in rows)


def test_deliveries_go_round_roads_that_are_closed(tmp_path: Path) -> None:
    messages = simulated("delivery", 80, tmp_path)
    found = sorted(
        (row.time, *(row.bindings[name] for name in ("agent", "at", "next", "to")))
        for row in reports("delivery", tmp_path, "next-place.rq")
    )
    opened: dict[str, tuple[str, str]] = {}
    expected = []
    for message in messages:
        for road in message.iterfind("road"):
            opened.pop(road.get("name", ""), None)
            if road.get("state") == "open":
                opened[road.get("name", "")] = road.get("from", ""), road.get("to", "")
        for asked in message.iterfind("question"):
            at, to = asked.get("at", ""), asked.get("to", "")
            expected += [
                (moment(message.get("time", "")), asked.get("agent"), at, following, to)
                for start, following in opened.values()
                if start == at and _reaches(following, to, set(opened.values()))
            ]
    assert len(expected) > 10
    assert found == sorted(expected)


def _reaches(start: str, end: str, roads: set[tuple[str, str]]) -> bool:
    seen, ahead = {start}, deque([start])
    while ahead:
        here = ahead.popleft()
        further = {there for place, there in roads if place == here} - seen
        seen |= further
        ahead += further
    return end in seen


def test_a_fire_is_smoke_after_heat_in_the_same_room(tmp_path: Path) -> None:
    rooms = {"locA": "kitchen", "locB": "kitchen", "locC": "hall", "locD": "hall", "locE": "attic"}
    hot: list[tuple[datetime, str, str]] = []
    expected = []
    for reading in simulated("fires", 80, tmp_path):
        time, room = moment(reading.get("time", "")), rooms[reading.get("at", "")]
        degrees = reading.findtext("temperature")
        if degrees is not None:
            if float(degrees) > 60:
                hot.append((time, room, f"r{reading.get('id')}"))
            continue
        before = [e for e in hot if e[1] == room and time - e[0] <= timedelta(minutes=5)]
        if before:
            # It is consumed.
            hot.remove(before[-1])
            expected.append((time, room, before[-1][2]))
    assert len(expected) > 2
    home = EXAMPLES / "fire"
    given = {"mapping": ["fire.rules"], "static": ["building.ttl"]}
    given["rules"] = ["rooms.dlog", "fire.dotr"]
    options = [f"--{name}={home / each}" for name, files in given.items() for each in files]
    told = CliRunner().invoke(main, ["run", *options, "--messages", str(tmp_path), "--json"])
    assert told.exit_code == 0, told.output
    found = [
        (moment(report["time"]), *re.findall(r"fire#(?:at_room|hot)> <.*#(\w+)>", report["graph"]))
        for line in told.stdout.splitlines()
        for report in json.loads(line)["reports"]
    ]
    assert found == expected


def test_a_tsunami_is_thirty_millimetres_that_no_tide_explains(tmp_path: Path) -> None:
    # Of the readings every fifteen seconds one a minute; a wave comes after four hours.
    messages = simulated("buoys", 4 * 270, tmp_path)
    for number, file in enumerate(sorted(tmp_path.glob("*.xml"))):
        if number % 4:
            file.unlink()
    read: dict[str, list[tuple[datetime, Decimal]]] = {}
    expected = set()
    for message in messages[::4]:
        now = moment(message.get("time", ""))
        for buoy in message.iterfind("buoy"):
            name, height = f"buoy-{buoy.get('id')}", Decimal(buoy.text or "")
            before = read.setdefault(name, [])
            before.append((now, height))
            found = (_average(before, now - hours * HOUR) for hours in range(4))
            averages = [each for each in found if each is not None]
            if len(averages) == 4:
                guess = sum(Decimal(w) * a for w, a in zip(WEIGHTS, averages, strict=True))
                if abs(height - guess) > 30:
                    expected.add((now, name, round(height - guess, 6)))
    reported = {
        (row.time, row.bindings["buoy"], round(Decimal(row.bindings["difference"]), 6))
        for row in reports("tsunami", tmp_path, "tsunami.rq")
    }
    assert timedelta(minutes=1) == EVERY * 4
    assert {name for _, name, _ in expected} == {"buoy-46074"}
    assert reported == expected


def _average(read: list[tuple[datetime, Decimal]], until: datetime) -> Decimal | None:
    """Of the ten minutes until a time."""
    heights = [height for time, height in read if until - HOUR / 6 < time <= until]
    return sum(heights, Decimal(0)) / len(heights) if heights else None


@pytest.mark.parametrize("name", ["stocks", "delivery", "tsunami", "fire"])
def test_the_commands_of_its_readme_can_be_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (EXAMPLES / name / "README.md").read_text("utf-8")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```sh\n(.*?)^```", readme, re.M | re.S)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    assert len(lines) == (3 if name == "tsunami" else 2)
    for line in lines:
        words, _, file = re.sub(r"--count \d+", "--count 30", line).partition(" > ")
        program, *arguments = shlex.split(words)
        if program == "python":
            monkeypatch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
            assert (tmp_path / arguments[-1]).read_bytes().startswith(b"\x89PNG")
            continue
        told = CliRunner().invoke(main, arguments)
        assert told.exit_code == 0, told.output
        assert told.stdout
        if file:
            (tmp_path / file).write_text(told.stdout)
