"""Rules over time that describe a class where the reasoner knows classes by their names alone."""

from __future__ import annotations

from sensorstream.dotr.syntax import Program
from sensorstream.sparql.described import check_named, described


def check_classes_named(program: Program) -> None:
    """Refuse rules over time with a selector that describes a class.

    Raises:
        UnsupportedQuery: one does; the error has its place and the definition to write.
    """
    for rule in program.rules:
        for selector in rule.selectors:
            if described(selector.query)[1]:
                # Once more, for the place.
                check_named(selector.reading().meaning)
