"""The Parquet files: their columns, how PostgreSQL gives them, and a sum to compare both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

_ID: Final = "_id"
_TEXT: Final = pa.string()
_WHOLE: Final = pa.int64()
_MOMENT: Final = pa.timestamp("us", tz="UTC")
_MICROSECONDS: Final = "(extract(epoch from {}) * 1000000)::bigint"
_KINDS: Final = "case {}.kind when 0 then 'iri' when 1 then 'blank' else 'literal' end"
_NAMED: Final = "case when {0}.kind = 1 then '_:' || {0}.text else {0}.text end"


@dataclass(frozen=True, slots=True, eq=False)
class ArchivedTable:
    """A file of a part, one of two; it needs no dictionary of terms.

    ``columns`` maps each column of the file to its type and to its SQL over ``source``, where the
    rows that leave have the name ``s``. ``order`` puts rows together that are asked for together.
    ``ended`` is the column by whose values the parts are made.
    """

    name: str
    ended: str
    columns: Mapping[str, tuple[pa.DataType, str]]
    joins: str
    order: str

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, kind) for name, (kind, _) in self.columns.items()])

    @property
    def ids(self) -> Mapping[str, str]:
        """The file's columns for those of the table that hold numbers of terms."""
        return {each.removesuffix(_ID): each for each in self.columns if each.endswith(_ID)}

    def select(self, rows: str, *, ordered: bool = False) -> str:
        """The query for the columns; ``rows`` is the relation of the rows that leave."""
        told = ", ".join(f"{source} as {name}" for name, (_, source) in self.columns.items())
        order = f" order by {self.order}" if ordered else ""
        return f"select {told} from {rows} as s {self.joins}{order}"


STATEMENTS: Final = ArchivedTable(
    "statements",
    "valid_to",
    {
        "subject": (_TEXT, _NAMED.format("su")),
        "predicate": (_TEXT, "pr.text"),
        "object": (_TEXT, _NAMED.format("ob")),
        "kind": (_TEXT, _KINDS.format("ob")),
        "datatype": (_TEXT, "ob.datatype"),
        "language": (_TEXT, "ob.language"),
        "number": (pa.float64(), "s.number"),
        "moment": (_MOMENT, _MICROSECONDS.format("ob.moment")),
        "valid_from": (_WHOLE, "s.valid_from"),
        "valid_to": (_WHOLE, "s.valid_to"),
        "stay": (_WHOLE, "s.stay"),
        "message": (_WHOLE, "s.message"),
        "inferred": (pa.bool_(), "s.inferred"),
        # The terms' numbers in PostgreSQL, which keeps the terms.
        "subject_id": (_WHOLE, "s.subject"),
        "predicate_id": (_WHOLE, "s.predicate"),
        "object_id": (_WHOLE, "s.object"),
    },
    "join store.terms su on su.id = s.subject join store.terms pr on pr.id = s.predicate "
    "join store.terms ob on ob.id = s.object",
    "s.predicate, s.subject, s.valid_from",
)

STAYS: Final = ArchivedTable(
    "stays",
    "expired_at",
    {
        "stay": (_WHOLE, "s.stay"),
        "name": (_TEXT, _NAMED.format("na")),
        "entered": (_WHOLE, "s.entered"),
        "time": (_WHOLE, "s.time"),
        "expired_at": (_WHOLE, "s.expired_at"),
        "message": (_WHOLE, "s.message"),
        "name_id": (_WHOLE, "s.name"),
    },
    "join store.terms na on na.id = s.name",
    "s.name, s.time",
)

TABLES: Final = (STATEMENTS, STAYS)
BY_NAME: Final = {each.name: each for each in TABLES}

# The first 60 bits of a digest as a whole number.
POSTGRES_BITS: Final = "('x' || substr({}, 1, 15))::bit(60)::bigint"
DUCKDB_BITS: Final = "('0x' || substr({}, 1, 15))::bigint"


def sum_query(table: ArchivedTable, source: str, bits: str) -> str:
    """A query for the number of rows and a sum of them that no order changes; PostgreSQL and DuckDB
    give the same for the same rows. ``source`` is a relation with the columns of the file, ``bits``
    one of the two expressions above.

    Numbers and moments of literals are only counted: both systems take them from the same text, but
    write them differently.
    """
    parts, counts = [], ["count(*)"]
    for name, (kind, _) in table.columns.items():
        if kind == _TEXT:
            parts.append(f"coalesce(length({name})::varchar || ':' || {name}, '-')")
        elif kind == pa.bool_():
            parts.append(f"case when {name} then '1' else '0' end")
        elif pa.types.is_integer(kind):
            parts.append(f"{name}::varchar || ';'")
        else:
            counts.append(f"count({name})")
    row = bits.format(f"md5({' || '.join(parts)})")
    return f"select {', '.join(counts)}, coalesce(sum({row}), 0) from {source} as r"
