"""Points and polygons as texts, which point lies within which polygon, and distances on the globe.

Source: OGC 06-103r4 (Simple Features), section 7 (WKT) and 6.1.15.3 ("within": a point on the
border is not); OGC 22-047r1 (GeoSPARQL 1.1), section 8.5.1 (``geo:wktLiteral``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import asin, cos, isfinite, radians, sin, sqrt
from typing import Final, TypeAlias

from sensorstream.errors import TermError

Point: TypeAlias = tuple[float, float]
Ring: TypeAlias = tuple[Point, ...]

MOST_CORNERS: Final = 10_000
"""The most corners of a polygon, with its holes: each test looks at all of them."""
_LONGEST: Final = 400_000
_CRS84: Final = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_EPSG_4326: Final = "http://www.opengis.net/def/crs/EPSG/0/4326"
_RADIUS: Final = 6_371_008.8
"""The mean radius of the Earth, in metres (WGS 84: (2 a + b) / 3)."""
_NUMBER: Final = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_FORM: Final = re.compile(r"\s*(?:<([^<>\s]*)>\s*)?([A-Za-z]+)\s*(\(.*\))\s*\Z", re.S)
_POINT: Final = re.compile(rf"\s*({_NUMBER})\s+({_NUMBER})\s*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Area:
    """Polygons, by their rings; a point is inside that an odd number of rings surround.
    ``reference`` is the IRI of the coordinates' reference system; x and y are taken as on a plane.
    """

    reference: str
    rings: tuple[Ring, ...]


def read_point(text: str) -> tuple[str, Point]:
    """The reference system and coordinates of ``POINT(x y)``.

    Raises:
        TermError: another text.
    """
    reference, kind, body = _parts(text)
    if kind != "POINT":
        raise TermError(f"'{text[:80]}' is no point: expected POINT(x y)")
    return reference, _point(body[1:-1])


@lru_cache(maxsize=64)
def read_area(text: str) -> Area:
    """The polygons of ``POLYGON((x y, …), (hole), …)`` or ``MULTIPOLYGON(((…)), …)``.

    Raises:
        TermError: another text, a ring that is not closed, or over :data:`MOST_CORNERS` corners.
    """
    reference, kind, body = _parts(text)
    if kind not in ("POLYGON", "MULTIPOLYGON"):
        raise TermError(f"'{text[:80]}' is no area: expected POLYGON((x y, …)) or MULTIPOLYGON")
    if body.count(",") > MOST_CORNERS:
        raise TermError(f"a polygon of over {MOST_CORNERS} corners")
    polygons = [body] if kind == "POLYGON" else _members(body)
    return Area(reference, tuple(_ring(ring) for each in polygons for ring in _members(each)))


def lies_within(point: Point, area: Area) -> bool:
    """Whether a point lies inside polygons, not on their border; O(corners). Casts a ray to the
    right and counts the sides that it crosses.
    """
    x, y = point
    inside = False
    for ring in area.rings:
        for (x1, y1), (x2, y2) in pairwise(ring):
            side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
            if side == 0 and min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2):
                return False
            if (y1 > y) != (y2 > y) and (side > 0) == (y2 > y1):
                inside = not inside
    return inside


def read_position(text: str) -> Point:
    """Longitude and latitude of ``POINT(x y)``, in degrees. In CRS84, the default reference system,
    x is the longitude; in EPSG:4326 it is the latitude.

    Raises:
        TermError: another text, another reference system, or no place on the globe.
    """
    reference, (x, y) = read_point(text)
    if reference == _EPSG_4326:
        x, y = y, x
    elif reference != _CRS84:
        raise TermError(f"a point in <{reference[:80]}>: expected <{_CRS84}> or <{_EPSG_4326}>")
    if abs(x) > 360 or abs(y) > 90:
        raise TermError(f"'{text[:80]}' is no place on the globe: expected degrees")
    return x, y


def metres_between(one: Point, other: Point) -> float:
    """The distance of two positions along the surface of a sphere, in metres.

    The Earth is flatter: the error is up to half a percent. Source: the haversine formula (R. W.
    Sinnott, Virtues of the Haversine, 1984).
    """
    (east, north), (other_east, other_north) = one, other
    latitude, other_latitude = radians(north), radians(other_north)
    half = sin((other_latitude - latitude) / 2) ** 2
    half += cos(latitude) * cos(other_latitude) * sin(radians(other_east - east) / 2) ** 2
    return 2 * _RADIUS * asin(min(1.0, sqrt(half)))


def _parts(text: str) -> tuple[str, str, str]:
    match = _FORM.match(text) if len(text) <= _LONGEST else None
    if match is None:
        raise TermError(f"'{text[:80]}' is not WKT: expected e.g. POINT(26.1 44.4)")
    return match[1] or _CRS84, match[2].upper(), match[3]


def _point(text: str) -> Point:
    match = _POINT.match(text)
    if match is None:
        raise TermError(f"'{text[:80]}' is no pair of coordinates: expected e.g. 26.1 44.4")
    x, y = float(match[1]), float(match[2])
    if not (isfinite(x) and isfinite(y)):
        raise TermError(f"'{text[:80]}' is too far away: expected e.g. 26.1 44.4")
    return x, y


def _ring(body: str) -> Ring:
    ring = tuple(_point(each) for each in body[1:-1].split(","))
    if len(ring) < 4 or ring[0] != ring[-1]:
        raise TermError(f"'{body[:80]}' is no ring: expected its first point at its end again")
    return ring


def _members(body: str) -> list[str]:
    """The parts in brackets, with commas between, of a text in brackets."""
    depth, start, end = 0, 1, len(body) - 1
    found: list[str] = []
    for place in range(1, end):
        sign = body[place]
        if sign == "(":
            if depth == 0 and body[start:place].strip(" \t\r\n") != ("," if found else ""):
                break
            start, depth = (place, 1) if depth == 0 else (start, depth + 1)
        elif sign == ")":
            depth -= 1
            if depth < 0:
                break
            if depth == 0:
                found.append(body[start : place + 1])
                start = place + 1
    if depth or not found or body[start:end].strip():
        raise TermError(f"'{body[:80]}' is not WKT: expected parts in brackets, with commas")
    return found
