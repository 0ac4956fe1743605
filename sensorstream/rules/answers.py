"""What rules have asked the history, and what it has answered."""

from __future__ import annotations

from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.rules.timers import SolutionKey


@frozen
class Asked:
    """A question of a rule that waits for its answer.

    ``moment`` has ``?last`` and ``?now``, which are the instants ``last`` and ``now``.
    """

    rule: str
    moment: SolutionKey
    last: Instant
    now: Instant


@frozen
class Answer:
    """The answer to the question of a rule, for a ``moment`` as in :class:`Asked`.

    ``failure`` says why there is none; it is empty if there is one.
    """

    rule: str
    moment: SolutionKey
    solutions: tuple[SolutionKey, ...] = ()
    failure: str = ""
