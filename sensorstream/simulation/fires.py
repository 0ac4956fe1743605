"""Sensors of smoke and temperature in the rooms of a building.

Made for rule R of "DOTR: a model for stream reasoning", section 3.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Final

from sensorstream.simulation.observation import stamp

START: Final = datetime(2020, 1, 1, 12, 0, tzinfo=UTC)
LOCATIONS: Final = ("locA", "locB", "locC", "locD", "locE")
"""Where a sensor is; the background knowledge says in which room that is."""
_SMOKE: Final = 0.15
_HOT: Final = 0.3


def fire_messages(
    count: int | None = None, *, seed: int = 2678, start: datetime = START
) -> Iterator[bytes]:
    """Messages in order of time, one reading each; the same seed gives the same bytes.

    About a minute lies between two readings.

    Args:
        count: how many messages; None never ends.
        start: the time of the first message, aware.
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
