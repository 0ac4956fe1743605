"""What became of a story: an expectation that was not met is a difference."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.errors import Position
from sensorstream.stories.story import Story


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a story and what happened differ.

    ``missing`` was expected and is not there, ``unexpected`` is there and must not be; ``got``
    helps to see why: what there was instead.
    """

    position: Position
    what: str
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    got: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A story that was played; it holds if there is no difference."""

    story: Story
    differences: tuple[Difference, ...]

    @property
    def holds(self) -> bool:
        return not self.differences
