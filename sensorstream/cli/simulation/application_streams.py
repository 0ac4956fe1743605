"""Streams of the applications that the papers describe, made up.

- Buoys that measure the pressure of the sea at its ground, while the tide comes and goes: the
  tsunami detection of Anicic et al., "EP-SPARQL", 2011, section 6, test 3, after the algorithm of
  the National Data Buoy Center (DART).
- A city whose roads are closed and opened, and agents who ask for their way: the goods delivery
  system of the same section.
- News of a stock exchange, prices, ratings by agencies, acquisitions: the queries of section 4.1.
- Sensors of smoke and temperature in the rooms of a building: rule R of "DOTR: a model for stream
  reasoning", section 3.
- An auction house: the answers of eBay's findItemsByKeywords. "Monitoring eBay Auctions by Querying
  RDF Streams" (2011), section 4.1. The elements are those of eBay's Finding API; elements that no
  query of the paper reads are left out.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Final
from xml.sax.saxutils import escape

_BUOYS_START: Final = datetime(2010, 3, 23, 0, 0, tzinfo=UTC)
EVERY: Final = timedelta(seconds=15)
"""The time between two readings of a buoy, as in the paper."""
_TIDE: Final = timedelta(hours=12, minutes=25)
_MILLIMETRES: Final = 400.0
_WAVE: Final = timedelta(minutes=20)
_WAVES_APART: Final = timedelta(hours=5)
_HEIGHT: Final = 90.0


def level(buoy: int, buoys: int, since: timedelta) -> float:
    """The height of the water in millimetres, some time after the start: the tide, and from the
    fourth hour on a wave every five hours at one of the buoys.
    """
    tide = _MILLIMETRES * math.sin(2 * math.pi * (since / _TIDE + buoy / buoys))
    number, within = divmod(since + timedelta(hours=1), _WAVES_APART)
    if number < 1 or number % buoys != buoy or within > _WAVE:
        return 4_000_000 + tide
    return 4_000_000 + tide + _HEIGHT * math.sin(2 * math.pi * (within / _WAVE))


def stamp(time: datetime) -> str:
    """The time to the second, in UTC and with its zone, as messages made up here have it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def buoy_messages(
    count: int | None = None,
    *,
    seed: int = 2678,
    buoys: int = 2,
    every: timedelta = EVERY,
    start: datetime = _BUOYS_START,
) -> Iterator[bytes]:
    """Messages in order of time, one reading of all buoys each; a seed gives the same bytes.

    ``count`` of None never ends; ``every`` is the time between readings, ``start`` that of the
    first message, aware.
    """
    dice = random.Random(seed)
    for number in islice(numbers(), count):
        since = number * every
        told = "".join(
            f'<buoy id="{46_073 + buoy}">{level(buoy, buoys, since) + dice.gauss(0, 1):.1f}</buoy>'
            for buoy in range(buoys)
        )
        yield f'<readings time="{stamp(start + since)}" unit="mm">{told}</readings>'.encode()


_DELIVERIES_START: Final = datetime(2011, 3, 28, 8, 0, tzinfo=UTC)
_CLOSED: Final = 0.5
"""The share of the roads that is closed: so more than half of the ways are, as in the paper."""


def roads(side: int) -> Iterator[tuple[str, str, str]]:
    """A grid of ``side`` times ``side`` places: name, start and end of each road, both ways."""
    for row in range(side):
        for column in range(side):
            here = f"p{row}-{column}"
            for there in ((row, column + 1), (row + 1, column)):
                if max(there) < side:
                    other = f"p{there[0]}-{there[1]}"
                    yield f"{here}_{other}", here, other
                    yield f"{other}_{here}", other, here


def delivery_messages(
    count: int | None = None,
    *,
    seed: int = 2678,
    side: int = 5,
    agents: int = 3,
    start: datetime = _DELIVERIES_START,
) -> Iterator[bytes]:
    """Messages in order of time; the same seed gives the same bytes.

    The first one says of each road whether it is open. Then come news of roads and questions of
    agents, some ten seconds apart. An agent asks where to go next from where it stands. The city is
    a square of ``side`` times as many places; without a ``count`` the messages never end.
    """
    dice, time = random.Random(seed), start
    city = list(roads(side))
    places = [f"p{row}-{column}" for row in range(side) for column in range(side)]
    changed = city
    for _ in islice(numbers(), count):
        told = "".join(_road(each, dice.random() >= _CLOSED) for each in changed)
        if changed is not city and dice.random() < 0.5:
            told = (
                f'<question agent="agent{dice.randrange(agents)}" '
                f'at="{dice.choice(places)}" to="{dice.choice(places)}"/>'
            )
        yield f'<traffic time="{stamp(time)}">{told}</traffic>'.encode()
        changed = dice.sample(city, dice.randint(1, 4))
        time += timedelta(seconds=dice.randint(5, 15))


def _road(road: tuple[str, str, str], opened: bool) -> str:
    name, start, end = road
    state = "open" if opened else "closed"
    return f'<road name="{name}" from="{start}" to="{end}" state="{state}"/>'


_STOCKS_START: Final = datetime(2011, 3, 28, 9, 0, tzinfo=UTC)
COMPANIES: Final = ("ACME", "Initech", "Globex")
AGENCIES: Final = ("Fitch", "Moody")
_BOUGHT: Final = ("Hooli", "Umbrella", "Stark")
_HOURS: Final = (6, 12, 18, 30, 60)


