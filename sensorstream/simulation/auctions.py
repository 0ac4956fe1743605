"""Messages of an auction house: the answers of eBay's findItemsByKeywords, as a stream.

Source: "Monitoring eBay Auctions by Querying RDF Streams" (2011), section 4.1. The elements are
those of eBay's Finding API; elements that no query of the paper reads are left out.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from xml.sax.saxutils import escape

NAMESPACE: Final = "http://www.ebay.com/marketplace/search/v1/services"
START: Final = datetime(2011, 5, 2, 18, 0, tzinfo=UTC)

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
    start: datetime = START,
) -> Iterator[bytes]:
    """Messages in order of time, one to three bids each; the same seed gives the same bytes.

    About 250 milliseconds lie between two messages. Sometimes a bid is the last of its auction, and
    another auction takes its place.

    Args:
        count: how many messages; ``None`` never ends.
        auctions: how many run at a time.
        start: the time of the first message, aware.
    """
    dice = random.Random(seed)
    numbers = itertools.count(220_000_000_001)
    running = [_opened(next(numbers), dice) for _ in range(auctions)]
    time = start
    for _ in itertools.islice(itertools.count(), count):
        items = []
        for place in sorted(dice.sample(range(auctions), min(dice.randint(1, 3), auctions))):
            auction = running[place]
            auction.cents += dice.randint(1, 20) * 25
            items.append(_item(auction))
            if dice.random() < _LAST_BID:
                running[place] = _opened(next(numbers), dice)
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
    stamp = time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    text = (
        f'<findItemsByKeywordsResponse xmlns="{NAMESPACE}"><ack>Success</ack>'
        f"<timestamp>{stamp}Z</timestamp>"
        f'<searchResult count="{len(items)}">{"".join(items)}</searchResult>'
        "</findItemsByKeywordsResponse>"
    )
    return text.encode()
