"""Validation of a graph as a whole, by pySHACL."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from sensorstream.errors import ShapesError
from sensorstream.installation import require
from sensorstream.kb.rdflib_terms import from_rdflib, to_rdflib
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Triple
from sensorstream.shapes.shape_graph import SH, ShapeGraph, Violation

if TYPE_CHECKING:
    import rdflib

_SHOWN: Final = 3
_DEEPEST: Final = 100
"""Shapes within shapes, at most."""


@frozen
class ValidationReport:
    """The violations of a graph, in a stable order, and the report in Turtle."""

    conforms: bool
    violations: tuple[Violation, ...]
    turtle: str

    def data(self) -> dict[str, Any]:
        """The report ready for JSON."""
        return {"conforms": self.conforms, "results": [each.data() for each in self.violations]}

    def text(self) -> str:
        """The first violations, for people."""
        told = [
            f"{each.focus} {each.path or ''}".rstrip() + f": {each.message} ({each.shape})"
            for each in self.violations[:_SHOWN]
        ]
        more = len(self.violations) - _SHOWN
        return "; ".join([*told, f"and {more} more"] if more > 0 else told)


NO_VIOLATIONS: Final = ValidationReport(
    True, (), f"@prefix sh: <{SH}> .\n\n[] a sh:ValidationReport ;\n    sh:conforms true .\n"
)
"""The report where there are no shapes."""


class Validator:
    """Shapes that graphs are validated against."""

    def __init__(self, shapes: ShapeGraph) -> None:
        """Check the shapes, by the shapes of shapes that come with pySHACL.

        Raises:
            ShapesError: they are not well-formed, with what was expected.
            MissingExtra: pySHACL is not installed.
        """
        require("shapes", "the validation by shapes")
        from pyshacl.entrypoints import meta_validate

        # It would tell of each literal that is not valid; that is for the shapes to find.
        logging.getLogger("rdflib.term").setLevel(logging.ERROR)
        self._shapes = shapes
        self._graph = to_rdflib(shapes.index)
        _, found, _ = meta_validate(self._graph, inference=None, max_validation_depth=_DEEPEST)
        for each in sorted(
            _violations(found, shapes), key=lambda each: (each.path is None, _order(each))
        ):
            raise shapes.fault(each.focus, f"not a valid shape: {_expected(each, found)}")
        # Faults in SPARQL and of parameters are found only when a shape is used.
        self.report(())

    def report(self, triples: Iterable[Triple]) -> ValidationReport:
        """Validate a graph.

        Raises:
            ShapesError: a shape cannot be used.
        """
        import pyshacl
        import rdflib

        try:
            conforms, found, text = pyshacl.validate(
                to_rdflib(triples), shacl_graph=self._graph, max_validation_depth=_DEEPEST
            )
        except Exception as error:  # pySHACL and rdflib raise many kinds for faults of shapes
            raise ShapesError(f"a shape cannot be used: {error}") from None
        if not isinstance(found, rdflib.Graph):
            raise ShapesError(f"a shape cannot be used: {text}")
        found.bind("sh", SH)
        violations = sorted(_violations(found, self._shapes), key=_order)
        return ValidationReport(conforms, tuple(violations), found.serialize(format="turtle"))


def _expected(each: Violation, report: rdflib.Graph) -> str:
    """Say what a shape has, and what was expected instead."""
    import rdflib

    told = "" if each.path is None else each.path.replace(SH, "sh:")
    told += "" if each.value is None else f" {each.value}"
    name = each.component.removeprefix(SH).removesuffix("ConstraintComponent")
    parameter = rdflib.URIRef(f"{SH}{name[0].lower()}{name[1:]}")
    wanted = {str(each) for each in report.objects(None, parameter)} - {""}
    if each.path is None or len(wanted) != 1:
        return f"{told}: {each.message}".removeprefix(": ")
    return f"{told}: expected {parameter.replace(SH, '')} {wanted.pop().rpartition('#')[2]}"


def _order(each: Violation) -> list[str]:
    return [str(part) for part in each.data().values()]


def _violations(report: rdflib.Graph, shapes: ShapeGraph) -> list[Violation]:
    import rdflib

    name = rdflib.Namespace(SH)
    found: list[Violation] = []
    for result in report.objects(None, name.result):

        def one(each: str, result: Any = result) -> Any:
            value = report.value(result, name[each])
            return None if value is None else from_rdflib(value)

        path = one("resultPath")
        messages = sorted(map(str, report.objects(result, name.resultMessage)))
        found.append(
            Violation(
                shapes.name(one("sourceShape")),
                one("focusNode"),
                None if path is None else shapes.path_told(path),
                one("value"),
                str(one("sourceConstraintComponent")),
                str(one("resultSeverity")),
                "; ".join(messages),
            )
        )
    return found
