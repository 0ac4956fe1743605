"""The dictionary of RDF terms: every term has one number, given by the writer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from itertools import count
from typing import Final

from psycopg2 import extensions

from sensorstream.history.copying import Row, RowShape
from sensorstream.history.database import one_value
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import DATE_TIMES, NUMERIC_TYPES, TimelineMoment, datetime_of

TERMS: Final = RowShape(
    "store.terms", ("id", "number", "moment", "kind", "text", "datatype", "language")
)

# Python's limit for the digits of an integer, far below that of "numeric".
_LONGEST_NUMBER: Final = 4300
# There are two generations: some 100 MB at most.
_REMEMBERED: Final = 100_000
# A longer text is rarely repeated, and would make the memory's size unpredictable.
_LONGEST_REMEMBERED: Final = 200
_ASKED_AT_ONCE: Final = 10_000
_COUNT_TERMS: Final = "update store.progress set last_term = last_term + %s returning last_term"
# With LIMIT the planner goes through the index, term by term, and never reads the whole table.
_LOOK_UP: Final = (
    "select a.place, t.id "
    "from unnest(%s::smallint[], %s::text[], %s::text[], %s::text[]) with ordinality "
    "as a (kind, text, datatype, language, place) cross join lateral ("
    "select id from store.terms t where t.text = a.text and t.kind = a.kind "
    "and t.datatype is not distinct from a.datatype "
    "and t.language is not distinct from a.language limit 1) t"
)
_unstorable: Final = re.compile("[\x00\ud800-\udfff]").search


class TermKind(IntEnum):
    """The values of ``store.terms.kind``."""

    IRI = 0
    BLANK = 1
    LITERAL = 2


@frozen
class TermKey:
    """A term as in ``store.terms``; the label of a blank node is without ``_:``."""

    kind: TermKind
    text: str
    datatype: str | None = None
    language: str | None = None


def term_key(term: Term) -> TermKey:
    """The columns of a term. NUL and lone surrogates, which PostgreSQL refuses, become U+FFFD."""
    if isinstance(term, Literal):
        return TermKey(TermKind.LITERAL, _storable(term.lexical), term.datatype, term.language)
    if isinstance(term, BlankNode):
        return TermKey(TermKind.BLANK, _storable(term.removeprefix("_:")))
    return TermKey(TermKind.IRI, _storable(term))


def term_of(kind: int, text: str, datatype: str | None = None, language: str | None = None) -> Term:
    """The term of some columns."""
    match kind:
        case TermKind.IRI:
            return IRI(text)
        case TermKind.BLANK:
            return BlankNode(f"_:{text}")
        case _:
            assert datatype is not None
            return Literal(text, datatype, language)


def number_of(term: Term) -> Decimal | int | float | None:
    """The exact value of a numeric literal; None for other terms and invalid literals.

    Also None for a number of more than 4300 characters: only its text is kept.
    """
    if not isinstance(term, Literal) or term.datatype not in NUMERIC_TYPES:
        return None
    if len(term.lexical) > _LONGEST_NUMBER:
        return None
    # A rule may store a literal that is not valid for its datatype: its text is kept.
    value = term.known
    return value if isinstance(value, int | float | Decimal) else None


def rounded(number: Decimal | int | float | None) -> float | None:
    """The double next to a number; infinite beyond the greatest."""
    if number is None:
        return None
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _moment_of(term: Term) -> datetime | None:
    if not isinstance(term, Literal) or term.datatype not in DATE_TIMES:
        return None
    value = term.known
    return datetime_of(value) if isinstance(value, TimelineMoment) else None


class Dictionary:
    """The numbers of terms, as the writer sees them.

    All calls belong to a transaction that has locked the row of ``store.progress``, so that no term
    gets two numbers. The newest numbers are remembered once :meth:`settle` has said that the
    transaction is stored.
    """

    def __init__(self) -> None:
        self._young: dict[Term, int] = {}
        self._old: dict[Term, int] = {}
        self._unsettled: dict[Term, int] = {}

    def forget(self) -> None:
        """Forget all numbers: some were removed, or a transaction failed."""
        self._young, self._old, self._unsettled = {}, {}, {}

    def settle(self) -> None:
        """Keep the newest numbers: the transaction is stored."""
        self._young |= self._unsettled
        self._unsettled = {}
        if len(self._young) > _REMEMBERED:
            self._old, self._young = self._young, {}

    def numbers(self, cursor: extensions.cursor, terms: Iterable[Term]) -> Mapping[Term, int]:
        """The number of each term; new terms are inserted into the table."""
        found, asked = self.remembered(terms)
        if asked:
            keys = [term_key(each) for each in asked]
            there = look_up(cursor, list(dict.fromkeys(keys)))
            new = {key: term for key, term in zip(keys, asked, strict=True) if key not in there}
            if new:
                last = one_value(cursor, _COUNT_TERMS, (len(new),))
                there |= zip(new, count(last - len(new) + 1), strict=False)
                TERMS.copy(cursor, term_rows(new, there))
            found |= self.learn(asked, (there[key] for key in keys))
        return found

    def remembered(self, terms: Iterable[Term]) -> tuple[dict[Term, int], list[Term]]:
        """The numbers that are remembered, and the terms that must be looked up."""
        found: dict[Term, int] = {}
        asked: list[Term] = []
        for term in dict.fromkeys(terms):
            number = self._young.get(term)
            if number is None:
                number = self._old.get(term)
                if number is not None:
                    self._unsettled[term] = number
            if number is None:
                asked.append(term)
            else:
                found[term] = number
        return found, asked

    def learn(self, terms: Sequence[Term], numbers: Iterable[int]) -> dict[Term, int]:
        """Remember and return the numbers of some terms."""
        found = dict(zip(terms, numbers, strict=True))
        self._unsettled |= {t: n for t, n in found.items() if len(t) <= _LONGEST_REMEMBERED}
        return found


def look_up(cursor: extensions.cursor, keys: Sequence[TermKey]) -> dict[TermKey, int]:
    """The numbers of the terms that are in the table."""
    found: dict[TermKey, int] = {}
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        part = keys[start : start + _ASKED_AT_ONCE]
        cursor.execute(
            _LOOK_UP,
            (
                [each.kind.value for each in part],
                [each.text for each in part],
                [each.datatype for each in part],
                [each.language for each in part],
            ),
        )
        found |= {part[place - 1]: number for place, number in cursor.fetchall()}
    return found


def term_rows(new: Mapping[TermKey, Term], numbers: Mapping[TermKey, int]) -> Iterator[Row]:
    """Rows of ``store.terms``, with the columns of :data:`TERMS`."""
    for key, term in new.items():
        yield (
            numbers[key],
            number_of(term),
            _moment_of(term),
            key.kind.value,
            key.text,
            key.datatype,
            key.language,
        )


def _storable(text: str) -> str:
    if _unstorable(text) is None:
        return text
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)
