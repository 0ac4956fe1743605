"""Value functions that make geometries: from coordinates in a text to WKT (ISO 19125-1, 7.2).

A GeoSPARQL ``geo:wktLiteral`` without an IRI is in CRS84: degrees, longitude first. So latitude and
longitude are put in that order here, whatever order the message has. Numbers stay exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, TypeAlias

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import ValueCall
from sensorstream.mapping.functions.function_definition import (
    Definition,
    Function,
    Library,
    ValueKind,
    any_of,
    may,
    needs,
    read_number,
    write_number,
)
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import iri

Position: TypeAlias = tuple[Decimal, ...]
"""The numbers of one position, in the order of the WKT."""

_SHAPES: Final = ("point", "line", "polygon", "rings", "circle")
_SEPARATOR: Final = re.compile(r"[\s,;]+")
_LEAST: Final = {"line": 2, "polygon": 4, "rings": 4}
_WORD: Final = {"point": "POINT", "line": "LINESTRING", "polygon": "POLYGON", "rings": "POLYGON"}
_CORNERS: Final = 64
_EARTH: Final = 6371.0088
"""The mean radius of the earth in km (IUGG)."""


@frozen
class _Axes:
    """The meaning of the numbers of a position.

    ``order`` is ``lat lon``, ``lon lat`` or ``x y``; with ``height`` each position has a third
    number. ``x y`` are in the order of the reference system ``crs`` (an IRI); the others are
    degrees and have none: they become CRS84.
    """

    order: str
    height: bool
    crs: str

    @property
    def size(self) -> int:
        return 3 if self.height else 2


def _geometry(shape: str, axes: _Axes) -> Callable[[list[str]], list[str]]:
    """A function from texts with numbers to WKT: a geometry each; ``rings`` makes one polygon of
    all texts, the first as outer boundary, the others as holes.
    """
    head = f"<{axes.crs}> " if axes.crs else ""
    tag = f"{head}{_WORD.get(shape, 'POLYGON')}{' Z ' if axes.height else ''}"

    def positions(text: str) -> str:
        return _listed(_positions(text, shape, axes))

    if shape == "rings":
        return lambda texts: [f"{tag}({', '.join(map(positions, texts))})"] if texts else []
    if shape == "circle":
        return lambda texts: [_circle(text, axes) for text in texts]
    if shape == "point":
        return lambda texts: [f"{tag}{positions(text)}" for text in texts]
    opened, closed = ("(", ")") if shape == "polygon" else ("", "")
    return lambda texts: [f"{tag}{opened}{positions(text)}{closed}" for text in texts]


def _positions(text: str, shape: str, axes: _Axes) -> Sequence[Position]:
    numbers = [read_number(each) for each in _numbers(text)]
    size = axes.size
    if shape == "point" and len(numbers) != size:
        raise TermError(f"'{text}' has {len(numbers)} numbers: expected {_expected(axes)}")
    if len(numbers) % size:
        raise TermError(
            f"'{text}' has {len(numbers)} numbers: expected {_expected(axes)}, repeated"
        )
    found = [_ordered(numbers[i : i + size], axes, text) for i in range(0, len(numbers), size)]
    least = _LEAST.get(shape, 1)
    if len(found) < least:
        what = "a line" if shape == "line" else "a closed ring"
        raise TermError(f"'{text}' has {len(found)} positions: {what} has {least} at least")
    if shape in ("polygon", "rings") and found[0] != found[-1]:
        raise TermError(f"'{text}' is not closed: expected the first position again at the end")
    return found


def _numbers(text: str) -> list[str]:
    return [each for each in _SEPARATOR.split(text) if each]


def _expected(axes: _Axes) -> str:
    return f"{axes.order} height" if axes.height else axes.order


def _ordered(numbers: Sequence[Decimal], axes: _Axes, text: str) -> Position:
    if axes.order == "x y":
        return tuple(numbers)
    first, second, *rest = numbers
    latitude, longitude = (first, second) if axes.order == "lat lon" else (second, first)
    for name, number, limit in (("latitude", latitude, 90), ("longitude", longitude, 180)):
        if abs(number) > limit:
            raise TermError(
                f"'{text}': the {name} {write_number(number)} is outside -{limit} to {limit}"
            )
    return (longitude, latitude, *rest)


def _listed(positions: Sequence[Position]) -> str:
    return f"({', '.join(' '.join(map(write_number, each)) for each in positions)})"


def _circle(text: str, axes: _Axes) -> str:
    """A circle ``lat,lon radius`` (CAP 1.2, 3.2.4: the radius in km) as a polygon.

    WKT has no circles: the polygon has 64 corners on the circle, on a sphere, rounded to 6
    digits. A radius of 0 is a point.
    """
    numbers = [read_number(each) for each in _numbers(text)]
    if len(numbers) != 3:
        raise TermError(f"'{text}' has {len(numbers)} numbers: expected {axes.order} radius")
    longitude, latitude = _ordered(numbers[:2], axes, text)
    radius = numbers[2]
    if radius == 0:
        return f"POINT{_listed([(longitude, latitude)])}"
    angle = float(radius) / _EARTH
    start, reach = math.radians(latitude), math.degrees(angle)
    if radius < 0 or reach > 90 - abs(latitude):
        raise TermError(f"'{text}': expected a radius above 0 that does not reach a pole")
    corners = []
    for corner in range(_CORNERS):
        # Counterclockwise, as an outer boundary is; the destination on a great circle.
        bearing = -2 * math.pi * corner / _CORNERS
        end = math.asin(
            math.sin(start) * math.cos(angle)
            + math.cos(start) * math.sin(angle) * math.cos(bearing)
        )
        turned = math.atan2(
            math.sin(bearing) * math.sin(angle) * math.cos(start),
            math.cos(angle) - math.sin(start) * math.sin(end),
        )
        x = float(longitude) + math.degrees(turned)
        if abs(x) > 180:
            raise TermError(f"'{text}': the circle crosses the 180th meridian")
        corners.append((Decimal(f"{x:.6f}"), Decimal(f"{math.degrees(end):.6f}")))
    return f"POLYGON({_listed([*corners, corners[0]])})"


_DEGREES: Final = "(?:lat lon|lon lat)"


def _wkt(call: ValueCall, _: Library) -> Function:
    words = [each.text for each in call.arguments]
    crs = call.arguments[-1] if words[-2] == "in" else None
    shape = words.pop(0) if words[0] in _SHAPES else "point"
    if crs is not None:
        try:
            iri(crs.text)
        except TermError as error:
            raise LanguageError(error.message, position=crs.position) from None
    axes = _Axes(" ".join(words[:2]), "height" in words, "" if crs is None else crs.text)
    run = _geometry(shape, axes)
    return Function.on_all(call, (ValueKind.ANY,), ValueKind.WKT, run, separate=shape != "rings")


GEOMETRY_CALLS: Final = (
    Definition(
        "wkt",
        'wkt SHAPE lat lon, wkt SHAPE lon lat or wkt SHAPE x y in "IRI", where SHAPE may be '
        f"missing or is one of {', '.join(_SHAPES)}; but for a circle, height may follow the axes",
        "a geometry, as a geo:wktLiteral",
        f"circle {_DEGREES}|(?:{any_of(_SHAPES[:-1])} )?"
        f'(?:{_DEGREES}(?: height)?|x y(?: height)? in ")',
        (may("shape", "word"), needs("axes", "word"), may("crs", "text", "in")),
        _wkt,
    ),
)
