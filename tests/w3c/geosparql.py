"""The section about GeoSPARQL of the page docs/understand/conformance.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sensorstream.sparql.place_functions import GEOF, PLACE_AGGREGATES, PLACE_FUNCTIONS

_TITLE: Final = """## GeoSPARQL

[Places](../use/geography.md) by the conformance classes of [GeoSPARQL
1.1](https://docs.ogc.org/is/22-047r1/22-047r1.html). The functions are compared with shapely and
pyproj, called directly (`tests/sparql/test_place_functions.py`), in the network and in the cache.
"""
_AXES: Final = " ".join(f"{end}{axis}" for end in ("min", "max") for axis in "XYZ")
_CLASSES: Final[Mapping[str, str]] = {
    "Geometry Extension: functions": "area boundary boundingCircle buffer centroid concaveHull "
    "convexHull coordinateDimension difference dimension distance envelope geometryN geometryType "
    "getSRID intersection is3D isEmpty isMeasured isSimple length metricArea metricBuffer "
    "metricDistance metricLength metricPerimeter numGeometries perimeter spatialDimension "
    f"symDifference transform union {_AXES}",
    "Geometry Extension: aggregates": "aggBoundingBox aggBoundingCircle aggCentroid "
    "aggConcaveHull aggConvexHull aggUnion",
    "Geometry Extension: WKT": "asWKT",
    "Geometry Extension: GeoJSON": "asGeoJSON",
    "Geometry Extension: GML": "asGML",
    "Geometry Extension: KML": "asKML",
    "Geometry Extension: DGGS": "asDGGS",
    "Geometry Topology Extension: any relation": "relate",
    "Geometry Topology Extension: Simple Features": "sfEquals sfDisjoint sfIntersects sfTouches "
    "sfCrosses sfWithin sfContains sfOverlaps",
    "Geometry Topology Extension: Egenhofer": "ehEquals ehDisjoint ehMeet ehOverlap ehCovers "
    "ehCoveredBy ehInside ehContains",
    "Geometry Topology Extension: RCC8": "rcc8eq rcc8dc rcc8ec rcc8po rcc8tppi rcc8tpp rcc8ntpp "
    "rcc8ntppi",
}
_REST: Final = {
    "Core, Geometry Extension: classes and properties": "terms of your data, as any others",
    "Topology Vocabulary Extension, Query Rewrite Extension": "`geo:sfWithin` and the like between"
    " features are found where they are stated, and not computed from geometries: write the "
    "function",
    "RDFS Entailment Extension": "by the [rule set](../use/rule-sets.md) `rdfs`, if the ontology"
    " of GeoSPARQL is among the files",
    "literals in GML, KML or DGGS": "kept as they are; a function of one is an error, and refused "
    "where it is a constant",
}


def places_section() -> Iterator[str]:
    """The lines of the section."""
    yield _TITLE
    yield "| class | functions | there | missing |"
    yield "|---|---:|---:|---|"
    known = {name.removeprefix(GEOF) for name in (*PLACE_FUNCTIONS, *PLACE_AGGREGATES)}
    for each, names in _CLASSES.items():
        asked = names.split()
        missing = [f"`{name}`" for name in asked if name not in known]
        yield f"| {each} | {len(asked)} | {len(asked) - len(missing)} | {', '.join(missing)} |"
        known -= set(asked)
    assert not known, known
    yield from ("", "| class without functions | here |", "|---|---|")
    yield from (f"| {each} | {told} |" for each, told in _REST.items())
    yield ""
