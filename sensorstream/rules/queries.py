"""From the SPARQL of a condition to a query whose outer variables can be given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import pyoxigraph as ox

from sensorstream.errors import LanguageError
from sensorstream.rules.conditions import Query
from sensorstream.rules.sparql_text import SparqlText

_PROLOGUE: Final = (
    r"(?:\s+|\#[^\n\r]*(?:[\n\r]|\Z)"
    r"|(?i:BASE)\s*<[^>]*>|(?i:PREFIX)\s*[\w.-]*:\s*<[^>]*>)*"
)
_SELECT: Final = re.compile(
    rf"(?P<head>{_PROLOGUE}(?i:SELECT)\b\s*(?:(?i:DISTINCT|REDUCED)\b)?)(?P<star>\s*\*)?"
)
_ASK: Final = re.compile(rf"(?P<prologue>{_PROLOGUE})(?i:ASK)\b")


def select_query(source: SparqlText, given: Iterable[str]) -> tuple[Query, frozenset[str]]:
    """A SELECT whose variables in ``given`` have their value from outside.

    A given variable that the query mentions but does not return is returned too, so that it
    means the same inside the query as outside.

    Returns:
        The query, and the variables it returns.

    Raises:
        LanguageError: not a SELECT, not SPARQL, or a given variable inside a grouping.
    """
    found = source.answer("", 0, len(source.text), "")
    match = _SELECT.match(source.text)
    if not isinstance(found, ox.QuerySolutions) or match is None:
        raise source.error(0, "not a SELECT: expected 'SELECT …'")
    returned = [variable.value for variable in found.variables]
    outer = frozenset(given) & source.variables()
    hidden = sorted(outer.difference(returned))
    text = source.text
    if hidden:
        shown = [*(returned if match["star"] else ()), *hidden]
        text = f"{match['head']} {_listed(shown)} {text[match.end() :]}"
        try:
            ox.Store().query(text, prefixes=dict(source.prefixes))
        except SyntaxError:
            raise _grouped(source, hidden) from None
    return Query(text, source.prefixes, outer), frozenset((*returned, *hidden))


def ask_query(source: SparqlText, given: Iterable[str]) -> Query:
    """An ASK as a SELECT whose variables in ``given`` have their value from outside.

    Raises:
        LanguageError: not an ASK, not SPARQL, or a given variable inside a grouping.
    """
    found = source.answer("", 0, len(source.text), "")
    match = _ASK.match(source.text)
    if not isinstance(found, ox.QueryBoolean) or match is None:
        raise source.error(0, "not an ASK: expected 'ASK { … }'")
    outer = sorted(frozenset(given) & source.variables())
    text = f"{match['prologue']}SELECT {_listed(outer) or '*'} {source.text[match.end() :]}"
    try:
        ox.Store().query(text, prefixes=dict(source.prefixes))
    except SyntaxError:
        raise _grouped(source, outer) from None
    return Query(text, source.prefixes, frozenset(outer), asks=True)


def pattern_query(
    source: SparqlText, start: int, end: int, given: Iterable[str], wanted: Iterable[str]
) -> Query:
    """The solutions of a group graph pattern, braces included.

    Args:
        source: the block the pattern stands in, from ``start`` to ``end``.
        given: the variables that may have a value from outside.
        wanted: the variables that must come out; those neither given nor in the pattern are
            an error.

    Raises:
        LanguageError: not SPARQL, or a wanted variable that nothing binds.
    """
    found = source.answer("SELECT * WHERE ", start, end, "")
    assert isinstance(found, ox.QuerySolutions)
    inside = {variable.value for variable in found.variables}
    outer = frozenset(given)
    for name in sorted(set(wanted) - inside - outer):
        offset = next(
            (t.start for t in source.tokens() if t.kind == "variable" and t.text == name), start
        )
        raise source.error(offset, f"?{name} has no value: expected it in the WHERE pattern")
    mentioned = outer & source.variables(start, end)
    shown = sorted((set(wanted) & inside) | mentioned)
    text = f"SELECT {_listed(shown) or '*'} WHERE {source.text[start:end]}"
    return Query(text, source.prefixes, mentioned)


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"?{name}" for name in names)


def _grouped(source: SparqlText, names: Iterable[str]) -> LanguageError:
    listed = _listed(names)
    return source.error(
        0,
        f"{listed} has a value from before, but this query groups: "
        f"add {listed} to its SELECT and to its GROUP BY",
    )
