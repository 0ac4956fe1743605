"""Webhooks may be told of groups of alerts

Revision: 0027
After: 0026
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

OUTBOX = """
create view store.outbox as
  select d.id, d.event, d.webhook_id, d.status, d.attempts, d.next_attempt_at, d.last_error,
    d.attempted_at, d.seconds, d.answered, d.answer,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.group_data, e.raised_at
  from store.deliveries d join store.events e on e.seq = d.event
  union all
  select e.seq * 1048576 + w.number, e.seq, w.id,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then 'pending' else 'dead' end,
    0,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then e.due_at end,
    case when e.seq > w.disabled_from then 'the webhook was disabled' end,
    null, null, null, null,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.group_data, e.raised_at
  from store.webhooks w join store.events e on e.seq > w.place
    and case
      when e.receiver is not null then e.receiver = w.id
      when e.report_query is not null
        then e.report_query = any(w.queries) and e.seq <= coalesce(w.disabled_from, e.seq)
      when w.group_by is not null then false
      else e.change is null or w.changes
    end
"""
BEFORE = """
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


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.execute("drop view store.outbox")
    op.add_column(
        "webhooks", sa.Column("group_by", sa.ARRAY(sa.Text()), nullable=True), schema="store"
    )
    for name in ("group_wait", "group_interval"):
        op.add_column("webhooks", sa.Column(name, sa.Double(), nullable=True), schema="store")
    op.add_column(
        "webhooks",
        sa.Column("grouped", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        schema="store",
    )
    for name in ("receiver", "group_data"):
        op.add_column("events", sa.Column(name, sa.Text(), nullable=True), schema="store")
    op.drop_constraint("events_kind_check", "events", schema="store")
    op.create_check_constraint(
        op.f("events_kind_check"),
        "events",
        "num_nonnulls(alert_id, change, report_id, group_data) = 1 and "
        "num_nonnulls(report_id, report_query, report_data) in (0, 3) and "
        "num_nonnulls(receiver, group_data) in (0, 2)",
        schema="store",
    )
    op.create_table(
        "alert_groups",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("labels", JSONB(), nullable=False),
        sa.Column("made_at", moment, nullable=False),
        sa.Column("told_at", moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["store.webhooks.id"],
            name=op.f("alert_groups_webhook_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("alert_groups_pkey")),
        sa.UniqueConstraint("webhook_id", "digest", name=op.f("alert_groups_webhook_id_key")),
        schema="store",
    )
    op.create_table(
        "alert_group_members",
        sa.Column("incident", sa.Text(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'new'"), nullable=False),
        sa.CheckConstraint(
            "state in ('new', 'told', 'changed')", name=op.f("alert_group_members_state_check")
        ),
        sa.ForeignKeyConstraint(
            ["incident"],
            ["store.incidents.id"],
            name=op.f("alert_group_members_incident_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["store.alert_groups.id"],
            name=op.f("alert_group_members_group_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident", "group_id", name=op.f("alert_group_members_pkey")),
        schema="store",
    )
    op.create_index(
        "alert_group_members_group_idx", "alert_group_members", ["group_id"], schema="store"
    )
    op.execute(OUTBOX)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    op.execute(
        "delete from store.deliveries d using store.events e "
        "where e.seq = d.event and e.receiver is not null"
    )
    op.execute("delete from store.events where receiver is not null")
    op.drop_constraint("events_kind_check", "events", schema="store")
    op.drop_column("events", "group_data", schema="store")
    op.drop_column("events", "receiver", schema="store")
    op.create_check_constraint(
        op.f("events_kind_check"),
        "events",
        "num_nonnulls(alert_id, change, report_id) = 1 and "
        "num_nonnulls(report_id, report_query, report_data) in (0, 3)",
        schema="store",
    )
    op.drop_table("alert_group_members", schema="store")
    op.drop_table("alert_groups", schema="store")
    for column in ("group_by", "group_wait", "group_interval", "grouped"):
        op.drop_column("webhooks", column, schema="store")
    op.execute(BEFORE)
