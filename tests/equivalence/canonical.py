"""Answers as texts that are equal where the answers mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from sensorstream.history.asking.query_answer import Answer, GraphAnswer
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import BlankNode, Literal, Term
from tests.w3c import results

CHECKOUT: Final = Path(__file__).parents[2]
SHARED: Final = CHECKOUT.parent / "shared"

_MASKS: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"(?<=\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{6}\+00:00"), ""),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|seconds?)\b"), "<duration>"),
    (re.compile(r"\b[0-9a-f]{25,32}\b"), "<node>"),
    (re.compile(r"\bsha256:[0-9a-f]{8,64}\b"), "<hash>"),
)
_OF_ANY: Final = re.compile(r"(?i)\b(RAND|UUID|STRUUID|NOW|BNODE|SAMPLE)\s*\(")
_JOINED: Final = re.compile(r"(?i)\bGROUP_CONCAT\s*\(")
_SUMMED: Final = re.compile(r"(?i)\b(SUM|AVG)\s*\(")
_CUT: Final = re.compile(r"(?i)\b(LIMIT|OFFSET)\s+\d")
_ORDERED: Final = re.compile(r"(?i)\bORDER\s+BY\b")
_DIGITS: Final = 12


def digest(text: str) -> str:
    """A short name of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def placed(text: str, *folders: Path) -> str:
    """A text without the places of the checkout and of some folders."""
    for folder in folders:
        # Which number a folder has depends on the sections that are run.
        text = re.sub(rf"{re.escape(str(folder))}(/f\d+\b)?", "<folder>", text)
    text = text.replace(str(CHECKOUT), "<checkout>")
    return text.replace(str(SHARED), "<shared>")


def masked(text: str, *folders: Path) -> str:
    """A text without what is another one in each run: folders, identifiers, durations."""
    text = placed(text, *folders)
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return text


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, ordered: bool) -> str:
    """A table; its rows in their order or sorted, blank nodes (``_:b``) by where they stand."""
    told = _named([(str(n), *row) if ordered else tuple(row) for n, row in enumerate(rows)])
    return "\n".join(map("\t".join, [tuple(header), *(told if ordered else sorted(told))]))


def _named(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows whose blank nodes are named by the rows that they are in, and so on.

    Nodes that no such description tells apart have the same name.
    """
    names = {cell: "_:" for row in rows for cell in row if cell.startswith("_:")}
    kinds = 0
    while kinds < len(set(names.values())):
        kinds = len(set(names.values()))
        places: dict[str, list[str]] = {each: [] for each in names}
        for row in rows:
            told = "\t".join(names.get(cell, cell) for cell in row)
            for place, cell in enumerate(row):
                if cell in names:
                    places[cell].append(f"{place} {told}")
        names = {each: f"_:{digest(names[each] + repr(sorted(places[each])))}" for each in names}
    return [tuple(names.get(cell, cell) for cell in row) for row in rows]


def answer_text(answer: Answer, text: str) -> str:
    """The answer to a SPARQL text, as far as the text says what it is."""
    if isinstance(answer, bool):
        return str(answer)
    if isinstance(answer, GraphAnswer):
        triples = {tuple(_cell(each, text) for each in triple) for triple in answer.triples}
        return table((), sorted(triples), ordered=False)
    outer = text.rpartition("}")[2]
    ordered = bool(_ORDERED.search(outer))
    rows = [[_cell(each, text) for each in row] for row in answer.rows]
    if _CUT.search(text) and not ordered:
        # Which rows these are is nobody's business.
        return f"{answer.variables}: {len(rows)} rows"
    return table(answer.variables, rows, ordered=ordered)


def result_text(result: results.Result, text: str) -> str:
    """As :func:`answer_text`, of a result as the W3C's suites have it."""
    if isinstance(result, bool):
        return str(result)
    if isinstance(result, results.Graph):
        return quads_text((ox.Quad(*each) for each in result.triples), text)
    assert isinstance(result, results.Solutions)
    names = sorted({name for row in result.rows for name in row})
    ordered = bool(_ORDERED.search(text))
    rows = [
        [_cell(from_oxigraph(row[name]) if name in row else None, text) for name in names]
        for row in result.rows
    ]
    if _CUT.search(text) and not ordered:
        return f"{len(rows)} rows"
    return table(names, rows, ordered=ordered)


def quads_text(quads: Iterable[ox.Quad], text: str = "") -> str:
    """Quads of Oxigraph."""
    rows = {
        (
            *(_cell(from_oxigraph(each), text) for each in (q.subject, q.predicate, q.object)),
            str(q.graph_name),
        )
        for q in quads
    }
    return table((), sorted(rows), ordered=False)


def _cell(term: Term | None, text: str) -> str:
    if term is None:
        return ""
    if isinstance(term, BlankNode):
        return f"_:{term}"
    if _OF_ANY.search(text):
        return term.datatype if isinstance(term, Literal) else type(term).__name__
    if isinstance(term, Literal):
        if _JOINED.search(text):
            # A group has no order.
            return f'"{"".join(sorted(term.lexical))}"^^{term.datatype}'
        if _SUMMED.search(text) and term.datatype in (xsd.DOUBLE, xsd.FLOAT):
            # The last digits are those of the order in which the numbers came.
            return f'"{_rounded(term.lexical)}"^^{term.datatype}'
    return f"{term.n3}"


def _rounded(lexical: str) -> str:
    try:
        return f"{float(lexical):.{_DIGITS}g}"
    except ValueError:
        return lexical


def value_text(value: object) -> str:
    """A value of Python, with its type."""
    told = f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
    return "NULL" if value is None else f"{type(value).__name__} {told}"