def stock_messages(
    count: int | None = None, *, seed: int = 2678, start: datetime = _STOCKS_START
) -> Iterator[bytes]:
    """Messages in order of time, one piece of news each; the same seed gives the same bytes.

    Six to sixty hours lie between two messages. Prices move by up to a third, and now and then fall
    by more than half. ``count`` of None never ends; ``start``, aware, is the first message's time.
    """
    dice, time = random.Random(seed), start
    cents = dict.fromkeys(COMPANIES, 10_000)
    for number in islice(numbers(1), count):
        company = dice.choice(COMPANIES)
        kind = dice.random()
        if kind < 0.75:
            factor = dice.uniform(0.3, 0.5) if dice.random() < 0.1 else dice.uniform(0.67, 1.5)
            cents[company] = max(100, round(cents[company] * factor))
            price = f"{cents[company] // 100}.{cents[company] % 100:02}"
            news = f'<price company="{company}">{price}</price>'
        elif kind < 0.95:
            agency, score = dice.choice(AGENCIES), dice.randint(1, 9)
            news = f'<rating by="{agency}" company="{company}">{score}</rating>'
        else:
            news = f'<acquisition by="{company}">{dice.choice(_BOUGHT)}</acquisition>'
        yield f'<news number="{number}" time="{stamp(time)}">{news}</news>'.encode()
        time += timedelta(hours=dice.choice(_HOURS))


_FIRES_START: Final = datetime(2020, 1, 1, 12, 0, tzinfo=UTC)
LOCATIONS: Final = ("locA", "locB", "locC", "locD", "locE")
"""Places of sensors; the background knowledge says in which room they are."""
_SMOKE: Final = 0.15
_HOT: Final = 0.3


def fire_messages(
    count: int | None = None, *, seed: int = 2678, start: datetime = _FIRES_START
) -> Iterator[bytes]:
    """Messages in order of time, one reading each, about a minute apart; the same seed gives the
    same bytes. ``count`` of None never ends; ``start``, aware, is the first message's time.
    """
    dice, time = random.Random(seed), start
    for number in islice(numbers(1), count):
        place = dice.choice(LOCATIONS)
        if dice.random() < _SMOKE:
            what = "<smoke/>"
        else:
            low, high = (60.0, 90.0) if dice.random() < _HOT else (18.0, 60.0)
            what = f"<temperature>{dice.uniform(low, high):.1f}</temperature>"
        told = f'id="{number}" sensor="s-{place}" at="{place}" time="{stamp(time)}"'
        yield f"<reading {told}>{what}</reading>".encode()
        time += timedelta(seconds=dice.choice((20, 40, 60, 90)))


NAMESPACE: Final = "http://www.ebay.com/marketplace/search/v1/services"
"""The namespace of the auction house's answers."""
_AUCTIONS_START: Final = datetime(2011, 5, 2, 18, 0, tzinfo=UTC)

_THINGS: Final = ("console", "balance board", "remote", "sports & party games", "racing wheel")
_STATES: Final = ("new", "used", "boxed")
_LAST_BID: Final = 0.04


@dataclass(slots=True)
class _Auction:
    id: int
    title: str
    cents: int


def auction_messages(
    count: int | None = None,
    *,
    seed: int = 2678,
    auctions: int = 12,
    start: datetime = _AUCTIONS_START,
) -> Iterator[bytes]:
    """Messages in order of time, one to three bids each; the same seed gives the same bytes.

    About 250 milliseconds lie between two messages. Sometimes a bid is the last of its auction, and
    another one takes its place: ``auctions`` run at a time. ``count`` of None never ends;
    ``start``, aware, is the first message's time.
    """
    dice = random.Random(seed)
    ids = numbers(220_000_000_001)
    running = [_opened(next(ids), dice) for _ in range(auctions)]
    time = start
    for _ in islice(numbers(), count):
        items = []
        for place in sorted(dice.sample(range(auctions), min(dice.randint(1, 3), auctions))):
            auction = running[place]
            auction.cents += dice.randint(1, 20) * 25
            items.append(_item(auction))
            if dice.random() < _LAST_BID:
                running[place] = _opened(next(ids), dice)
        yield _message(time, items)
        time += timedelta(milliseconds=dice.randint(50, 450))


def _opened(id: int, dice: random.Random) -> _Auction:
    title = f"Wii {dice.choice(_THINGS)}, {dice.choice(_STATES)}"
    return _Auction(id, title, dice.randint(4, 400) * 25)


def _item(auction: _Auction) -> str:
    price = f"{auction.cents // 100}.{auction.cents % 100:02}"
    return (
        f"<item><itemId>{auction.id}</itemId><title>{escape(auction.title)}</title>"
        f'<sellingStatus><currentPrice currencyId="USD">{price}</currentPrice></sellingStatus>'
        "</item>"
    )


def _message(time: datetime, items: list[str]) -> bytes:
    moment = time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    text = (
        f'<findItemsByKeywordsResponse xmlns="{NAMESPACE}"><ack>Success</ack>'
        f"<timestamp>{moment}Z</timestamp>"
        f'<searchResult count="{len(items)}">{"".join(items)}</searchResult>'
        "</findItemsByKeywordsResponse>"
    )
    return text.encode()
