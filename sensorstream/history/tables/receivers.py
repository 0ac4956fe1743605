"""Who is told of alerts and reports, what they are told, and what became of it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Interval,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    column,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from sensorstream.history.tables.alerts import alert_changes, alerts, incidents
from sensorstream.history.tables.schema import MOMENT, STORE, metadata

webhooks: Final = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created_at", MOMENT, nullable=False),
    Column("queries", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # An output is a receiver that the settings name; it is no webhook to any user.
    Column("output", Boolean, nullable=False, server_default=text("false")),
    Column("format", Text, nullable=False, server_default=text("'cloudevents'")),
    # The secret before this one signs, too, until then.
    Column("old_secret", Text),
    Column("old_until", MOMENT),
    # The number of the journal's entry that made it what it is; null: an output, or older.
    Column("change", BigInteger),
    # The first of the attempts that all failed, up to now.
    Column("failing_since", MOMENT),
    Column("disabled_at", MOMENT),
    # Whether it is told of changes of state, too.
    Column("changes", Boolean, nullable=False, server_default=text("false")),
    # Small, and no other has it: it is in the ids of deliveries.
    Column("number", Integer, nullable=False, unique=True),
    # The last event that was delivered or failed: what becomes of it stands in deliveries, and what
    # comes after it waits.
    Column("place", BigInteger, nullable=False),
    # The last event before it was disabled.
    Column("disabled_from", BigInteger),
    # The labels by which it is told of groups of alerts; null: of each alert.
    Column("group_by", ARRAY(Text)),
    # Whether it is told of alerts that have escalated alone.
    Column("escalated", Boolean, nullable=False, server_default=text("false")),
    # Seconds until it is told of a new group, and between two times that it is told of one.
    Column("group_wait", Double),
    Column("group_interval", Double),
    # The last change of an incident that its groups know of.
    Column("grouped", BigInteger, nullable=False, server_default=text("0")),
)

# What receivers are told, once for all of them, in the order of commits. Numbers have no gaps.
events: Final = Table(
    "events",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    # An alert, a change of an incident, a report of a continuous query, or what one receiver is
    # told of a group of alerts; the last two are stored only here.
    Column("alert_id", Text, ForeignKey(alerts.c.id)),
    Column("change", BigInteger, ForeignKey(alert_changes.c.seq)),
    # Which change it is; null: of a version before 0030.
    Column("said", Text),
    # Whether it is about an incident that has escalated.
    Column("escalated", Boolean, nullable=False, server_default=text("false")),
    Column("report_id", Text),
    Column("report_query", Text),
    Column("report_data", Text),
    Column("receiver", Text),
    Column("group_data", Text),
    Column("raised_at", MOMENT, nullable=False),
    # As raised_at, unless the clock was set back since.
    Column("due_at", MOMENT, nullable=False),
    CheckConstraint(
        "num_nonnulls(alert_id, change, report_id, group_data) = 1 and "
        "num_nonnulls(report_id, report_query, report_data) in (0, 3) and "
        "num_nonnulls(receiver, group_data) in (0, 2)",
        name="kind",
    ),
    Index("events_change_idx", "change", postgresql_where=text("change is not null")),
    Index("events_alert_idx", "alert_id", postgresql_where=text("alert_id is not null")),
)

# The last event's number. Who adds events, or puts a receiver after them, locks this row first: so
# numbers are committed in their order, and no receiver's place passes one that is still to come.
event_head: Final = Table(
    "event_head",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("last", BigInteger, nullable=False),
    # An alert that ends so often within that time flaps; 0: none does.
    Column("flap_count", Integer, nullable=False, server_default=text("0")),
    Column("flap_span", Interval, nullable=False, server_default=text("'00:00:00'::interval")),
    CheckConstraint("single", name="single"),
)

# Groups of alerts, each of one webhook. Their labels may be too long for an index; their digest is
# SHA-256.
alert_groups: Final = Table(
    "alert_groups",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("webhook_id", Text, ForeignKey(webhooks.c.id, ondelete="CASCADE"), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("labels", JSONB, nullable=False),
    Column("made_at", MOMENT, nullable=False),
    Column("told_at", MOMENT),
    UniqueConstraint("webhook_id", "digest"),
)

# The incidents of a group, until it was told of their end.
alert_group_members: Final = Table(
    "alert_group_members",
    metadata,
    Column("incident", Text, ForeignKey(incidents.c.id, ondelete="CASCADE"), primary_key=True),
    Column(
        "group_id", BigInteger, ForeignKey(alert_groups.c.id, ondelete="CASCADE"), primary_key=True
    ),
    # What the receiver knows of it: nothing, all, or not the last change.
    Column("state", Text, nullable=False, server_default=text("'new'")),
    CheckConstraint("state in ('new', 'told', 'changed')", name="state"),
    Index("alert_group_members_group_idx", "group_id"),
)

# Only of events at or before the receiver's place; store.outbox has all.
deliveries: Final = Table(
    "deliveries",
    metadata,
    # event * 2^20 + number of the webhook.
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("event", BigInteger, ForeignKey(events.c.seq), nullable=False),
    Column("webhook_id", Text, ForeignKey(webhooks.c.id, ondelete="CASCADE"), nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("next_attempt_at", MOMENT),
    Column("status", Text, nullable=False, server_default=text("'pending'")),
    Column("last_error", Text),
    # Of the last attempt: when and how long, the status of HTTP, the start of the answer's body.
    Column("attempted_at", MOMENT),
    Column("seconds", Double),
    Column("answered", Integer),
    Column("answer", Text),
    CheckConstraint("status in ('pending', 'delivered', 'dead')", name="status"),
    Index("deliveries_event_idx", "event"),
    Index("deliveries_state_idx", "webhook_id", "status", "id"),
    Index(
        "deliveries_attempted_idx",
        "webhook_id",
        "attempted_at",
        postgresql_where=text("attempted_at is not null"),
    ),
    Index(
        "deliveries_due_idx",
        "webhook_id",
        "next_attempt_at",
        "event",
        postgresql_where=text("status = 'pending'::text"),
    ),
)

# A view: all deliveries, those too that wait for their first attempt beyond a receiver's place, and
# those that are dead because their receiver was disabled.
outbox: Final = table(
    "outbox",
    *(
        column(name)
        for name in (
            *("id", "event", "webhook_id", "status", "attempts", "next_attempt_at", "last_error"),
            *("attempted_at", "seconds", "answered", "answer"),
            *("alert_id", "change", "report_id", "report_query", "report_data", "group_data"),
            "raised_at",
        )
    ),
    schema=STORE,
)
