"""The base tables, in schema ``store``; Alembic's migrations make exactly these tables. Users read
the views of schema ``history`` instead (:mod:`sensorstream.history.views`). Terms
are plain text: an IRI, ``_:label``, or a literal's lexical form, and ``kind`` says which of the
three. Times of the time line are ``bigint`` instants, as the engine counts them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

STORE: Final = "store"

metadata: Final = MetaData(
    schema=STORE,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_name)s_idx",
    },
)
_MOMENT: Final = DateTime(timezone=True)

messages: Final = Table(
    "messages",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("received_at", _MOMENT, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("status", Text),
    Column("reason", Text),
    Column("kind", Text, nullable=False, server_default=text("'message'")),
    Column("contradiction", JSONB),
    Column("degraded", Boolean, nullable=False, server_default=text("false")),
    # Of a message that an input took: what names it among all that inputs have delivered.
    Column("origin", Text),
    Index("messages_origin_idx", "origin", postgresql_where=text("origin is not null")),
    # The kinds are those of sensorstream.journal.kinds.
    Index("messages_ontology_idx", "seq", postgresql_where=text("kind = 'ontology'::text")),
    CheckConstraint(
        "status in ('accepted', 'partial', 'unmatched', 'rejected', 'held', 'late')", name="status"
    ),
    Index(
        "messages_quarantine_idx",
        "seq",
        postgresql_where=text(
            "status = ANY (ARRAY['unmatched'::text, 'partial'::text, 'rejected'::text])"
        ),
    ),
)

individuals: Final = Table(
    "individuals",
    metadata,
    Column("stay", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("entered", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("expired_at", BigInteger, nullable=False),
    Column("message_id", Text, nullable=False),
    Index("individuals_time_idx", "time"),
    # A B-tree refuses keys over 2.7 kB, and names come from messages: one long identifier would
    # stop the writer for ever. The radix tree accepts any length.
    Index("individuals_name_idx", "name", postgresql_using="spgist"),
)

statements: Final = Table(
    "statements",
    metadata,
    Column("stay", BigInteger, nullable=False),
    Column("subject", Text, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("datatype", Text),
    Column("language", Text),
    Column("number", Double),
    Column("moment", _MOMENT),
    Column("valid_from", BigInteger, nullable=False),
    Column("valid_to", BigInteger, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("inferred", Boolean, nullable=False),
    Column("superseded", Boolean, nullable=False),
    CheckConstraint("kind in ('iri', 'blank', 'literal')", name="kind"),
    Index("statements_stay_idx", "stay"),
)

alerts: Final = Table(
    "alerts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), nullable=False, unique=True),
    Column("rule", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("raised_at", _MOMENT, nullable=False),
    Column("message_id", Text, nullable=False),
)

webhooks: Final = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created_at", _MOMENT, nullable=False),
    Column("queries", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # An output is a receiver that the settings name; it is no webhook to any user.
    Column("output", Boolean, nullable=False, server_default=text("false")),
)

deliveries: Final = Table(
    "deliveries",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("webhook_id", Text, ForeignKey(webhooks.c.id, ondelete="CASCADE"), nullable=False),
    # Of an alert, or of a report of a continuous query, which is stored only here.
    Column("alert_id", Text, ForeignKey(alerts.c.id)),
    Column("report_id", Text),
    Column("report_query", Text),
    Column("report_data", Text),
    Column("reported_at", _MOMENT),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("next_attempt_at", _MOMENT),
    Column("status", Text, nullable=False, server_default=text("'pending'")),
    Column("last_error", Text),
    CheckConstraint("status in ('pending', 'delivered', 'dead')", name="status"),
    CheckConstraint(
        "num_nonnulls(report_id, report_query, report_data, reported_at) "
        "= case when alert_id is null then 4 else 0 end",
        name="event",
    ),
    Index("deliveries_webhook_id_idx", "webhook_id"),
    Index(
        "deliveries_due_idx", "next_attempt_at", postgresql_where=text("status = 'pending'::text")
    ),
)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at", _MOMENT, nullable=False, server_default=text("now()")),
)

progress: Final = Table(
    "progress",
    metadata,
    # True and unique: the table holds one row.
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("watermark", BigInteger, nullable=False),
    Column("timeline", Text, nullable=False),
    CheckConstraint("single", name="single"),
)
