"""A city whose roads are closed and opened, and agents who ask for their way.

Made for the goods delivery system of Anicic et al., "EP-SPARQL", 2011, section 6, test 3.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Final

from sensorstream.simulation.observation import stamp

START: Final = datetime(2011, 3, 28, 8, 0, tzinfo=UTC)
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
    start: datetime = START,
) -> Iterator[bytes]:
    """Messages in order of time; the same seed gives the same bytes.

    The first one says of each road whether it is open. Then come news of roads and questions of
    agents, some ten seconds apart. An agent asks where to go next from where it stands.

    Args:
        count: how many messages; None never ends.
        side: the city is a square of so many times so many places.
        agents: how many deliver goods.
        start: the time of the first message, aware.
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
