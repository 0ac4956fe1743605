"""The tracker messages of the paper's scenario (SensorStream, section 5.2)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

_TEMPLATE: Final = b"""\
<?xml version='1.0' encoding='UTF-8'?>
<Message>
  <Event id='%d'>
    <Tracker type='FaceTracker'>
      <TimeStamp value = '%d' />
      <person id='%d' certainty='%d' >
        <location2d x='%d' y='%d' />
      </person>
    </Tracker>
  </Event>
</Message>
"""
PAPER_MESSAGE: Final = _TEMPLATE % (9, 2678, 2678, 100, 72, 8)
"""The message as printed in the paper."""

WIDTH: Final = 640
HEIGHT: Final = 480
LEAST_CERTAINTY: Final = 40


def tracker_messages(
    count: int | None = None, *, seed: int = 2678, start: int = 1, people: int | None = None
) -> Iterator[bytes]:
    """Messages of a face tracker, in time order; the same seed gives the same bytes.

    The event id and the time stamp count up by one from ``start``. Each message names a person of
    its own (the paper's stream, where every message brings a new individual), or one of ``people``
    known persons, who then move. Certainty is 40 to 100 per cent, the place a pixel of a 640 x 480
    image. ``count`` of None never ends.
    """
    dice = random.Random(seed)
    for moment in itertools.islice(itertools.count(start), count):
        person = moment if people is None else dice.randint(1, people)
        yield _TEMPLATE % (
            moment,
            moment,
            person,
            dice.randint(LEAST_CERTAINTY, 100),
            dice.randrange(WIDTH),
            dice.randrange(HEIGHT),
        )
