"""The base tables for Spark: columns, types, and how PostgreSQL writes them as CSV."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """``kind`` is Spark's type name."""

    name: str
    kind: str

    @property
    def sql(self) -> str:
        """The SQL expression of the column, as a text that the CSV reader can parse."""
        if self.kind == "timestamp":
            return f"(extract(epoch from {self.name}) * 1000000)::bigint"
        if self.kind == "binary":
            return f"encode({self.name}, 'hex')"
        if self.kind == "decimal(19, 0)":
            # Of all numbers views use whole ones, and these exactly.
            return (
                f"case when abs({self.name}) < 9.2e18 and {self.name} = floor({self.name}) "
                f"then {self.name}::bigint end"
            )
        return self.name


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of schema ``store``."""

    name: str
    columns: tuple[SourceColumn, ...]

    def only(self, names: Collection[str]) -> SourceTable:
        """The table with some of its columns, in its own order."""
        return SourceTable(self.name, tuple(each for each in self.columns if each.name in names))

    @property
    def schema(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(f"`{each.name}` {each.kind}" for each in self.columns)


def _table(name: str, columns: Mapping[str, str]) -> SourceTable:
    return SourceTable(name, tuple(SourceColumn(*each) for each in columns.items()))


SOURCE_TABLES: Final[Mapping[str, SourceTable]] = {
    each.name: each
    for each in (
        _table(
            "terms",
            {
                "id": "bigint",
                "kind": "bigint",
                "text": "string",
                "datatype": "string",
                "language": "string",
                "number": "decimal(19, 0)",
                "moment": "timestamp",
            },
        ),
        _table(
            "stays",
            {
                "stay": "bigint",
                "name": "bigint",
                "entered": "bigint",
                "time": "bigint",
                "expired_at": "bigint",
                "message": "bigint",
            },
        ),
        _table(
            "statements",
            {
                "subject": "bigint",
                "predicate": "bigint",
                "object": "bigint",
                "valid_from": "bigint",
                "valid_to": "bigint",
                "stay": "bigint",
                "message": "bigint",
                "number": "double",
                "inferred": "boolean",
            },
        ),
        _table(
            "messages",
            {
                "seq": "bigint",
                "id": "string",
                "source": "string",
                "received_at": "timestamp",
                "received": "bigint",
                "content": "binary",
                "status": "string",
                "reason": "string",
            },
        ),
        _table(
            "alerts",
            {
                "seq": "bigint",
                "id": "string",
                "rule": "string",
                "kind": "string",
                "severity": "string",
                "text": "string",
                "key": "string",
                "time": "bigint",
                "raised_at": "timestamp",
                "message_id": "string",
            },
        ),
    )
}
