"""The relations that a query reads, and the SQL that it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from sqlglot import exp

from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.model.terms import Literal as RdfLiteral

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
Id: TypeAlias = int | str
"""The number of a term in the relations, or a text that names it."""
TOO_DEEP: Final = "nested too deeply for SQL: expected fewer conditions within each other"
PARTS: Final = ("kind", "text", "datatype", "language")
"""The columns of a term in a result."""


@frozen
class QueryRelations:
    """The relations that a query reads.

    A relation of triples has the columns ``subject``, ``predicate`` and ``object`` (ids of terms)
    and ``number`` (the object's number as a double, or null); valid times are conditions within it,
    and a triple may come more than once. The relation of terms has ``id``, ``kind`` (0 IRI, 1 blank
    node, 2 literal), ``text``, ``datatype``, ``language``, ``number`` and ``moment``, each term
    once.

    ``ids`` are those of the query's constants (:func:`constants`) that the relation of terms knows.
    They are all numbers or all texts; where they are texts, each constant must have one. Of
    numbers, those below zero may stand for terms of this query only, those below -2**62 are taken.

    ``beside``: a relation may name the columns of those beside it (LATERAL); paths then begin at
    what is known there. ``marked``: ``store.statements`` has the column ``again``, by which triples
    are counted.
    """

    default: exp.Select
    terms: exp.Select
    ids: Mapping[Term, Id]
    named: Mapping[IRI, exp.Select] = field(default_factory=dict)
    beside: bool = True
    marked: bool = False


@frozen
class ResultColumn:
    """A variable of the result: four columns of the SQL query, from ``place`` on (from 0)."""

    name: str
    place: int

    def term(self, row: Sequence[Any]) -> Term | None:
        """The variable's term in a row of the SQL query; None: unbound."""
        kind, text, datatype, language = row[self.place : self.place + len(PARTS)]
        if kind is None:
            return None
        if kind == 0:
            return IRI(text)
        if kind == 1:
            return BlankNode(f"_:{text}")
        return RdfLiteral(text, datatype, language)


@frozen
class SqlQuery:
    """A query as a tree of SQL, in the functions and operators of PostgreSQL.

    Another engine's text is made by a pass over the tree; the columns stay the same. SELECT gives a
    row for each solution, in the query's order; ASK one row with one truth value; CONSTRUCT and
    DESCRIBE a row for each triple (columns subject, predicate, object), each once.
    """

    form: Form
    tree: exp.Select
    columns: tuple[ResultColumn, ...]
