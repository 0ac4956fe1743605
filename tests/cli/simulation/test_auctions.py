from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from lxml import etree

from sensorstream.cli.simulation.application_streams import NAMESPACE, auction_messages
from sensorstream.cli.simulation.city_messages import read_time

NAMES = {"e": NAMESPACE}


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert list(auction_messages(20)) == list(auction_messages(20))
    assert list(auction_messages(20)) != list(auction_messages(20, seed=1))


def test_time_goes_forward() -> None:
    times = [
        read_time(etree.fromstring(each).findtext("e:timestamp", namespaces=NAMES) or "")
        for each in auction_messages(50)
    ]
    assert times == sorted(set(times))


def test_bids_of_an_auction_rise_and_its_title_stays() -> None:
    prices, titles = defaultdict(list), defaultdict(set)
    for each in auction_messages(200, auctions=5):
        items = etree.fromstring(each).findall(".//e:item", NAMES)
        assert 1 <= len(items) <= 3
        for item in items:
            id = item.findtext("e:itemId", namespaces=NAMES)
            price = item.findtext("e:sellingStatus/e:currentPrice", namespaces=NAMES)
            prices[id].append(Decimal(price or ""))
            titles[id].add(item.findtext("e:title", namespaces=NAMES))
    assert all(each == sorted(set(each)) for each in prices.values())
    assert all(len(each) == 1 for each in titles.values())
    assert len(prices) > 5


def test_one_auction_is_enough() -> None:
    for each in auction_messages(5, auctions=1):
        assert len(etree.fromstring(each).findall(".//e:item", NAMES)) == 1
