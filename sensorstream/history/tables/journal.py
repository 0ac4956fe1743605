"""The journal: what came, and how far its effects are stored."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from sensorstream.history.tables.schema import FINE, MOMENT, metadata

messages: Final = Table(
    "messages",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("received_at", MOMENT, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("status", Text),
    Column("reason", Text),
    Column("kind", Text, nullable=False, server_default=text("'message'")),
    Column("contradiction", JSONB),
    Column("degraded", Boolean, nullable=False, server_default=text("false")),
    # Of a message that an input took: what names it among all that inputs have delivered. Of one
    # that came with an idempotency key: sensorstream.journal.message.
    Column("origin", Text),
    # Of a message: sensorstream.journal.effects. Of one that was held: those of then, and within
    # them as "settled" those of later.
    Column("facts", JSONB),
    # When somebody took it out of quarantine.
    Column("dismissed_at", MOMENT),
    Index("messages_origin_idx", "origin", postgresql_where=text("origin is not null")),
    # A B-tree would refuse a source over 2.7 kB.
    Index("messages_source_idx", text('"left"(source, 200)'), "seq"),
    Index("messages_status_idx", "status", "seq", postgresql_where=text("status <> 'accepted'")),
    Index("messages_received_idx", "received_at", postgresql_using="brin", postgresql_with=FINE),
    # The kinds are those of sensorstream.journal.kinds.
    Index("messages_ontology_idx", "seq", postgresql_where=text("kind = 'ontology'::text")),
    Index("messages_others_idx", "seq", postgresql_where=text("kind <> 'message'::text")),
    CheckConstraint(
        "status in ('accepted', 'partial', 'unmatched', 'rejected', 'held', 'late', 'skipped')",
        name="status",
    ),
    Index(
        "messages_quarantine_idx",
        "seq",
        postgresql_where=text(
            "dismissed_at is null and status = ANY (ARRAY['unmatched'::text, 'partial'::text, "
            "'rejected'::text, 'skipped'::text])"
        ),
    ),
)

# Which ontology was put in force when: by the journal's entry with this number, or by a start after
# it; from this instant on (null: before any event).
ontologies: Final = Table(
    "ontologies",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("seq", BigInteger, nullable=False, unique=True),
    Column("valid_from", BigInteger),
    Column("digest", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("media_type", Text, nullable=False),
)

progress: Final = Table(
    "progress",
    metadata,
    # True and unique: the table holds one row.
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("watermark", BigInteger, nullable=False),
    Column("timeline", Text, nullable=False),
    # The last number given to a term: none is given twice.
    Column("last_term", BigInteger, nullable=False, server_default=text("0")),
    # Counts the times that others removed terms or partitions: the writer must forget them.
    Column("removals", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("single", name="single"),
)

# What writes effects, and how far it is. One row.
pipeline: Final = Table(
    "pipeline",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    # Which runner's windows the history belongs to: sensorstream.history.runner.
    Column("runner", JSONB),
    # On Spark: the application time that messages have brought, and when the last one arrived.
    Column("moved", BigInteger),
    Column("moved_at", BigInteger),
    # On Spark: the last entry of the last batch, and of the batch before. Spark may ask for the
    # entries above "covered" once more.
    Column("routed", BigInteger, nullable=False, server_default=text("0")),
    Column("covered", BigInteger, nullable=False, server_default=text("0")),
    Column("stored_at", MOMENT),
    CheckConstraint("single", name="single"),
)

# On Spark: the engines that hold something, as they were after the batch that ended with entry
# "since" and before the one that ends with "until" (null: now). A key comes from messages and may
# be long; its digest is SHA-256.
engines: Final = Table(
    "engines",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    Column("until", BigInteger),
    Column("key", Text, nullable=False),
    Column("individuals", BigInteger, nullable=False),
    # From which times on the engine is to hear of them: sensorstream.model.waits.
    Column("received", BigInteger),
    Column("moved", BigInteger),
    Column("present", BigInteger),
    *(
        Index(f"engines_{name}_idx", name, postgresql_where=text(f"{name} is not null"))
        for name in ("received", "moved", "present")
    ),
)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at", MOMENT, nullable=False, server_default=text("now()")),
)
