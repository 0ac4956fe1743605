"""Alerts, and what people do with them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from sensorstream.history.tables.schema import MOMENT, metadata

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
    Column("raised_at", MOMENT, nullable=False),
    Column("message_id", Text, nullable=False),
    # The numbers of the messages that said, or caused, what the rule matched.
    Column("messages", ARRAY(BigInteger), nullable=False, server_default=text("'{}'::bigint[]")),
    # Why the rule fired, as JSON; see evidence.py.
    Column("evidence", Text),
    # Null: of a version before there were incidents.
    Column("incident", Text),
    Index("alerts_incident_idx", "incident", "seq"),
)

# All alerts of one rule and key from the first until it is cleared.
incidents: Final = Table(
    "incidents",
    metadata,
    # That of its first alert.
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), nullable=False, unique=True),
    # SHA-256 of kind, rule and key: a key may be too long for an index.
    Column("identity", LargeBinary, nullable=False),
    Column("rule", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    # Those of the last alert.
    Column("severity", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'open'")),
    Column("count", BigInteger, nullable=False),
    Column("first_time", BigInteger, nullable=False),
    Column("last_time", BigInteger, nullable=False),
    Column("first_at", MOMENT, nullable=False),
    Column("last_at", MOMENT, nullable=False),
    Column("last_alert", Text, nullable=False),
    Column("acknowledged_by", Text),
    Column("acknowledged_at", MOMENT),
    Column("assignee", Text),
    Column("cleared_at", MOMENT),
    # The severity it was given because nobody acknowledged it.
    Column("escalated", Text),
    Column("reminded_at", MOMENT),
    Column("reminders", Integer, nullable=False, server_default=text("0")),
    # The alert that a silence which has ended held back, while another one is about it.
    Column("held", Text),
    CheckConstraint("state in ('open', 'acknowledged', 'cleared')", name="state"),
    Index(
        "incidents_identity_idx",
        "identity",
        unique=True,
        postgresql_where=text("state <> 'cleared'::text"),
    ),
    Index("incidents_state_idx", "state", "seq"),
    Index("incidents_held_idx", "held", postgresql_where=text("held is not null")),
)

# What happened to incidents, in the order of commits; repeats are only counted.
alert_changes: Final = Table(
    "alert_changes",
    metadata,
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("incident", Text, ForeignKey(incidents.c.id, ondelete="CASCADE"), nullable=False),
    Column("change", Text, nullable=False),
    Column("at", MOMENT, nullable=False),
    # Application time, where the engine decided it.
    Column("time", BigInteger),
    Column("by", Text, nullable=False, server_default=text("''")),
    Column("text", Text, nullable=False, server_default=text("''")),
    # As they were then.
    Column("severity", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    CheckConstraint(
        "change in ('raised', 'acknowledged', 'cleared', 'commented', 'assigned', "
        "'reminded', 'escalated', 'flapping', 'settled')",
        name="change",
    ),
    Index("alert_changes_incident_idx", "incident", "seq"),
)

# Alerts that ended lately: when, the newest first, no more than the settings count.
flaps: Final = Table(
    "flaps",
    metadata,
    Column("identity", LargeBinary, primary_key=True),
    # The incident that ended last.
    Column("incident", Text, ForeignKey(incidents.c.id, ondelete="CASCADE"), nullable=False),
    Column("ends", ARRAY(MOMENT), nullable=False),
    # Since when it flaps, and whether receivers were told so.
    Column("since", MOMENT),
    Column("told", Boolean, nullable=False, server_default=text("false")),
    Index("flaps_since_idx", "identity", postgresql_where=text("since is not null")),
    Index("flaps_incident_idx", "incident"),
)

# Alerts that receivers are not told of for a while. Rule and key are patterns of LIKE; null: any.
silences: Final = Table(
    "silences",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("rule", Text),
    Column("key", Text),
    Column("severity", Text),
    Column("starts_at", MOMENT, nullable=False),
    Column("ends_at", MOMENT, nullable=False),
    Column("by", Text, nullable=False),
    Column("comment", Text, nullable=False),
)
