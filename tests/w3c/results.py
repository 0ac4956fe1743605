"""Results of queries: read, and compared.

Two results are equal if they have the same solutions equally often, blank nodes up to their
names. Numbers and truth values are equal if datatype and value are, since Oxigraph does not keep
how they were written.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from io import StringIO
from pathlib import Path
from typing import Final, TypeAlias

import pyoxigraph as ox

_RS: Final = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS: Final = frozenset(
    f"{_XSD}{name}"
    for name in ("integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger")
)
_FORMATS: Final = {
    ".srx": ox.QueryResultsFormat.XML,
    ".srj": ox.QueryResultsFormat.JSON,
    ".tsv": ox.QueryResultsFormat.TSV,
}
_GRAPHS: Final = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".nt": ox.RdfFormat.N_TRIPLES,
}

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Row: TypeAlias = Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Solutions:
    """The rows of a SELECT, in their order."""

    rows: tuple[Row, ...]
    ordered: bool = False
    """Whether the file that holds them numbers its rows."""


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV result: plain texts, in the order of its columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The triples of a CONSTRUCT or DESCRIBE."""

    triples: tuple[ox.Triple, ...]


Result: TypeAlias = Solutions | Table | Graph | bool


def parse_graph(path: Path) -> list[ox.Quad]:
    """The triples of a file, relative IRIs resolved against its own."""
    return list(
        ox.parse(
            path=path,
            format=_GRAPHS[path.suffix],
            base_iri=path.as_uri(),
            rename_blank_nodes=True,
            lenient=True,
        )
    )


def expected(path: Path) -> Result:
    """The result that a file of the suites holds."""
    if path.suffix == ".csv":
        header, *rows = csv.reader(StringIO(path.read_text("utf-8")))
        return Table(tuple(header), tuple(map(tuple, rows)))
    if path.suffix in _FORMATS:
        return actual(ox.parse_query_results(path=path, format=_FORMATS[path.suffix]))
    quads = parse_graph(path)
    if any(str(quad.object).startswith(f"<{_RS}") for quad in quads):
        return _result_set(quads)
    return Graph(tuple(quad.triple for quad in quads))


def actual(found: object) -> Result:
    """What Oxigraph answered."""
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    if isinstance(found, ox.QueryTriples):
        return Graph(tuple(found))
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return Solutions(
        tuple(
            {name: value for name in names if (value := solution[name]) is not None}
            for solution in found
        )
    )


def _result_set(quads: Iterable[ox.Quad]) -> Result:
    about: dict[object, dict[str, list[Term]]] = {}
    for quad in quads:
        values = about.setdefault(quad.subject, {})
        values.setdefault(quad.predicate.value.removeprefix(_RS), []).append(quad.object)
    for values in about.values():
        if "boolean" in values:
            return _text(values["boolean"][0]) == "true"
    result_set = ox.NamedNode(f"{_RS}ResultSet")
    (root,) = (values for values in about.values() if result_set in values.get(_TYPE, []))
    found = [about.get(node, {}) for node in root.get("solution", [])]
    ordered = bool(found) and all("index" in solution for solution in found)
    if ordered:
        found.sort(key=lambda solution: int(_text(solution["index"][0])))
    rows = []
    for solution in found:
        bindings = [about[node] for node in solution.get("binding", [])]
        rows.append({_text(each["variable"][0]): each["value"][0] for each in bindings})
    return Solutions(tuple(rows), ordered)


def _text(term: Term) -> str:
    assert isinstance(term, ox.Literal)
    return term.value


def equal(one: Result, other: Result, *, ordered: bool = False, lax: bool = False) -> bool:
    """Whether two results are the same; ``lax`` forgets how often a solution comes."""
    if isinstance(one, Table) or isinstance(other, Table):
        return _equal_tables(one, other)
    if isinstance(one, Graph) and isinstance(other, Graph):
        return equal_graphs(one.triples, other.triples)
    if isinstance(one, Solutions) and isinstance(other, Solutions):
        return equal_rows(one.rows, other.rows, ordered=ordered, lax=lax)
    return one is other


