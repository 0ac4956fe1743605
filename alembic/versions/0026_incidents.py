"""Alerts of one rule and key are one incident, with its changes of state; silences

Revision: 0026
After: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

OUTBOX = """
create view store.outbox as
  select d.id, d.event, d.webhook_id, d.status, d.attempts, d.next_attempt_at, d.last_error,
    d.attempted_at, d.seconds, d.answered, d.answer,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.raised_at
  from store.deliveries d join store.events e on e.seq = d.event
  union all
  select e.seq * 1048576 + w.number, e.seq, w.id,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then 'pending' else 'dead' end,
    0,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then e.due_at end,
    case when e.seq > w.disabled_from then 'the webhook was disabled' end,
    null, null, null, null,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.raised_at
  from store.webhooks w join store.events e on e.seq > w.place
    and (e.change is null or w.changes)
    and (e.report_query is null
      or e.report_query = any(w.queries) and e.seq <= coalesce(w.disabled_from, e.seq))
"""
BEFORE = """
create view store.outbox as
  select d.id, d.event, d.webhook_id, d.status, d.attempts, d.next_attempt_at, d.last_error,
    d.attempted_at, d.seconds, d.answered, d.answer,
    e.alert_id, e.report_id, e.report_query, e.report_data, e.raised_at
  from store.deliveries d join store.events e on e.seq = d.event
  union all
  select e.seq * 1048576 + w.number, e.seq, w.id,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then 'pending' else 'dead' end,
    0,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then e.due_at end,
    case when e.seq > w.disabled_from then 'the webhook was disabled' end,
    null, null, null, null,
    e.alert_id, e.report_id, e.report_query, e.report_data, e.raised_at
  from store.webhooks w join store.events e on e.seq > w.place
    and (e.report_query is null
      or e.report_query = any(w.queries) and e.seq <= coalesce(w.disabled_from, e.seq))
"""


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.execute("drop view store.outbox")
    op.add_column("alerts", sa.Column("incident", sa.Text(), nullable=True), schema="store")
    op.create_index("alerts_incident_idx", "alerts", ["incident", "seq"], schema="store")
    op.add_column(
        "webhooks",
        sa.Column("changes", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        schema="store",
    )
    op.create_table(
        "incidents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("identity", sa.LargeBinary(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("first_time", sa.BigInteger(), nullable=False),
        sa.Column("last_time", sa.BigInteger(), nullable=False),
        sa.Column("first_at", moment, nullable=False),
        sa.Column("last_at", moment, nullable=False),
        sa.Column("last_alert", sa.Text(), nullable=False),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", moment, nullable=True),
        sa.Column("assignee", sa.Text(), nullable=True),
        sa.Column("cleared_at", moment, nullable=True),
        sa.Column("escalated", sa.Text(), nullable=True),
        sa.Column("reminded_at", moment, nullable=True),
        sa.Column("reminders", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint(
            "state in ('open', 'acknowledged', 'cleared')", name=op.f("incidents_state_check")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("incidents_pkey")),
        sa.UniqueConstraint("seq", name=op.f("incidents_seq_key")),
        schema="store",
    )
    op.create_index(
        "incidents_identity_idx",
        "incidents",
        ["identity"],
        unique=True,
        schema="store",
        postgresql_where=sa.text("state <> 'cleared'::text"),
    )
    op.create_index("incidents_state_idx", "incidents", ["state", "seq"], schema="store")
    op.create_table(
        "alert_changes",
        sa.Column("seq", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("incident", sa.Text(), nullable=False),
        sa.Column("change", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("by", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("text", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "change in ('raised', 'acknowledged', 'cleared', 'commented', 'assigned', "
            "'reminded', 'escalated', 'flapping')",
            name=op.f("alert_changes_change_check"),
        ),
        sa.ForeignKeyConstraint(
            ["incident"],
            ["store.incidents.id"],
            name=op.f("alert_changes_incident_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("alert_changes_pkey")),
        schema="store",
    )
    op.create_index(
        "alert_changes_incident_idx", "alert_changes", ["incident", "seq"], schema="store"
    )
    op.create_table(
        "silences",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("severity", sa.Text(), nullable=True),
        sa.Column("starts_at", moment, nullable=False),
        sa.Column("ends_at", moment, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("silences_pkey")),
        schema="store",
    )
    op.add_column("events", sa.Column("change", sa.BigInteger(), nullable=True), schema="store")
    op.create_foreign_key(
        op.f("events_change_fkey"),
        "events",
        "alert_changes",
        ["change"],
        ["seq"],
        source_schema="store",
        referent_schema="store",
    )
    op.create_index(
        "events_change_idx",
        "events",
        ["change"],
        schema="store",
        postgresql_where=sa.text("change is not null"),
    )
    op.drop_constraint("events_kind_check", "events", schema="store")
    op.create_check_constraint(
        op.f("events_kind_check"),
        "events",
        "num_nonnulls(alert_id, change, report_id) = 1 and "
        "num_nonnulls(report_id, report_query, report_data) in (0, 3)",
        schema="store",
    )
    op.execute(OUTBOX)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    op.execute(
        "delete from store.deliveries d using store.events e "
        "where e.seq = d.event and e.change is not null"
    )
    op.execute("delete from store.events where change is not null")
    op.drop_constraint("events_kind_check", "events", schema="store")
    op.drop_column("events", "change", schema="store")
    op.create_check_constraint(
        op.f("events_kind_check"),
        "events",
        "num_nonnulls(report_id, report_query, report_data) "
        "= case when alert_id is null then 3 else 0 end",
        schema="store",
    )
    for table in ("silences", "alert_changes", "incidents"):
        op.drop_table(table, schema="store")
    op.drop_column("webhooks", "changes", schema="store")
    op.drop_index("alerts_incident_idx", "alerts", schema="store")
    op.drop_column("alerts", "incident", schema="store")
    op.execute(BEFORE)
