"""Buoys that measure the pressure of the sea at its ground, while the tide comes and goes.

Made for the tsunami detection of Anicic et al., "EP-SPARQL", 2011, section 6, test 3, after the
algorithm of the National Data Buoy Center (DART).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Final

from sensorstream.simulation.observation import stamp

START: Final = datetime(2010, 3, 23, 0, 0, tzinfo=UTC)
EVERY: Final = timedelta(seconds=15)
"""How often a buoy is read, as in the paper."""
_TIDE: Final = timedelta(hours=12, minutes=25)
_MILLIMETRES: Final = 400.0
_WAVE: Final = timedelta(minutes=20)
_WAVES_APART: Final = timedelta(hours=5)
_HEIGHT: Final = 90.0


def level(buoy: int, buoys: int, since: timedelta) -> float:
    """The height of the water in millimetres, some time after the start.

    The tide, and from the fourth hour on a wave every five hours at one of the buoys.
    """
    tide = _MILLIMETRES * math.sin(2 * math.pi * (since / _TIDE + buoy / buoys))
    number, within = divmod(since + timedelta(hours=1), _WAVES_APART)
    if number < 1 or number % buoys != buoy or within > _WAVE:
        return 4_000_000 + tide
    return 4_000_000 + tide + _HEIGHT * math.sin(2 * math.pi * (within / _WAVE))


def buoy_messages(
    count: int | None = None,
    *,
    seed: int = 2678,
    buoys: int = 2,
    every: timedelta = EVERY,
    start: datetime = START,
) -> Iterator[bytes]:
    """Messages in order of time, one reading of all buoys each; a seed gives the same bytes.

    Args:
        count: how many messages; None never ends.
        buoys: how many there are.
        every: how often they are read.
        start: the time of the first message, aware.
    """
    dice = random.Random(seed)
    for number in islice(numbers(), count):
        since = number * every
        told = "".join(
            f'<buoy id="{46_073 + buoy}">{level(buoy, buoys, since) + dice.gauss(0, 1):.1f}</buoy>'
            for buoy in range(buoys)
        )
        yield f'<readings time="{stamp(start + since)}" unit="mm">{told}</readings>'.encode()
