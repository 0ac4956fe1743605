"""What held when, as a picture: a bar for each statement, below each other what held together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from sensorstream.console import places
from sensorstream.console.times import seconds

_BAR: Final = 18
_NAME: Final = 18
"""The height of a bar, and of the name above those of a property."""
_END: Final = 16
_MOST: Final = 40
"""Bars below each other; what would need more is left out."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A value that held for a while; ``until`` is None: it still does."""

    property: str
    value: str
    since: object
    until: object | None
    how: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Spells of one property that do not overlap, the oldest first."""

    property: str
    spells: tuple[Spell, ...]


def lanes_of(spells: Sequence[Spell]) -> list[Lane]:
    """The spells of each property in as few lanes as it takes; properties by name."""
    found: dict[str, list[list[Spell]]] = {}
    for spell in sorted(spells, key=lambda each: (seconds(each.since), each.value)):
        lanes = found.setdefault(spell.property, [])
        free = (lane for lane in lanes if _has_ended(lane[-1], spell.since))
        lane = next(free, None)
        if lane is None:
            lanes.append([spell])
        else:
            lane.append(spell)
    return [Lane(name, tuple(lane)) for name in sorted(found) for lane in found[name]]


def _has_ended(spell: Spell, moment: object) -> bool:
    return spell.until is not None and seconds(spell.until) <= seconds(moment)


def timeline(spells: Sequence[Spell]) -> str:
    """The picture as SVG, as wide as its place; a bar leads to the message that said it."""
    lanes = lanes_of(spells)
    shown = lanes[:_MOST]
    ends = [each for spell in spells for each in (spell.since, spell.until) if each is not None]
    # What holds since long before begins at the edge.
    begins = [spell.since for spell in spells if spell.until is not None]
    first, last = min(begins or ends, key=seconds), max(ends, key=seconds)
    begin, length = seconds(first), max(seconds(last) - seconds(first), 1e-9)
    parts: list[str] = []
    at, name = 0, ""
    for lane in shown:
        if lane.property != name:
            name = lane.property
            at += _NAME
            parts.append(f'<text y="{at - 4}">{escape(name)}</text>')
        parts.extend(_bars(lane, at, begin, length))
        at += _BAR
    left = len(lanes) - len(shown)
    more = f" ({left} lines more are left out)" if left else ""
    at += _END
    parts.append(f'<text y="{at - 3}">{escape(str(first))}{more}</text>')
    parts.append(f'<text x="100%" y="{at - 3}" text-anchor="end">{escape(str(last))}</text>')
    return (
        f'<svg width="100%" height="{at}" role="group" aria-label="Timeline">{"".join(parts)}</svg>'
    )


def _bars(lane: Lane, top: int, begin: float, length: float) -> Iterator[str]:
    for spell in lane.spells:
        left = max(100 * (seconds(spell.since) - begin) / length, 0.0)
        right = 100.0 if spell.until is None else 100 * (seconds(spell.until) - begin) / length
        until = "until now" if spell.until is None else f"to {spell.until}"
        how = f", {spell.how}" if spell.how else ""
        told = escape(f"{spell.property} {spell.value}, {spell.since} {until}{how}")
        kind = "inferred" if spell.how else "said"
        # The table below leads to the messages by keyboard: so many stops would be in the way.
        yield (
            f'<a href="{escape(places.message(spell.message_id))}" tabindex="-1" '
            f'aria-label="{told}"><svg class="{kind}" x="{left:.3f}%" y="{top}" '
            f'width="{max(right - left, 0.15):.3f}%" height="{_BAR - 2}"><title>{told}</title>'
            f'<rect width="100%" height="100%"/><text x="3" y="12">{escape(spell.value)}</text>'
            "</svg></a>"
        )
