"""The functions of GeoSPARQL 1.1, under their own IRIs: one table, computed by shapely and pyproj.

Results are in the reference system and the form of the first geometry; those of aggregates in the
system and form that all have, else in CRS84.

Source: OGC 22-047r1, sections 8.5 (forms), 8.6 (functions) and 9 (relations, as patterns of
DE-9IM).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.geometry import (
    CRS84,
    MOST_CORNERS,
    Geometry,
    check_pairs,
    computed,
    converted,
    made,
    metric_area,
    metric_buffer,
    metric_distance,
    metric_length,
    system_of,
    text_of,
    together,
)
from sensorstream.model.numerals import double_text
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.sparql.functions import Extension
from sensorstream.sparql.values import boolean, number

GEOF: Final = "http://www.opengis.net/def/function/geosparql/"
RELATIONS: Final[Mapping[str, str]] = {
    "sfEquals": "equals",
    "sfDisjoint": "disjoint",
    "sfIntersects": "intersects",
    "sfTouches": "touches",
    "sfCrosses": "crosses",
    "sfWithin": "within",
    "sfContains": "contains",
    "sfOverlaps": "overlaps",
    "ehEquals": "TFFFTFFFT",
    "ehDisjoint": "FF*FF****",
    "ehMeet": "FT******* F**T***** F***T****",
    "ehOverlap": "T*T***T**",
    "ehCovers": "T*TFT*FF*",
    "ehCoveredBy": "TFF*TFT**",
    "ehInside": "TFF*FFT**",
    "ehContains": "T*TFF*FF*",
    "rcc8eq": "TFFFTFFFT",
    "rcc8dc": "FFTFFTTTT",
    "rcc8ec": "FFTFTTTTT",
    "rcc8po": "TTTTTTTTT",
    "rcc8tppi": "TTTFTTFFT",
    "rcc8tpp": "TFFTTFTTT",
    "rcc8ntpp": "TFFTFFTTT",
    "rcc8ntppi": "TTTFFTFFT",
}
"""The relations of two geometries: functions of shapely, or patterns, one of which must fit."""
_APART: Final = frozenset({"sfDisjoint", "ehDisjoint", "rcc8dc"})
TOUCHING: Final = frozenset(IRI(f"{GEOF}{name}") for name in RELATIONS.keys() - _APART)
"""The relations that hold of places only which have a point in common."""
METRIC_DISTANCE: Final = IRI(f"{GEOF}metricDistance")
_MATRIX: Final = re.compile(r"[TF012*]{9}")
_OGC: Final = "http://www.opengis.net/def/uom/OGC/1.0/"
_QUDT: Final = "http://qudt.org/vocab/unit/"
UNITS: Final[Mapping[str, tuple[bool, float, int]]] = {
    f"{_OGC}metre": (True, 1, 1),
    f"{_OGC}degree": (False, 1, 1),
    f"{_OGC}radian": (False, math.degrees(1), 1),
    f"{_QUDT}M": (True, 1, 1),
    f"{_QUDT}KiloM": (True, 1000, 1),
    f"{_QUDT}DEG": (False, 1, 1),
    f"{_QUDT}RAD": (False, math.degrees(1), 1),
    f"{_QUDT}M2": (True, 1, 2),
    f"{_QUDT}KiloM2": (True, 1e6, 2),
}
"""Units: whether of metres, not of degrees; how many of them; 2: squares of them."""
_HULL_RATIO: Final = 0.3
_MOST: Final = 1e12
_Reader: TypeAlias = Callable[[Term], Any]


# -- arguments -------------------------------------------------------------------------------


def place(term: Term) -> Geometry:
    """The geometry of a literal; raises TermError if it is none, or cannot be computed with."""
    if not isinstance(term, Literal) or term.datatype not in (xsd.GEO_WKT, xsd.GEO_JSON):
        raise TermError(f"'{str(term)[:80]}' is no geo:wktLiteral or geo:geoJSONLiteral")
    found = term.value
    assert isinstance(found, Geometry)
    _ = found.shape
    return found


def _number(term: Term) -> float:
    found = number(term)
    if found is None or not -_MOST <= found <= _MOST:
        raise TermError(f"'{str(term)[:80]}' is no number up to {_MOST:g}")
    return float(found)


def _place_in_list(term: Term) -> int:
    found = number(term)
    if not isinstance(found, int) or not 0 < found <= 2**31:
        raise TermError(f"'{str(term)[:80]}' is no place in a list: expected 1 or more")
    return found


def _name(term: Term) -> str:
    if isinstance(term, Literal) and term.datatype in (xsd.ANY_URI, xsd.STRING):
        return term.lexical
    if not isinstance(term, IRI):
        raise TermError(f"'{str(term)[:80]}' is no IRI")
    return str(term)


def _unit(term: Term) -> tuple[bool, float, int]:
    found = UNITS.get(_name(term))
    if found is None:
        raise TermError(f"<{_name(term)[:80]}> is no known unit: expected e.g. <{_OGC}metre>")
    return found


def _reference(term: Term) -> str:
    name = _name(term)
    _ = system_of(name)
    return name


def _matrix(term: Term) -> str:
    if not isinstance(term, Literal) or _MATRIX.fullmatch(term.lexical) is None:
        raise TermError(f"'{str(term)[:80]}' is no pattern of DE-9IM: expected e.g. T*F**F***")
    return term.lexical


# -- values ----------------------------------------------------------------------------------


def _double(value: float) -> Literal:
    if not math.isfinite(value):
        raise TermError("an empty geometry has no such number")
    return Literal(double_text(float(value) + 0.0), xsd.DOUBLE)


def _integer(value: int) -> Literal:
    return Literal(str(int(value)), xsd.INTEGER)


def _uri(value: str) -> Literal:
    return Literal(value, xsd.ANY_URI)


def _written(geometry: Geometry) -> Literal:
    return Literal(text_of(geometry), xsd.GEO_JSON if geometry.is_json else xsd.GEO_WKT)


def related(relation: str, one: Geometry, other: Geometry) -> bool:
    """Whether a relation holds: a function of shapely, or patterns with spaces between."""
    a, b = together(one, other)
    if not relation.islower():
        return any(computed("relate_pattern", a, b, each) for each in relation.split())
    # Only the first shape is prepared, which pays for the larger one.
    if relation == "within":
        relation, a, b = "contains", b, a
    elif relation != "contains" and one.size < other.size:
        a, b = b, a
    return bool(computed(relation, a, b))


def _overlaid(name: str, one: Geometry, other: Geometry) -> Literal:
    shapes = together(one, other)
    if _dimensions(one) != _dimensions(other) or _has_m(one) or _has_m(other):
        # A text has as many numbers for each corner.
        shapes = computed("force_2d", shapes[0]), computed("force_2d", shapes[1])
    return _written(made(computed(name, *shapes), one))


def _gathered(name: str, members: Mapping[Term, int]) -> Literal:
    """The value of an aggregate; ``members`` are its values, and how often each comes.

    Raises:
        TermError: one is no geometry, or all together have none, or too many corners.
    """
    # As often as it comes it makes a difference to the middle only.
    times = members if name == "centroid" else dict.fromkeys(members, 1)
    places = [place(each) for each in sorted(members, key=str) for _ in range(times[each])]
    size = sum(each.size for each in places)
    if not 0 < size <= MOST_CORNERS:
        raise TermError(f"geometries of {size} corners together: expected 1 to {MOST_CORNERS}")
    references = {each.reference for each in places}
    is_json = all(each.is_json for each in places)
    like = Geometry(None, references.pop() if len(references) == 1 else CRS84, is_json=is_json)
    shapes = [each.shape_in(like.system) for each in places]
    if len({each.has_z for each in shapes}) > 1 or any(map(_has_m, places)):
        shapes = [computed("force_2d", each) for each in shapes]
    if name == "union_all":
        lines = sum(each.size for each in places if computed("get_dimensions", each.shape))
        check_pairs(lines, lines)
        return _written(made(computed(name, shapes), like))
    whole = computed("geometrycollections", shapes)
    options = {"ratio": _HULL_RATIO} if name == "concave_hull" else {}
    return _written(made(computed(name, whole, **options), like))


def _shaped(name: str, of: Geometry, *given: Any, **options: Any) -> Literal:
    found = computed(name, of.shape, *given, **options)
    if found is None:
        raise TermError(f"{name}: a {of.shape.geom_type} has none")
    return _written(made(found, of))


def _in_unit(of: Geometry, unit: tuple[bool, float, int], power: int) -> float:
    """The number by which metres, or degrees, are divided; raises TermError if it has none."""
    in_metres, factor, squared = unit
    if squared not in (1, power):
        raise TermError("square metres are for an area")
    if not in_metres and of.system.unit:
        raise TermError(f"<{of.reference[:80]}> has no degrees")
    return float(factor if squared == power else factor**power)


def _measured(metric: Callable[..., float], planar: str, *given: Any, power: int = 1) -> Literal:
    *geometries, unit = given
    factor = _in_unit(geometries[0], unit, power)
    if unit[0]:
        return _double(metric(*geometries) / factor)
    shapes = together(*geometries) if len(geometries) == 2 else (geometries[0].shape,)
    return _double(float(computed(planar, *shapes)) / factor)


def _buffered(of: Geometry, radius: float, unit: tuple[bool, float, int]) -> Literal:
    size = radius * _in_unit(of, unit, 1)
    if unit[0]:
        return _written(made(metric_buffer(of, size), of))
    check_pairs(of.size, of.size)
    return _shaped("buffer", of, size)


def _bound(at: int, of: Geometry) -> Literal:
    return _double(float(of.written.bounds[at]))


def _height(choose: Callable[..., float], of: Geometry) -> Literal:
    heights = [h for _, _, h in computed("get_coordinates", of.written, include_z=True)]
    return _double(choose((h for h in heights if h == h), default=math.nan))


def _kind(of: Geometry) -> Literal:
    return _uri(f"http://www.opengis.net/ont/sf#{of.written.geom_type}")


def _dimensions(of: Geometry) -> int:
    return 2 + bool(of.written.has_z)


def _has_m(of: Geometry) -> bool:
    return bool(computed("has_m", of.written))


def _of_shape(name: str, result: Callable[[Any], Literal]) -> Callable[[Geometry], Literal]:
    return lambda of: result(computed(name, of.shape))


def _then(result: Callable[[Any], Literal], value: Callable[..., Any]) -> Callable[..., Literal]:
    return lambda *given: result(value(*given))


_ONE: Final[tuple[_Reader, ...]] = (place,)
_TWO: Final[tuple[_Reader, ...]] = (place, place)
_BOOLEAN, _DOUBLE, _INTEGER, _URI = xsd.BOOLEAN, xsd.DOUBLE, xsd.INTEGER, xsd.ANY_URI
_ROWS: Final[Mapping[str, tuple[str | None, tuple[_Reader, ...], Callable[..., Literal]]]] = {
    **{
        name: (_BOOLEAN, _TWO, _then(boolean, partial(related, relation)))
        for name, relation in RELATIONS.items()
    },
    "relate": (
        _BOOLEAN,
        (*_TWO, _matrix),
        lambda one, other, matrix: boolean(related(matrix, one, other)),
    ),
    "distance": (_DOUBLE, (*_TWO, _unit), partial(_measured, metric_distance, "distance")),
    "metricDistance": (_DOUBLE, _TWO, _then(_double, metric_distance)),
    "length": (_DOUBLE, (place, _unit), partial(_measured, metric_length, "length")),
    "metricLength": (_DOUBLE, _ONE, _then(_double, metric_length)),
    "perimeter": (_DOUBLE, (place, _unit), partial(_measured, metric_length, "length")),
    "metricPerimeter": (_DOUBLE, _ONE, _then(_double, metric_length)),
    "area": (_DOUBLE, (place, _unit), partial(_measured, metric_area, "area", power=2)),
    "metricArea": (_DOUBLE, _ONE, _then(_double, metric_area)),
    "buffer": (None, (place, _number, _unit), _buffered),
    "metricBuffer": (
        None,
        (place, _number),
        lambda of, radius: _written(made(metric_buffer(of, radius), of)),
    ),
    "boundary": (None, _ONE, partial(_shaped, "boundary")),
    "boundingCircle": (None, _ONE, partial(_shaped, "minimum_bounding_circle")),
    "centroid": (None, _ONE, partial(_shaped, "centroid")),
    "concaveHull": (None, _ONE, partial(_shaped, "concave_hull", ratio=_HULL_RATIO)),
    "convexHull": (None, _ONE, partial(_shaped, "convex_hull")),
    "envelope": (None, _ONE, partial(_shaped, "envelope")),
    "difference": (None, _TWO, partial(_overlaid, "difference")),
    "intersection": (None, _TWO, partial(_overlaid, "intersection")),
    "symDifference": (None, _TWO, partial(_overlaid, "symmetric_difference")),
    "union": (None, _TWO, partial(_overlaid, "union")),
    "geometryN": (
        None,
        (place, _place_in_list),
        lambda of, at: _shaped("get_geometry", of, at - 1),
    ),
    "numGeometries": (_INTEGER, _ONE, _of_shape("get_num_geometries", _integer)),
    "dimension": (_INTEGER, _ONE, _of_shape("get_dimensions", _integer)),
    "coordinateDimension": (_INTEGER, _ONE, lambda of: _integer(_dimensions(of) + _has_m(of))),
    "spatialDimension": (_INTEGER, _ONE, _then(_integer, _dimensions)),
    "isEmpty": (_BOOLEAN, _ONE, lambda of: boolean(not of.size)),
    "isSimple": (_BOOLEAN, _ONE, _of_shape("is_simple", lambda value: boolean(bool(value)))),
    "is3D": (_BOOLEAN, _ONE, lambda of: boolean(bool(of.written.has_z))),
    "isMeasured": (_BOOLEAN, _ONE, _then(boolean, _has_m)),
    "geometryType": (_URI, _ONE, _kind),
    "getSRID": (_URI, _ONE, lambda of: _uri(of.reference)),
    **{
        name: (_DOUBLE, _ONE, partial(_bound, at))
        for at, name in enumerate(("minX", "minY", "maxX", "maxY"))
    },
    "minZ": (_DOUBLE, _ONE, partial(_height, min)),
    "maxZ": (_DOUBLE, _ONE, partial(_height, max)),
    "transform": (None, (place, _reference), _then(_written, converted)),
    "asWKT": (
        xsd.GEO_WKT,
        _ONE,
        lambda of: _written(Geometry(of.written, of.reference)),
    ),
    "asGeoJSON": (
        xsd.GEO_JSON,
        _ONE,
        lambda of: _written(converted(of, CRS84, is_json=True)),
    ),
}
PLACE_AGGREGATES: Final[Mapping[str, Extension]] = {
    IRI(f"{GEOF}{name}"): Extension(None, _ONE, partial(_gathered, function))
    for name, function in (
        ("aggBoundingBox", "envelope"),
        ("aggBoundingCircle", "minimum_bounding_circle"),
        ("aggCentroid", "centroid"),
        ("aggConcaveHull", "concave_hull"),
        ("aggConvexHull", "convex_hull"),
        ("aggUnion", "union_all"),
    )
}
"""Aggregates of one argument; a value is of a mapping from the terms to how often they come."""
PLACE_FUNCTIONS: Final[Mapping[str, Extension]] = {
    IRI(f"{GEOF}{name}"): Extension(datatype, readers, value)
    for name, (datatype, readers, value) in _ROWS.items()
}
