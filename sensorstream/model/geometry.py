"""Geometries, read from texts and written by shapely (GEOS), in the reference systems of pyproj.

Source: OGC 22-047r1 (GeoSPARQL 1.1), sections 8.5.1 (``geo:wktLiteral``) and 8.5.3
(``geo:geoJSONLiteral``); OGC 06-103r4 (Simple Features), section 7.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.installation import EXTRAS
from sensorstream.model.frozen import frozen

Shape: TypeAlias = Any
"""A geometry of shapely."""

MOST_CORNERS: Final = 10_000
"""The most corners of a geometry that functions look at."""
MOST_PAIRS: Final = 1_000_000
"""The most pairs of lines that may cross each other: nothing can end a call of GEOS."""
DEGREES: Final = "EPSG:4326"
"""The code of the system of longitude and latitude, whatever the order of its axes."""
CRS84: Final = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_MOST_NESTED: Final = 32
_FORM: Final = re.compile(r"\s*(?:<([^<>\s]*)>\s*)?(.*)", re.S)
_REFERENCE: Final = re.compile(
    r"(?:https?://www\.opengis\.net/def/crs/|urn:ogc:def:crs:)(\w+)[/:][^/:]*[/:](\w+)"
)
_JSON_KINDS: Final = frozenset(
    f"{many}{kind}" for many in ("", "Multi") for kind in ("Point", "LineString", "Polygon")
) | {"GeometryCollection"}
# Kinds of WKT that shapely does not read.
_UNREAD: Final = re.compile(r"CIRCULAR|CURVE|SURFACE|\bTIN\b|TRIANGLE", re.IGNORECASE)


@cache
def shapely(name: str) -> Callable[..., Any]:
    """A function of shapely, which is loaded when the first is asked for."""
    found: Callable[..., Any] = getattr(import_module("shapely"), name)
    return found


@cache
def has_geometry() -> bool:
    """Whether the extra ``geo`` is installed."""
    return None not in map(find_spec, EXTRAS["geo"])


def computed(name: str, *arguments: Any, **options: Any) -> Any:
    """The result of a function of shapely.

    Raises:
        TermError: GEOS has none.
    """
    from shapely import errors

    try:
        return shapely(name)(*arguments, **options)
    except (errors.ShapelyError, NotImplementedError) as error:
        raise TermError(f"{name}: {' '.join(str(error).split())[:200]}") from None


@frozen
class ReferenceSystem:
    """A system of coordinates: on the globe, in degrees, or on a plane.

    ``code`` is the same for systems that differ in the order of their axes only. ``unit`` is the
    length of a unit of the plane in metres; 0: the units are degrees. ``globe`` computes on the
    ellipsoid.
    """

    code: str
    is_north_first: bool
    unit: float
    globe: Any


@lru_cache(maxsize=64)
def system_of(reference: str) -> ReferenceSystem:
    """The reference system of an IRI.

    Raises:
        TermError: pyproj does not know it, or it has neither degrees nor a plane.
    """
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    match = _REFERENCE.fullmatch(reference)
    try:
        crs = None if match is None else CRS.from_authority(match[1], match[2])
    except CRSError:
        crs = None
    if match is None or crs is None:
        raise TermError(
            f"<{reference[:80]}> is not a known reference system: expected e.g. <{CRS84}> or "
            "<http://www.opengis.net/def/crs/EPSG/0/4326>"
        )
    axes = crs.axis_info[:2]
    units = {axis.unit_name for axis in axes}
    if not (crs.is_projected or (crs.is_geographic and units == {"degree"})) or len(units) > 1:
        raise TermError(f"<{reference[:80]}> is a system without a plane, and not in degrees")
    code = DEGREES if match[2].upper() == "CRS84" else f"{match[1].upper()}:{match[2]}"
    north_first = [axis.direction for axis in axes] == ["north", "east"]
    unit = axes[0].unit_conversion_factor if crs.is_projected else 0.0
    return ReferenceSystem(code, north_first, unit, crs.get_geod())


class Geometry:
    """The value of a literal: a shape as it is written, and its reference system.

    ``written`` is None for kinds of shapes that cannot be computed with; ``size`` is the number of
    its corners.
    """

    __slots__ = ("_moved", "_shape", "is_json", "reference", "size", "written")

    def __init__(self, written: Shape, reference: str, *, is_json: bool = False) -> None:
        self.written = written
        self.reference = reference
        self.is_json = is_json
        self.size = 0 if written is None else int(shapely("get_num_coordinates")(written))
        self._shape: Shape = None
        self._moved: tuple[str, Shape] | None = None

    @property
    def system(self) -> ReferenceSystem:
        return system_of(self.reference)

    @property
    def shape(self) -> Shape:
        """The valid shape, x to the east: a polygon that crosses itself is what it surrounds.

        Raises:
            TermError: its system is not known, it is not in it, or it is too large or degenerate.
        """
        if self._shape is None:
            self._shape = self._checked()
        return self._shape

    def _checked(self) -> Shape:
        if self.written is None:
            raise TermError("curves, surfaces and triangles cannot be computed with")
        if self.size > MOST_CORNERS:
            raise TermError(f"a geometry of {self.size} corners: at most {MOST_CORNERS}")
        system, shape = self.system, self.written
        if system.is_north_first:
            shape = turned(shape)
        west, south, east, north = shape.bounds
        furthest = (360.0, 90.0) if not system.unit else (1e12, 1e12)
        if max(-west, east) > furthest[0] or max(-south, north) > furthest[1]:
            expected = "metres" if system.unit else "degrees"
            raise TermError(f"{text_of(self)[:80]} is no place on the globe: expected {expected}")
        if shapely("get_dimensions")(shape) == 2:
            if not shapely("is_valid")(shape):
                check_pairs(self.size, self.size)
                shape = computed("make_valid", shape, method="structure", keep_collapsed=False)
                if shape.is_empty:
                    raise TermError(f"{text_of(self)[:80]} surrounds nothing")
            shapely("prepare")(shape)
        return shape

    def shape_in(self, system: ReferenceSystem) -> Shape:
        """The shape in a system; raises TermError if it has no place there."""
        own = self.system
        if own.code == system.code:
            return self.shape
        if self._moved is None or self._moved[0] != system.code:
            self._moved = system.code, _moved(self.shape, own.code, system.code)
        return self._moved[1]


def read_geometry(text: str, *, is_json: bool) -> Geometry:
    """The geometry of a ``geo:wktLiteral``, or a ``geo:geoJSONLiteral``; an empty text is one.

    Raises:
        TermError: another text.
    """
    reference, body = CRS84, text.strip()
    if is_json and body:
        body = _json_text(body)
    elif match := _FORM.fullmatch(body):
        reference, body = match[1] or CRS84, match[2]
    if body.upper().count("COLLECTION") > _MOST_NESTED:
        raise TermError(f"a geometry with more than {_MOST_NESTED} collections")
    reader = "from_geojson" if is_json and body else "from_wkt"
    from numpy import errstate

    try:
        with errstate(over="ignore", invalid="ignore"):
            shape = computed(reader, body or "GEOMETRYCOLLECTION EMPTY")
            if not math.isfinite(computed("get_coordinates", shape, include_z=shape.has_z).sum()):
                raise TermError("a number is not finite")
    except TermError as error:
        if not is_json and _UNREAD.search(body):
            return Geometry(None, reference)
        told = error.message.rpartition("Exception: ")[2]
        form = '{"type": "Point", "coordinates": [26.1, 44.4]}' if is_json else "POINT(26.1 44.4)"
        kind = "GeoJSON" if is_json else "WKT"
        raise TermError(f"'{text[:80]}' is not {kind}: {told}; expected e.g. {form}") from None
    return Geometry(shape, reference, is_json=is_json)


def _json_text(text: str) -> str:
    """GeoJSON of a geometry without escapes and infinite numbers, which GEOS reads otherwise."""
    try:
        value = json.loads(text)
        if isinstance(value, dict) and value.get("type") in _JSON_KINDS:
            return json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        pass
    kinds = ", ".join(sorted(_JSON_KINDS))
    raise TermError(f"'{text[:80]}' is not the GeoJSON of a geometry: expected one of {kinds}")


def text_of(geometry: Geometry) -> str:
    """The text of a geometry: GeoJSON in CRS84, or WKT in its own system."""
    if geometry.is_json:
        return str(shapely("to_geojson")(geometry.written))
    text = str(shapely("to_wkt")(geometry.written, rounding_precision=-1))
    return text if geometry.reference == CRS84 else f"<{geometry.reference}> {text}"


def made(shape: Shape, like: Geometry) -> Geometry:
    """A geometry of a shape in the system of another, x to the east, in the form of that."""
    written = turned(shape) if like.system.is_north_first else shape
    return Geometry(written, like.reference, is_json=like.is_json)


def converted(geometry: Geometry, reference: str, *, is_json: bool = False) -> Geometry:
    """The geometry in another reference system; raises TermError if it has no place there."""
    system = system_of(reference)
    shape = geometry.shape_in(system)
    written = turned(shape) if system.is_north_first else shape
    return Geometry(written, reference, is_json=is_json)


def turned(shape: Shape) -> Shape:
    """A shape with x and y exchanged; one with measures (M) keeps neither these nor heights."""
    return _with_coordinates(shape, lambda x, y: (y, x))


def _with_coordinates(shape: Shape, change: Callable[[Any, Any], tuple[Any, Any]]) -> Shape:
    if shapely("has_m")(shape):
        shape = computed("force_2d", shape)
    moved = partial(computed, "transform", include_z=shape.has_z, interleaved=False)
    return moved(shape, lambda x, y, *z: (*change(x, y), *z))


def _moved(shape: Shape, source: str, target: str) -> Shape:
    from pyproj.exceptions import ProjError

    try:
        return _with_coordinates(
            shape, lambda x, y: _transformer(source, target).transform(x, y, errcheck=True)
        )
    except ProjError as error:
        raise TermError(f"it has no place in {target[:80]}: {str(error)[:80]}") from None


@lru_cache(maxsize=256)
def _transformer(source: str, target: str) -> Any:
    from pyproj import Transformer

    return Transformer.from_crs(source, target, always_xy=True)


def check_pairs(one: int, other: int) -> None:
    """Raise TermError if two shapes of so many corners may cross each other too often."""
    if one * other > MOST_PAIRS:
        raise TermError(
            f"geometries of {one} and {other} corners: at most {MOST_PAIRS} pairs of them"
        )


def together(one: Geometry, other: Geometry) -> tuple[Shape, Shape]:
    """Two shapes in the system of the first.

    Raises:
        TermError: one has no place there, or they have too many corners to be compared.
    """
    check_pairs(one.size, other.size)
    return one.shape, other.shape_in(one.system)


# -- metres ----------------------------------------------------------------------------------


def metric_distance(one: Geometry, other: Geometry) -> float:
    """The metres between two geometries: on the ellipsoid, between their closest points.

    Which points are closest is seen on a plane that is true at the middle latitude.
    """
    a, b = together(one, other)
    _check_filled(one, other)
    system = one.system
    if system.unit:
        return float(computed("distance", a, b)) * system.unit
    (west, south, east, north), (west2, south2, east2, north2) = a.bounds, b.bounds
    if one.size == other.size == 1:
        ends = [(west, south), (west2, south2)]
    else:
        middle = (min(north, north2) + max(south, south2)) / 2
        narrow = max(math.cos(math.radians(middle)), 1e-6)
        # The shorter way may lead over the 180th meridian.
        turn = 360 * round((west + east - west2 - east2) / 720)
        line = computed(
            "shortest_line",
            _with_coordinates(a, lambda x, y: (x * narrow, y)),
            _with_coordinates(b, lambda x, y: ((x + turn) * narrow, y)),
        )
        ends = [(x / narrow, y) for x, y, *_ in line.coords]
    return float(system.globe.inv(*ends[0], *ends[1])[2])


def _check_filled(*geometries: Geometry) -> None:
    if not all(each.size for each in geometries):
        raise TermError("an empty geometry is nowhere")


def metric_length(geometry: Geometry) -> float:
    """The metres of lines, or around polygons."""
    shape, system = geometry.shape, geometry.system
    if system.unit:
        return float(shape.length) * system.unit
    return sum(
        float(system.globe.line_length(*zip(*[point[:2] for point in line.coords], strict=True)))
        for part in _parts(shape)
        for line in ((part.exterior, *part.interiors) if part.geom_type == "Polygon" else (part,))
        if part.geom_type != "Point" and not part.is_empty
    )


def metric_area(geometry: Geometry) -> float:
    """The square metres of polygons."""
    shape, system = geometry.shape, geometry.system
    if system.unit:
        return float(shape.area) * system.unit**2
    polygons = [each for each in _parts(shape) if each.geom_type == "Polygon" and not each.is_empty]
    return sum(
        abs(float(system.globe.geometry_area_perimeter(computed("orient_polygons", each))[0]))
        for each in polygons
    )


def _parts(shape: Shape) -> list[Shape]:
    parts = getattr(shape, "geoms", None)
    return [shape] if parts is None else [inner for part in parts for inner in _parts(part)]


def metric_buffer(geometry: Geometry, metres: float) -> Shape:
    """All within some metres: on a plane around the middle of the geometry, true near it."""
    check_pairs(geometry.size, geometry.size)
    shape, system = geometry.shape, geometry.system
    if system.unit:
        return computed("buffer", shape, metres / system.unit)
    if abs(metres) > 1e6:
        raise TermError(f"a buffer of {metres:g} metres on the globe: at most 1000000")
    if not geometry.size:
        return shape
    middle = shape.envelope.centroid
    globe = system.globe
    plane = (
        f"+proj=aeqd +lon_0={middle.x!r} +lat_0={middle.y!r} +a={globe.a!r} +b={globe.b!r} +units=m"
    )
    made = _moved(computed("buffer", _moved(shape, system.code, plane), metres), plane, system.code)
    if not made.is_empty and made.bounds[2] - made.bounds[0] > 180:
        raise TermError("a buffer across the 180th meridian, or around a pole")
    return made
