"""Keys of clients, and what clients have changed."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Identity, Index, Integer, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY

from sensorstream.history.tables.schema import MOMENT, metadata

keys: Final = Table(
    "keys",
    metadata,
    # The beginning of the key, which is not secret; of the rest only the SHA-256 is kept.
    Column("prefix", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("roles", ARRAY(Text), nullable=False),
    Column("sources", ARRAY(Text)),
    Column("created_at", MOMENT, nullable=False),
    Column("expires_at", MOMENT),
    Column("revoked_at", MOMENT),
    Column("used_at", MOMENT),
)

audit: Final = Table(
    "audit",
    metadata,
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("at", MOMENT, nullable=False),
    # What "who" is: anonymous, key, token or command.
    Column("kind", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Index("audit_at_idx", "at"),
)
