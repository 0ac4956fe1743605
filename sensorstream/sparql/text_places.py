"""The places of the parts of a text, for faults found after the text has been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import Placing, Variable
from sensorstream.sparql.walk import nodes


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of the parts of a text.

    ``first`` is where terms, variables, paths and filters were first written; ``each`` has the
    places of operators, functions and clauses by identity (``id``), with the part itself.
    """

    start: Position
    first: Mapping[object, Position]
    each: Mapping[int, tuple[object, Position]]

    def of(self, part: object) -> Position:
        """The place where a part of the meaning was written.

        For a part made from written ones: the place of its first written part; variables and
        constants last, since they may be written elsewhere, too. O(size of the part).
        """
        if id(part) in self.each:
            return self.each[id(part)][1]
        if part in self.first:
            return self.first[part]
        for below in nodes(part):
            if id(below) in self.each:
                return self.each[id(below)][1]
        for below in nodes(part):
            if isinstance(below, str | Variable) and below in self.first:
                return self.first[below]
        return self.start


def give_place(error: QueryError, places: Placing | None) -> QueryError:
    """The error with the place of the part that it names, if it has no place yet."""
    if error.part is not None and error.position is None and places is not None:
        error.position = places.of(error.part)
    return error
