"""News of a stock exchange: prices, ratings by agencies, acquisitions.

Made for the queries of Anicic et al., "EP-SPARQL", 2011, section 4.1.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Final

from sensorstream.simulation.observation import stamp

START: Final = datetime(2011, 3, 28, 9, 0, tzinfo=UTC)
COMPANIES: Final = ("ACME", "Initech", "Globex")
AGENCIES: Final = ("Fitch", "Moody")
_BOUGHT: Final = ("Hooli", "Umbrella", "Stark")
_HOURS: Final = (6, 12, 18, 30, 60)


def stock_messages(
    count: int | None = None, *, seed: int = 2678, start: datetime = START
) -> Iterator[bytes]:
    """Messages in order of time, one piece of news each; the same seed gives the same bytes.

    Six to sixty hours lie between two messages. Prices move by up to a third, and now and then fall
    by more than half.

    Args:
        count: how many messages; None never ends.
        start: the time of the first message, aware.
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
