"""What rules have asked the history, and what it has answered."""

from __future__ import annotations

from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.rules.timers import SolutionKey


@frozen
class Asked:
    """A question of a rule that waits for its answer.

    ``digest`` is that of the question; ``moment`` has ``?last`` and ``?now``, the instants ``last``
    and ``now``.
    """

    rule: str
    digest: str
    moment: SolutionKey
    last: Instant
    now: Instant


@frozen
class Answer:
    """The answer to a question: ``rule``, ``digest`` and ``moment`` are those of :class:`Asked`.

    ``failure`` says why there is none; it is empty if there is one.
    """

    rule: str
    digest: str
    moment: SolutionKey
    solutions: tuple[SolutionKey, ...] = ()
    failure: str = ""