def equal_rows(
    one: Sequence[Row], other: Sequence[Row], *, ordered: bool = False, lax: bool = False
) -> bool:
    """Whether two sequences of solutions are the same but for the names of blank nodes."""
    left, right = [_row(row) for row in one], [_row(row) for row in other]
    if lax:
        left, right = list(dict.fromkeys(left)), list(dict.fromkeys(right))
    if len(left) != len(right):
        return False
    if ordered:
        names: dict[str, str] = {}
        return all(
            _unified(first, second, names) for first, second in zip(left, right, strict=True)
        )
    return _ground(left) == _ground(right) and _matched(_named(left), _named(right), {})


def equal_graphs(one: Iterable[ox.Triple], other: Iterable[ox.Triple]) -> bool:
    """Whether two graphs are isomorphic."""
    return _canonical(ox.Quad(*triple) for triple in one) == _canonical(
        ox.Quad(*triple) for triple in other
    )


def equal_datasets(one: Iterable[ox.Quad], other: Iterable[ox.Quad]) -> bool:
    """Whether two sets of quads are isomorphic."""
    return _canonical(one) == _canonical(other)


def _canonical(quads: Iterable[ox.Quad]) -> frozenset[tuple[str, ...]]:
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return frozenset(
        (*map(_key, (quad.subject, quad.predicate, quad.object)), str(quad.graph_name))
        for quad in dataset
    )


# A solution as text: a blank node's begins with "_:".
_Row: TypeAlias = tuple[tuple[str, str], ...]


def _row(row: Row) -> _Row:
    return tuple(sorted((name, _key(value)) for name, value in row.items()))


def _key(term: Term) -> str:
    if isinstance(term, ox.Literal) and term.datatype.value in _NUMBERS:
        try:
            number = Decimal(term.value)
        except InvalidOperation:
            return str(term)
        if term.datatype.value in (f"{_XSD}double", f"{_XSD}float"):
            return f"{float(number)!r}^^{term.datatype}"
        return f"{number.normalize():f}^^{term.datatype}"
    if isinstance(term, ox.Literal) and term.datatype.value == f"{_XSD}boolean":
        return {"0": "false", "1": "true"}.get(term.value, term.value)
    return str(term)


def _has_blank(row: _Row) -> bool:
    return any(value.startswith("_:") for _, value in row)


def _ground(rows: list[_Row]) -> Counter[_Row]:
    return Counter(row for row in rows if not _has_blank(row))


def _named(rows: list[_Row]) -> list[_Row]:
    return [row for row in rows if _has_blank(row)]


def _unified(one: _Row, other: _Row, names: dict[str, str]) -> bool:
    """Whether the rows are equal once ``names``, which grows, says which blank node is which."""
    if len(one) != len(other):
        return False
    for (first, left), (second, right) in zip(one, other, strict=True):
        if first != second:
            return False
        if left.startswith("_:") and right.startswith("_:"):
            if left not in names and right not in names.values():
                names[left] = right
            elif names.get(left) != right:
                return False
        elif left != right:
            return False
    return True


def _matched(one: list[_Row], other: list[_Row], names: dict[str, str]) -> bool:
    if not one:
        return not other
    first, *rest = one
    for number, candidate in enumerate(other):
        tried = dict(names)
        if _unified(first, candidate, tried) and _matched(
            rest, other[:number] + other[number + 1 :], tried
        ):
            return True
    return False


def _equal_tables(one: Result, other: Result) -> bool:
    """CSV has no types: blank nodes are compared as such, all else as texts."""
    left, right = (_rows_of(result) for result in (one, other))
    return equal_rows(left, right)


def _rows_of(result: Result) -> list[Row]:
    if isinstance(result, Table):
        return [
            {
                column: ox.BlankNode(text[2:]) if text.startswith("_:") else ox.Literal(text)
                for column, text in zip(result.columns, row, strict=True)
                if text
            }
            for row in result.rows
        ]
    assert isinstance(result, Solutions)
    return [
        {
            name: value if isinstance(value, ox.BlankNode) else ox.Literal(_plain(value))
            for name, value in row.items()
            if _plain(value)
        }
        for row in result.rows
    ]


def _plain(term: Term) -> str:
    assert not isinstance(term, ox.Triple)
    return term.value
