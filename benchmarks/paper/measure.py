"""Systems side by side: they take turns, so that the machine's noise falls on all alike."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.beside.turns import Disagreement
from benchmarks.paper.results import Row, Step
from benchmarks.paper.systems import System


@dataclass(slots=True)
class Track:
    """A system and its messages: ``before`` until it is warm and full, then ``measured``."""

    name: str
    size: int
    system: System
    before: Sequence[bytes]
    measured: Sequence[bytes]
    steps: list[Step] = field(default_factory=list)
    cpu: float = 0.0

    @property
    def steady(self) -> list[Step]:
        """What was measured in turns."""
        return self.steps[len(self.before) :]

    def row(self, section: str, *, checked: int = 0) -> Row:
        """The summary of the measured messages, with a curve over all of them."""
        return Row.of(
            section,
            self.name,
            self.size,
            self.steady,
            cpu=self.cpu,
            everything=self.steps,
            checked=checked,
        )


def run_in_turns(tracks: Sequence[Track], turns: int) -> None:
    """Process every track's messages, a share of them at each turn."""
    for track in tracks:
        track.steps += track.system.steps(track.before)
    for turn in range(turns):
        for track in tracks:
            first, last = (len(track.measured) * n // turns for n in (turn, turn + 1))
            # What one system left behind is not the next one's to clean up.
            gc.collect()
            begun = track.system.cpu()
            track.steps += track.system.steps(track.measured[first:last])
            track.cpu += track.system.cpu() - begun


def compare_types(
    complete: System, other: System, individuals: Sequence[str], *, sound_only: bool = False
) -> int:
    """Check that two systems infer the same; how many individuals were compared.

    ``sound_only`` lets ``other`` infer less than ``complete``, but nothing else.

    Raises:
        Disagreement: they do not.
    """
    return check_types(complete.types(individuals), other.types(individuals), sound_only=sound_only)


def check_types(
    expected: dict[str, frozenset[str]],
    found: dict[str, frozenset[str]],
    *,
    sound_only: bool = False,
) -> int:
    """Check types against those that are right; how many individuals were compared.

    Raises:
        Disagreement: they differ, or there is nothing to compare.
    """
    if not expected or not all(expected.values()):
        raise Disagreement("there is nothing to compare: no individual with a type")
    for name, types in expected.items():
        if not (found[name] <= types if sound_only else found[name] == types):
            raise Disagreement(
                f"{name}: expected {', '.join(sorted(types))}; found "
                f"{', '.join(sorted(found[name])) or 'none'}"
            )
    return len(expected)
