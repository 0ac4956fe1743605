"""The base tables, in schema ``store``; the first of Alembic's migrations makes them from here.

Users read the views of schema ``history`` instead (:mod:`sensorstream.history.views`). Every RDF
term stands once, in ``terms``; statements and stays refer to it by its number. Times of the time
line are ``bigint`` instants, as the engine counts them.
"""

from __future__ import annotations

from typing import Any, Final

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
    Interval,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
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
MOMENT: Final = DateTime(timezone=True)
FINE: Final = {"pages_per_range": 32}
"""An option of BRIN indexes: some 3,000 statements an entry."""


def brin(name: str, *columns: Any) -> Index:
    """An index of ranges of pages."""
    return Index(name, *columns, postgresql_using="brin", postgresql_with=FINE)


def hashed(name: str, column: str) -> Index:
    """An index of values that may be too long for a B-tree; it has no order."""
    return Index(name, column, postgresql_using="hash")


def partial(name: str, condition: str, *columns: str, unique: bool = False) -> Index:
    """An index of the rows that fulfil a condition."""
    return Index(name, *columns, postgresql_where=text(condition), unique=unique)


def required(kind: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that are never null."""
    return [Column(each, kind, nullable=False) for each in names]


def optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that may be null."""
    return [Column(each, kind) for each in names]


messages: Final = Table(
    "messages",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("received_at", MOMENT, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    *optional(Text, "status", "reason"),
    Column("kind", Text, nullable=False, server_default=text("'message'")),
    Column("contradiction", JSONB),
    Column("degraded", Boolean, nullable=False, server_default=text("false")),
    # For a message of an input: its name among all that inputs have delivered. For one with an
    # idempotency key: sensorstream.journal.message.
    Column("origin", Text),
    # For a message: sensorstream.journal.entry_effects. For a held one: the first ones, and within
    # them as "settled" the later ones.
    Column("facts", JSONB),
    # The time when it was taken out of quarantine.
    Column("dismissed_at", MOMENT),
    partial("messages_origin_idx", "origin is not null", "origin"),
    # A B-tree refuses a source over 2.7 kB.
    Index("messages_source_idx", text('"left"(source, 200)'), "seq"),
    partial("messages_status_idx", "status <> 'accepted'", "status", "seq"),
    brin("messages_received_idx", "received_at"),
    # The kinds are those of sensorstream.journal.kinds.
    partial("messages_ontology_idx", "kind = 'ontology'::text", "seq"),
    partial("messages_others_idx", "kind <> 'message'::text", "seq"),
    CheckConstraint(
        "status in ('accepted', 'partial', 'unmatched', 'rejected', 'held', 'late', 'skipped')",
        name="status",
    ),
    partial(
        "messages_quarantine_idx",
        "dismissed_at is null and status = ANY (ARRAY['unmatched'::text, 'partial'::text, "
        "'rejected'::text, 'skipped'::text])",
        "seq",
    ),
)

# The ontologies in force: put by the journal's entry with this number, or by a start after it; from
# this instant on (null: before any event).
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
    # The number of times that others removed terms or partitions: the writer must forget them.
    Column("removals", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("single", name="single"),
)

# The runner that writes effects, and its position. One row.
pipeline: Final = Table(
    "pipeline",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    # The runner whose windows the history belongs to: sensorstream.history.effects_writer.
    Column("runner", JSONB),
    # On Spark: the application time that messages have brought, and when the last one arrived.
    *optional(BigInteger, "moved", "moved_at"),
    # On Spark: the last entry of the last batch, and of the batch before. Spark may ask for the
    # entries above "covered" once more.
    Column("routed", BigInteger, nullable=False, server_default=text("0")),
    Column("covered", BigInteger, nullable=False, server_default=text("0")),
    Column("stored_at", MOMENT),
    # On Spark: how often the journal was processed from its beginning again.
    Column("displaced", Integer, nullable=False, server_default=text("0")),
    # On Spark: the figures of the last batch (sensorstream.history.effects_writer.BatchProgress).
    Column("progress", JSONB),
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
    # The times that the engine waits for: sensorstream.model.waits.
    *optional(BigInteger, "received", "moved", "present"),
    *(
        Index(f"engines_{name}_idx", name, postgresql_where=text(f"{name} is not null"))
        for name in ("received", "moved", "present")
    ),
)

# On Spark: events that engines have made for a later stage, until they are in the journal. The key
# is that of the engine that takes the event.
passed_on: Final = Table(
    "passed_on",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("key", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# On Spark: what the windows of the engines hold, in parts (sensorstream.engine.held_content), each
# as it is since the batch that ended with entry "since". Without content it has gone.
held: Final = Table(
    "held",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("content", Text),
    Index("held_since_idx", "since"),
)

# On Spark: the answers of engines to questions, which are entries of the journal, until the server
# has read them.
answers: Final = Table(
    "answers",
    metadata,
    Column("entry", BigInteger, nullable=False),
    Column("key", Text, nullable=False),
    # Written and read by sensorstream.app.questions.engine_questions.
    Column("content", LargeBinary, nullable=False),
    Column("stored_at", MOMENT, nullable=False, server_default=text("now()")),
    Index("answers_entry_idx", "entry"),
)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
    Column("created_at", MOMENT, nullable=False, server_default=text("now()")),
)


# The writer gives the numbers and ensures that no term has two. A B-tree refuses keys over 2.7 kB,
# and texts come from messages: one long text would stop the writer. A hash index takes any length.
terms: Final = Table(
    "terms",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("moment", MOMENT),
    # 0 IRI, 1 blank node, 2 literal: sensorstream.history.term_dictionary.TermKind.
    Column("kind", SmallInteger, nullable=False),
    Column("number", Numeric),
    Column("text", Text, nullable=False),
    *optional(Text, "datatype", "language"),
    CheckConstraint("kind in (0, 1, 2)", name="kind"),
    hashed("terms_text_idx", "text"),
)

# The sets of classes that individuals had when they left: few sets for many stays. A B-tree would
# refuse a long one.
class_sets: Final = Table(
    "class_sets",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    # Numbers of terms, in order.
    Column("classes", ARRAY(BigInteger), nullable=False),
    hashed("class_sets_classes_idx", "classes"),
)

stays: Final = Table(
    "stays",
    metadata,
    Column("stay", BigInteger, primary_key=True, autoincrement=False),
    *required(BigInteger, "name", "entered", "time", "expired_at", "message"),
    # The text of its name, at hand for the views: joins of them compare texts.
    Column("iri", Text, nullable=False),
    # The statements at its end, copied for the views by store.tell_end. The properties are in
    # order, each with its objects and their numbers; "several": one has several.
    Column("class_set", Integer, nullable=False),
    Column("properties", ARRAY(BigInteger), nullable=False, server_default="{}"),
    Column("objects", ARRAY(BigInteger), nullable=False, server_default="{}"),
    Column("numbers", ARRAY(Double), nullable=False, server_default="{}"),
    Column("several", Boolean, nullable=False, server_default=text("false")),
    # Ordered, for the latest, which a BRIN index cannot find. One for each time line's views.
    Index("stays_time_idx", "time"),
    Index("stays_moment_idx", text("store.moment(time)")),
    Index("stays_name_idx", "name"),
    hashed("stays_iri_idx", "iri"),
    Index("stays_class_set_idx", "class_set"),
)

# Partitions are made when they are first needed: sensorstream.history.partitions.
statements: Final = Table(
    "statements",
    metadata,
    *required(BigInteger, "subject", "predicate", "object", "valid_from", "valid_to", "stay"),
    # The number of the message in the journal.
    Column("message", BigInteger, nullable=False),
    # The object's number, rounded: for the index.
    Column("number", Double),
    Column("inferred", Boolean, nullable=False),
    # False: no other row with false has this triple. So only rows with true must be made distinct
    # to count triples. If unknown, it is true; it is never changed later.
    Column("again", Boolean, nullable=False, server_default=text("true")),
    partial("statements_again_idx", "again", "predicate"),
    Index("statements_subject_idx", "subject", "valid_to"),
    # Without a time: so equal keys share an entry. The partition and the BRIN indexes know times.
    Index("statements_object_idx", "predicate", "object"),
    partial("statements_number_idx", "number is not null", "predicate", "number"),
    Index("statements_predicate_idx", "predicate", "valid_from"),
    brin("statements_time_idx", "valid_from", "valid_to"),
    # The times as the views of the dateTime line show them.
    brin("statements_moment_idx", text("store.moment(valid_from)"), text("store.moment(valid_to)")),
    # For the planner: only statistics of whole spans say how few statements hold at an instant.
    brin("statements_span_idx", text("store.span(valid_from, valid_to)")),
    postgresql_partition_by="RANGE (valid_to)",
)

# Terms that generated views name by number: they stay when no statement has them.
vocabulary: Final = Table(
    "vocabulary", metadata, Column("term", BigInteger, primary_key=True, autoincrement=False)
)

# Statements moved to Parquet files: sensorstream.archive.manifest.
archives: Final = Table(
    "archives",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False),
    # Statements that ended in this span.
    *required(BigInteger, "ended_from", "ended_before"),
    Column("state", Text, nullable=False),
    # For each table the number of rows in its file, and the file's SHA-256 digest.
    Column("files", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("changed_at", MOMENT, nullable=False, server_default=text("now()")),
    CheckConstraint("state in ('writing', 'archived', 'restored', 'deleted')", name="state"),
)

# The contents that were stored without journal and window. Their statements and stays have -id as
# the number of their message.
backfilled: Final = Table(
    "backfilled",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    # SHA-256.
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("stored_at", MOMENT, nullable=False, server_default=text("now()")),
)


alerts: Final = Table(
    "alerts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), nullable=False, unique=True),
    *required(Text, "rule", "kind", "severity", "text", "key"),
    Column("time", BigInteger, nullable=False),
    Column("raised_at", MOMENT, nullable=False),
    Column("message_id", Text, nullable=False),
    # The numbers of the messages that said, or caused, what the rule matched.
    Column("messages", ARRAY(BigInteger), nullable=False, server_default=text("'{}'::bigint[]")),
    # The reasons of the firing, as JSON; see store_rows.py.
    Column("evidence", Text),
    # Null: of a version before there were incidents.
    Column("incident", Text),
    Index("alerts_incident_idx", "incident", "seq"),
)

# All alerts of one rule and key from the first until it is cleared.
incidents: Final = Table(
    "incidents",
    metadata,
    # The value of its first alert.
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), nullable=False, unique=True),
    # SHA-256 of kind, rule and key: a key may be too long for an index.
    Column("identity", LargeBinary, nullable=False),
    *required(Text, "rule", "kind", "key"),
    # The values of the last alert.
    *required(Text, "severity", "text"),
    Column("state", Text, nullable=False, server_default=text("'open'")),
    *required(BigInteger, "count", "first_time", "last_time"),
    *required(MOMENT, "first_at", "last_at"),
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
    partial("incidents_identity_idx", "state <> 'cleared'::text", "identity", unique=True),
    Index("incidents_state_idx", "state", "seq"),
    partial("incidents_held_idx", "held is not null", "held"),
)

# Changes of incidents, in the order of commits; repeats are only counted.
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
    # The values at that time.
    Column("severity", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    CheckConstraint(
        "change in ('raised', 'acknowledged', 'cleared', 'commented', 'assigned', "
        "'reminded', 'escalated', 'flapping', 'settled')",
        name="change",
    ),
    Index("alert_changes_incident_idx", "incident", "seq"),
)

# Recent ends of alerts, the newest first, no more than the settings count.
flaps: Final = Table(
    "flaps",
    metadata,
    Column("identity", LargeBinary, primary_key=True),
    # The incident that ended last.
    Column("incident", Text, ForeignKey(incidents.c.id, ondelete="CASCADE"), nullable=False),
    Column("ends", ARRAY(MOMENT), nullable=False),
    # The start of flapping, and whether receivers were told.
    Column("since", MOMENT),
    Column("told", Boolean, nullable=False, server_default=text("false")),
    partial("flaps_since_idx", "since is not null", "identity"),
    Index("flaps_incident_idx", "incident"),
)

# Silences: alerts that are not reported for a while. Rule and key are patterns of LIKE; null: any.
silences: Final = Table(
    "silences",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    *optional(Text, "rule", "key", "severity"),
    *required(MOMENT, "starts_at", "ends_at"),
    *required(Text, "by", "comment"),
)


webhooks: Final = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    *required(Text, "url", "secret"),
    Column("created_at", MOMENT, nullable=False),
    Column("queries", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # An output is a receiver that the settings name; it is no webhook to any user.
    Column("output", Boolean, nullable=False, server_default=text("false")),
    Column("format", Text, nullable=False, server_default=text("'cloudevents'")),
    # The secret before this one signs, too, until then.
    Column("old_secret", Text),
    Column("old_until", MOMENT),
    # The number of the journal's entry that last put it; null: an output, or older.
    Column("change", BigInteger),
    # The first of the attempts that all failed, up to now.
    *optional(MOMENT, "failing_since", "disabled_at"),
    # Whether it also gets changes of state.
    Column("changes", Boolean, nullable=False, server_default=text("false")),
    # Small and unique: it is part of the ids of deliveries.
    Column("number", Integer, nullable=False, unique=True),
    # The last event that was delivered or failed, as deliveries tells; later events wait.
    Column("place", BigInteger, nullable=False),
    # The last event before it was disabled.
    Column("disabled_from", BigInteger),
    # The labels that form its groups of alerts; null: it gets each alert.
    Column("group_by", ARRAY(Text)),
    # Whether it only gets alerts that have escalated.
    Column("escalated", Boolean, nullable=False, server_default=text("false")),
    # Seconds until it gets a new group, and between two reports of a group.
    *optional(Double, "group_wait", "group_interval"),
    # The last change of an incident that its groups know of.
    Column("grouped", BigInteger, nullable=False, server_default=text("0")),
)

# Events for receivers, once for all of them, in the order of commits. Numbers have no gaps.
events: Final = Table(
    "events",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    # An alert, a change of an incident, a report of a continuous query, or a report of a group of
    # alerts to one receiver; the last two are stored only here.
    Column("alert_id", Text, ForeignKey(alerts.c.id)),
    Column("change", BigInteger, ForeignKey(alert_changes.c.seq)),
    # Which change it is; null: of a version before 0030.
    Column("said", Text),
    # Whether it is about an incident that has escalated.
    Column("escalated", Boolean, nullable=False, server_default=text("false")),
    *optional(Text, "report_id", "report_query", "report_data", "receiver", "group_data"),
    Column("raised_at", MOMENT, nullable=False),
    # Equal to raised_at, unless the clock was set back since.
    Column("due_at", MOMENT, nullable=False),
    CheckConstraint(
        "num_nonnulls(alert_id, change, report_id, group_data) = 1 and "
        "num_nonnulls(report_id, report_query, report_data) in (0, 3) and "
        "num_nonnulls(receiver, group_data) in (0, 2)",
        name="kind",
    ),
    partial("events_change_idx", "change is not null", "change"),
    partial("events_alert_idx", "alert_id is not null", "alert_id"),
)

# The last event's number. To add events, or to put a receiver after them, lock this row first: so
# numbers are committed in their order, and no receiver's place passes an uncommitted one.
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

# The incidents of a group, until their end was reported.
alert_group_members: Final = Table(
    "alert_group_members",
    metadata,
    Column("incident", Text, ForeignKey(incidents.c.id, ondelete="CASCADE"), primary_key=True),
    Column(
        "group_id", BigInteger, ForeignKey(alert_groups.c.id, ondelete="CASCADE"), primary_key=True
    ),
    # The receiver's knowledge of it: nothing, all, or not the last change.
    Column("state", Text, nullable=False, server_default=text("'new'")),
    CheckConstraint("state in ('new', 'told', 'changed')", name="state"),
    Index("alert_group_members_group_idx", "group_id"),
)

# Only of events at or before the receiver's place. The view store.outbox has all: those too that
# wait for their first attempt beyond it, and those that are dead because it was disabled.
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
    # The last attempt: time and length, the status of HTTP, the start of the answer's body.
    Column("attempted_at", MOMENT),
    Column("seconds", Double),
    Column("answered", Integer),
    Column("answer", Text),
    CheckConstraint("status in ('pending', 'delivered', 'dead')", name="status"),
    Index("deliveries_event_idx", "event"),
    Index("deliveries_state_idx", "webhook_id", "status", "id"),
    partial("deliveries_attempted_idx", "attempted_at is not null", "webhook_id", "attempted_at"),
    partial(
        "deliveries_due_idx", "status = 'pending'::text", "webhook_id", "next_attempt_at", "event"
    ),
)


def is_for(event: str, receiver: str) -> str:
    """The condition of SQL that a receiver gets an event."""
    return f"""case
      when {event}.receiver is not null then {event}.receiver = {receiver}.id
      when {event}.report_query is not null then {event}.report_query = any({receiver}.queries)
      when {receiver}.group_by is not null then false
      when {receiver}.escalated then {event}.escalated
        and ({receiver}.changes or {event}.said in ('escalated', 'cleared'))
      else {event}.change is null or {receiver}.changes
        or {event}.said in ('flapping', 'settled')
    end"""


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
    *optional(MOMENT, "expires_at", "revoked_at", "used_at"),
)

audit: Final = Table(
    "audit",
    metadata,
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("at", MOMENT, nullable=False),
    # The kind of "who": anonymous, key, token or command.
    *required(Text, "kind", "who", "address", "method", "path"),
    Column("status", Integer, nullable=False),
    Index("audit_at_idx", "at"),
)
