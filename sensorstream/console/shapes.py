"""Points, lines and areas, as texts and pairs of coordinates say them.

Sources: OGC 06-103r4 (Simple Features), section 7 (WKT); OGC 22-047r1 (GeoSPARQL 1.1), section
8.5.1 (``geo:wktLiteral``: without a reference system, longitude and latitude are meant).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Final, TypeAlias

Place: TypeAlias = tuple[float, float]
"""East and north."""
DEGREES: Final = "degrees"
"""The frame of longitude and latitude."""
PLANE: Final = ""
"""The frame of coordinates of which only the names are known, such as x and y."""
_LONGEST: Final = 400_000
_BEGIN: Final = re.compile(r"\s*(?:<[^<>\s]*>\s*)?(?:MULTI|POINT|LINE|POLY|GEOM)", re.IGNORECASE)
# Of a text with single spaces: otherwise many of them would take long.
_PART: Final = re.compile(
    r"(?:MULTI)?(POINT|LINESTRING|POLYGON) ?(?:ZM?|M)? ?(\([-+.,\d eE()]*\))", re.IGNORECASE
)
_WHOLE: Final = re.compile(
    rf"(?:<([^<> ]*)> ?)?(?:{_PART.pattern}|"
    rf"GEOMETRYCOLLECTION ?(?:ZM?|M)? ?\((?:,? ?{_PART.pattern})+ ?\)?)",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"\(([^()]*)\)")
_LONGITUDE_FIRST: Final = re.compile(r".*[/:]CRS84h?", re.IGNORECASE)
# EPSG says latitude first for these: WGS 84 (also with height), ETRS89, NAD83, NAD27.
_LATITUDE_FIRST: Final = re.compile(r".*EPSG[/:](?:.*[/:])?(?:4326|4979|4258|4937|4269|4267)")
_PAIRS: Final = (
    (("longitude", "long", "lon", "lng"), ("latitude", "lat"), DEGREES),
    (("xlocation", "x", "easting"), ("ylocation", "y", "northing"), PLANE),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Where something is; ``frame`` says of which kind its coordinates are.

    That is :data:`DEGREES`, :data:`PLANE`, or the IRI of a reference system, whose coordinates are
    taken as metres to the east and to the north.
    """

    frame: str
    points: tuple[Place, ...] = ()
    lines: tuple[tuple[Place, ...], ...] = ()
    rings: tuple[tuple[Place, ...], ...] = ()
    """What lies within an odd number of them is inside."""

    def corners(self) -> Iterator[Place]:
        """All places that it names."""
        return chain(self.points, *self.lines, *self.rings)


def shape_of(text: str) -> Shape | None:
    """The shape that WKT says; None for anything else."""
    if len(text) > _LONGEST or _BEGIN.match(text) is None:
        return None
    plain = " ".join(text.split())
    found = _WHOLE.fullmatch(plain)
    if found is None:
        return None
    said = found[1] or ""
    turned = _LATITUDE_FIRST.fullmatch(said) is not None
    parts: dict[str, list[tuple[Place, ...]]] = {"POINT": [], "LINESTRING": [], "POLYGON": []}
    try:
        for part in _PART.finditer(plain, len(said)):
            for numbers in _LIST.findall(part[2]):
                places = tuple(_place(each, turned=turned) for each in numbers.split(","))
                parts[part[1].upper()].append(places)
    except ValueError:
        return None
    points, lines, rings = parts.values()
    shape = Shape(said, tuple(chain(*points)), tuple(lines), tuple(rings))
    if said and not turned and _LONGITUDE_FIRST.fullmatch(said) is None:
        return shape
    is_of_globe = all(abs(east) <= 360 and abs(north) <= 90 for east, north in shape.corners())
    return replace(shape, frame=DEGREES if is_of_globe else PLANE)


def _place(text: str, *, turned: bool) -> Place:
    """East and north from numbers; ``turned``: north is the first of them.

    Raises:
        ValueError: these are no two or more numbers.
    """
    first, second, *_ = map(float, text.split())
    if not (isfinite(first) and isfinite(second)):
        raise ValueError(text)
    return (second, first) if turned else (first, second)


def coordinates(names: Sequence[str]) -> tuple[str, str, str] | None:
    """The names of the properties that say east and north, and their frame; None: there are none.

    Names are known as they are, also with "has" before them.
    """
    by_end = {each.lower().removeprefix("has"): each for each in names}
    for easts, norths, frame in _PAIRS:
        east = next((by_end[each] for each in easts if each in by_end), None)
        north = next((by_end[each] for each in norths if each in by_end), None)
        if east is not None and north is not None:
            return east, north, frame
    return None
