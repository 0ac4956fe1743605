"""The value function ``wkt``, as rules call it."""

from __future__ import annotations

from typing import Final

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Call
from sensorstream.mapping.functions.definition import Definition, Function, Library, ValueKind
from sensorstream.mapping.functions.geometries import SHAPES, Axes, geometry
from sensorstream.mapping.functions.lift import any_of, may, needs, on_all
from sensorstream.model.terms import iri

_DEGREES: Final = "(?:lat lon|lon lat)"


def _wkt(call: Call, _: Library) -> Function:
    words = [each.text for each in call.arguments]
    crs = call.arguments[-1] if words[-2] == "in" else None
    shape = words.pop(0) if words[0] in SHAPES else "point"
    if crs is not None:
        try:
            iri(crs.text)
        except TermError as error:
            raise LanguageError(error.message, position=crs.position) from None
    axes = Axes(" ".join(words[:2]), "height" in words, "" if crs is None else crs.text)
    run = geometry(shape, axes)
    return on_all(call, (ValueKind.ANY,), ValueKind.WKT, run, separate=shape != "rings")


GEOMETRY_CALLS: Final = (
    Definition(
        "wkt",
        'wkt SHAPE lat lon, wkt SHAPE lon lat or wkt SHAPE x y in "IRI", where SHAPE may be '
        f"missing or is one of {', '.join(SHAPES)}; but for a circle, height may follow the axes",
        "a geometry, as a geo:wktLiteral",
        f"circle {_DEGREES}|(?:{any_of(SHAPES[:-1])} )?"
        f'(?:{_DEGREES}(?: height)?|x y(?: height)? in ")',
        (may("shape", "word"), needs("axes", "word"), may("crs", "text", "in")),
        _wkt,
    ),
)
