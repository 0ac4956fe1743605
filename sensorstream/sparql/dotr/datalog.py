"""Datalog rules: ``:in(?S, ?R) :- :equips(?S, ?O), :placed_in(?O, ?R) .``

An atom with one argument is a class, with two a property. As in RDFox it may also be written as
``[?S, :in, ?R]``, be negated by ``not``, and FILTER may stand among the atoms.
"""

from __future__ import annotations

from typing import Final

from sensorstream.errors import Position, QueryError, TermError
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, iri
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.dotr.dotr_syntax import DatalogClause
from sensorstream.sparql.dotr.token_cursor import TokenCursor
from sensorstream.sparql.iris import resolve
from sensorstream.sparql.query_lexer import Lexeme
from sensorstream.sparql.variable_scope import names_in, own_names

_ATOM: Final = "an atom such as :in(?S, ?R)"


def read_clause(cursor: TokenCursor) -> DatalogClause:
    """Read the Datalog rule that begins here.

    Raises QueryError if there is none, or a variable of its head or a FILTER is in no positive
    atom.
    """
    position = cursor.position()
    head = [_read_atom(cursor)]
    while cursor.take_word(","):
        head.append(_read_atom(cursor))
    positive: list[TriplePattern] = []
    negative: list[TriplePattern] = []
    filters: list[tuple[algebra.Filter, Position]] = []
    if cursor.is_word(":"):
        cursor.take()
        cursor.expect("-")
        while True:
            if cursor.take_word("not"):
                negative.append(_read_atom(cursor))
            elif cursor.is_word("filter"):
                at = cursor.position()
                filters.append((_read_filter(cursor), at))
            else:
                positive.append(_read_atom(cursor))
            if not cursor.take_word(","):
                break
    if not cursor.is_word("."):
        cursor.fail("',' or '.'" if positive else "':-', ',' or '.'")
    cursor.take()
    given = names_in(tuple(positive))
    for free in sorted(names_in(tuple(head)) - given):
        raise QueryError(
            f"?{free} of the head must stand in an atom of the body that is not negated",
            position=position,
        )
    body: Pattern = algebra.BGP(tuple(positive))
    for each, at in filters:
        for free in sorted(own_names(each.condition) - given):
            raise QueryError(
                f"FILTER: ?{free} has no value: expected a variable that stands in an atom of the "
                "body that is not negated",
                position=at,
            )
        body = algebra.Filter(each.condition, body)
    for atom in negative:
        body = algebra.Filter(algebra.Not(algebra.Exists(algebra.BGP((atom,)))), body)
    return DatalogClause(tuple(head), body, position)


def _read_atom(cursor: TokenCursor) -> TriplePattern:
    at = cursor.at
    if cursor.take_word("["):
        terms = []
        for end in (",", ",", "]"):
            terms.append(_read_term(cursor))
            cursor.expect(end)
        return _triple(cursor, at, *terms)
    name = _read_term(cursor)
    cursor.expect("(")
    first = _read_term(cursor)
    if cursor.take_word(","):
        second = _read_term(cursor)
        cursor.expect(")")
        return _triple(cursor, at, first, name, second)
    cursor.expect(")")
    if not isinstance(name, IRI):
        raise cursor.error(f"the name of a class is an IRI: expected {_ATOM}", at)
    return _triple(cursor, at, first, rdf.TYPE, name)


def _triple(
    cursor: TokenCursor, at: int, subject: PatternTerm, predicate: PatternTerm, object_: PatternTerm
) -> TriplePattern:
    blank = isinstance(subject, BlankNode) or isinstance(object_, BlankNode)
    if not isinstance(predicate, IRI | Variable) or isinstance(subject, Literal) or blank:
        raise cursor.error(
            f"not an atom, whose property is an IRI and whose subject no literal: expected {_ATOM}",
            at,
        )
    return TriplePattern(subject, predicate, object_)


def _read_filter(cursor: TokenCursor) -> algebra.Filter:
    start = cursor.at
    cursor.take()
    if not cursor.is_word("("):
        cursor.fail("'('")
    cursor.closing()
    form = cursor.query("SELECT*{", cursor.between(start, cursor.at), "}", start).form
    assert isinstance(form, algebra.Select)
    pattern = form.pattern
    while not isinstance(pattern, algebra.Filter):
        pattern = pattern.pattern  # type: ignore[union-attr]
    return pattern


def _read_term(cursor: TokenCursor) -> PatternTerm:
    token = cursor.token
    if token is None:
        cursor.fail(_ATOM)
    if token.type == "VARIABLE":
        return Variable(cursor.take().value[1:])
    if token.type in ("PREFIXED", "IRIREF") and "\\" not in token.value:
        return _iri(cursor, cursor.take())
    # Literals have several tokens and forms: SPARQL's reader knows them.
    start = cursor.at
    while cursor.token is not None and cursor.token.value not in ("(", ",", ")", "]"):
        cursor.at += 1
    if cursor.at == start:
        cursor.fail(_ATOM)
    text = cursor.between(start, cursor.at)
    form = cursor.query("CONSTRUCT{<a:a><a:b> ", text, "}WHERE{}", start).form
    (triple,) = form.template  # type: ignore[union-attr]
    return triple.object


def _iri(cursor: TokenCursor, token: Lexeme) -> IRI:
    written = token.value
    try:
        if token.type == "IRIREF":
            text = written[1:-1]
            return iri(text if cursor.base is None else resolve(cursor.base, text))
        prefix, _, local = written.partition(":")
        return iri(f"{cursor.prefixes[prefix]}{local}")
    except KeyError:
        prefix = written.partition(":")[0]
        told = f"unknown prefix '{prefix}:': expected 'PREFIX {prefix}: <…>' before it"
    except TermError as error:
        told = error.message
    raise cursor.error(told, cursor.at - 1)
