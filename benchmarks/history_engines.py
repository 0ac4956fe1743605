"""Other engines that hold the data of :mod:`benchmarks.history` in memory.

The RDF stores know no valid time: for a question about one they get a graph of what held then, made
before the clock runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa
import pyoxigraph as ox

from benchmarks.history import EX, GROUP, group
from sensorstream.history.asking.checked_question import AtInstant, Interval
from sensorstream.history.term_dictionary import number_of, rounded
from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.model.events import Ended
from sensorstream.model.terms import IRI, Literal

Rows: TypeAlias = Sequence[tuple[object, ...]]
"""Terms as texts without their datatypes, or values; an unbound one is empty or None."""
Time: TypeAlias = AtInstant | Interval | None
_PREFIX: Final = f"PREFIX : <{EX}> "


class Answers(Protocol):
    """An engine filled with the data."""

    name: str

    def answer(self, text: str, sql: str, time: Time) -> Rows:
        """The answer to a question, which is given in SPARQL and in SQL."""


def statements(individuals: int) -> Iterator[Ended]:
    """What :func:`benchmarks.history.load` stores."""
    for seq, start in enumerate(range(0, individuals, GROUP), 1):
        numbers = range(start, min(start + GROUP, individuals))
        yield from group(seq, numbers, individuals).ended


def _held(each: Ended, time: Time) -> bool:
    match time:
        case AtInstant(at):
            return each.provenance.time <= at < each.valid_to
        case Interval(start, end):
            return each.provenance.time < end and each.valid_to > start
    return True


class Oxigraph:
    """A store of pyoxigraph."""

    name = "Oxigraph"

    def __init__(self, individuals: int) -> None:
        self._said = list(statements(individuals))
        self._stores: dict[Time, ox.Store] = {}

    def answer(self, text: str, sql: str, time: Time) -> Rows:
        """The answer to a question."""
        if time not in self._stores:
            self._stores[time] = store = ox.Store()
            store.bulk_extend(map(_quad, (e for e in self._said if _held(e, time))))
        found: Any = self._stores[time].query(_PREFIX + text)
        return [tuple("" if e is None else str(e.value) for e in row) for row in found]


def _quad(each: Ended) -> ox.Quad:
    subject, predicate, value = each.triple
    return ox.Quad(subject_to_oxigraph(subject), ox.NamedNode(predicate), to_oxigraph(value))


class DuckDB:
    """A table of DuckDB, asked in SQL."""

    name = "DuckDB (SQL)"

    def __init__(self, individuals: int) -> None:
        said = list(statements(individuals))
        table = pa.table(
            {
                "s": [_short(each.triple[0]) for each in said],
                "p": [_short(each.triple[1]) for each in said],
                "o": [_short(each.triple[2]) for each in said],
                "number": [rounded(number_of(each.triple[2])) for each in said],
                "valid_from": [each.provenance.time for each in said],
                "valid_to": [each.valid_to for each in said],
            }
        )
        import duckdb

        self._connection = duckdb.connect()
        self._connection.register("given", table)
        self._connection.execute("create table said as from given")

    def answer(self, text: str, sql: str, time: Time) -> Rows:
        """The answer to a question."""
        return self._connection.execute(sql).fetchall()


def _short(term: object) -> str:
    if isinstance(term, Literal):
        return term.lexical
    assert isinstance(term, IRI)
    return str(term).removeprefix(EX)
