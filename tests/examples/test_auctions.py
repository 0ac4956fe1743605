"""The query of figure 6 from XML messages to reports, against a naive computation."""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from click.testing import CliRunner
from lxml import etree

from sensorstream.cli import main
from sensorstream.cli.simulation.application_streams import NAMESPACE, auction_messages
from sensorstream.installation import bundled
from sensorstream.model.timeline import Timeline

EXAMPLE = bundled("ontologies").parent / "examples" / "auctions"
EBAY = "http://developer.ebay.com/DevZone/finding/CallRef/findItemsByKeywords.html#"
PRICE = f"{EBAY}Response.searchResult.item.sellingStatus.currentPrice"
TITLE = f"{EBAY}Response.searchResult.item.title"
SECOND = 1_000_000
MESSAGES = 120


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command and the example's script make."""
    folder = tmp_path_factory.mktemp("auctions")
    simulated = CliRunner().invoke(
        main, ["simulate", "auctions", "--count", str(MESSAGES), "--out", str(folder / "messages")]
    )
    assert simulated.exit_code == 0, simulated.output
    script = str(EXAMPLE / "prepare.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script, str(folder / "messages"), str(folder / "out.jsonl")])
        runpy.run_path(script, run_name="__main__")
    return folder / "out.jsonl"


def _read(events: Path) -> list[tuple[int, list[tuple[str, str, str]]]]:
    found = []
    for line in events.read_text().splitlines():
        event = json.loads(line)
        triples = [
            (t.subject.value, t.predicate.value, t.object.value)
            for t in ox.parse(event["graph"], ox.RdfFormat.N_TRIPLES)
        ]
        found.append((Timeline.DATETIME.instant(event["time"]), triples))
    return found


def test_the_mapping_keeps_every_item_of_every_message(events: Path) -> None:
    expected = []
    for content in auction_messages(MESSAGES):
        root = etree.fromstring(content)
        names = {"e": NAMESPACE}
        expected.append(
            {
                (
                    f"{EBAY}item-{item.findtext('e:itemId', namespaces=names)}",
                    item.findtext("e:title", namespaces=names),
                    item.findtext("e:sellingStatus/e:currentPrice", namespaces=names),
                )
                for item in root.iterfind(".//e:item", names)
            }
        )
    found = []
    for _, triples in _read(events):
        values = {(s, p): o for s, p, o in triples}
        subjects = {s for s, _ in values}
        found.append({(s, values[s, TITLE], values[s, PRICE]) for s in subjects})
    assert found == expected


def test_every_second_the_bids_of_the_last_hundred_triples_are_aggregated(events: Path) -> None:
    query = str(EXAMPLE / "figure-6.rq")
    result = CliRunner().invoke(main, ["run", "--query", query, "--events", str(events)])
    assert (result.exit_code, result.stderr) == (0, "")
    reports: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for line in result.stdout.splitlines():
        row = json.loads(line)
        assert (row["query"], row["op"]) == ("figure-6", "=")
        values = {name: term["value"] for name, term in row["bindings"].items()}
        keys = values["id"], values["title"], Decimal(values["bid"])
        numbers = [Decimal(values[name]) for name in ("avg", "min", "max", "sum")]
        reports[Timeline.DATETIME.instant(row["time"])].append((keys, numbers))
    expected = _naive(_read(events))
    assert len(expected) > 20
    assert list(reports) == list(expected)
    for time, rows in expected.items():
        found = sorted(reports[time])
        assert [keys for keys, _ in found] == [keys for keys, _ in rows]
        for (_, numbers), (_, others) in zip(found, rows, strict=True):
            assert all(
                math.isclose(one, other, rel_tol=1e-12)
                for one, other in zip(numbers, others, strict=True)
            )


def _naive(events: list[tuple[int, list[tuple[str, str, str]]]]) -> dict[int, list[Any]]:
    """Each report computed from the stream's first triple on."""
    first, last = events[0][0], events[-1][0]
    found = {}
    time = -(-first // SECOND) * SECOND
    while time < last + SECOND:
        window = [triple for at, triples in events if at <= time for triple in triples][-100:]
        bids, titles = defaultdict(set), defaultdict(set)
        for s, p, o in window:
            if p == PRICE:
                bids[s].add(Decimal(o))
            elif p == TITLE:
                titles[s].add(o)
        rows = []
        for auction in bids.keys() & titles.keys():
            prices = bids[auction]
            numbers = [sum(prices) / len(prices), min(prices), max(prices), sum(prices)]
            rows += [((auction, t, b), numbers) for t in titles[auction] for b in prices]
        found[time] = sorted(rows)
        time += SECOND
    return found
