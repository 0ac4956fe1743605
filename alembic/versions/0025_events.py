"""What receivers are told stands once, and each receiver has a place in it

Revision: 0025
After: 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# All deliveries: those that were attempted, or set aside, and those beyond the receiver's place.
OUTBOX = """
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
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("alert_id", sa.Text(), nullable=True),
        sa.Column("report_id", sa.Text(), nullable=True),
        sa.Column("report_query", sa.Text(), nullable=True),
        sa.Column("report_data", sa.Text(), nullable=True),
        sa.Column("raised_at", moment, nullable=False),
        sa.Column("due_at", moment, nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(report_id, report_query, report_data) "
            "= case when alert_id is null then 3 else 0 end",
            name=op.f("events_kind_check"),
        ),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["store.alerts.id"], name=op.f("events_alert_id_fkey")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("events_pkey")),
        schema="store",
    )
    op.create_index(
        "events_alert_idx",
        "events",
        ["alert_id"],
        schema="store",
        postgresql_where=sa.text("alert_id is not null"),
    )
    op.create_table(
        "event_head",
        sa.Column("single", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("single", name=op.f("event_head_single_check")),
        sa.PrimaryKeyConstraint("single", name=op.f("event_head_pkey")),
        schema="store",
    )
    op.execute("create temporary table told on commit drop as "
        "select row_number() over (order by min(id)) as seq, alert_id, report_id, report_query "
        "from store.deliveries group by alert_id, report_id, report_query")
    op.execute(
        """
        insert into store.events
        select t.seq, t.alert_id, t.report_id, t.report_query, d.report_data,
          coalesce(a.raised_at, d.reported_at), coalesce(a.raised_at, d.reported_at)
        from told t cross join lateral (
          select * from store.deliveries d where d.alert_id is not distinct from t.alert_id
            and d.report_id is not distinct from t.report_id
            and d.report_query is not distinct from t.report_query limit 1
        ) d left join store.alerts a on a.id = t.alert_id
        """
    )
    op.execute(
        "insert into store.event_head (last) select coalesce(max(seq), 0) from store.events"
    )
    for column in (
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("place", sa.BigInteger(), nullable=True),
        sa.Column("disabled_from", sa.BigInteger(), nullable=True),
    ):
        op.add_column("webhooks", column, schema="store")
    op.execute(
        """
        update store.webhooks w set number = n.number, place = h.last,
          disabled_from = case when w.disabled_at is not null then h.last end
        from (select id, row_number() over (order by created_at, id) as number
          from store.webhooks) n, store.event_head h
        where n.id = w.id
        """
    )
    op.alter_column("webhooks", "number", nullable=False, schema="store")
    op.alter_column("webhooks", "place", nullable=False, schema="store")
    op.create_unique_constraint(
        op.f("webhooks_number_key"), "webhooks", ["number"], schema="store"
    )
    op.rename_table("deliveries", "deliveries_before", schema="store")
    op.execute("alter table store.deliveries_before drop constraint deliveries_pkey")
    for name in ("alert", "state", "attempted", "due"):
        op.execute(f"drop index store.deliveries_{name}_idx")
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_attempt_at", moment, nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("attempted_at", moment, nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("answered", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status in ('pending', 'delivered', 'dead')", name=op.f("deliveries_status_check_1")
        ),
        sa.ForeignKeyConstraint(
            ["event"], ["store.events.seq"], name=op.f("deliveries_event_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["store.webhooks.id"],
            name=op.f("deliveries_webhook_id_fkey_1"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("deliveries_pkey")),
        schema="store",
    )
    op.execute(
        """
        insert into store.deliveries
        select t.seq * 1048576 + w.number, t.seq, d.webhook_id, d.attempts, d.next_attempt_at,
          d.status, d.last_error, d.attempted_at, d.seconds, d.answered, d.answer
        from store.deliveries_before d join store.webhooks w on w.id = d.webhook_id
        join told t on t.alert_id is not distinct from d.alert_id
          and t.report_id is not distinct from d.report_id
          and t.report_query is not distinct from d.report_query
        """
    )
    op.drop_table("deliveries_before", schema="store")
    for name in ("status_check", "webhook_id_fkey"):
        op.execute(
            f"alter table store.deliveries rename constraint deliveries_{name}_1 "
            f"to deliveries_{name}"
        )
    op.create_index("deliveries_event_idx", "deliveries", ["event"], schema="store")
    op.create_index(
        "deliveries_state_idx", "deliveries", ["webhook_id", "status", "id"], schema="store"
    )
    op.create_index(
        "deliveries_attempted_idx",
        "deliveries",
        ["webhook_id", "attempted_at"],
        schema="store",
        postgresql_where=sa.text("attempted_at is not null"),
    )
    op.create_index(
        "deliveries_due_idx",
        "deliveries",
        ["webhook_id", "next_attempt_at", "event"],
        schema="store",
        postgresql_where=sa.text("status = 'pending'::text"),
    )
    op.execute(OUTBOX)


def downgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.execute("alter table store.deliveries rename to deliveries_after")
    op.execute("alter table store.deliveries_after drop constraint deliveries_pkey")
    for name in ("event", "state", "attempted", "due"):
        op.execute(f"drop index store.deliveries_{name}_idx")
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("alert_id", sa.Text(), nullable=True),
        sa.Column("report_id", sa.Text(), nullable=True),
        sa.Column("report_query", sa.Text(), nullable=True),
        sa.Column("report_data", sa.Text(), nullable=True),
        sa.Column("reported_at", moment, nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_attempt_at", moment, nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("attempted_at", moment, nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("answered", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("deliveries_pkey")),
        schema="store",
    )
    op.execute(
        """
        insert into store.deliveries (webhook_id, alert_id, report_id, report_query, report_data,
          reported_at, attempts, next_attempt_at, status, last_error, attempted_at, seconds,
          answered, answer)
        select webhook_id, alert_id, report_id, report_query, report_data,
          case when alert_id is null then raised_at end, attempts, next_attempt_at, status,
          last_error, attempted_at, seconds, answered, answer
        from (
          select webhook_id, event, attempts, next_attempt_at, status, last_error, attempted_at,
            seconds, answered, answer, alert_id, report_id, report_query, report_data, raised_at
          from store.outbox
        ) o order by event
        """
    )
    op.execute("drop view store.outbox")
    op.drop_table("deliveries_after", schema="store")
    op.create_check_constraint(
        op.f("deliveries_status_check"),
        "deliveries",
        "status in ('pending', 'delivered', 'dead')",
        schema="store",
    )
    op.create_check_constraint(
        op.f("deliveries_event_check"),
        "deliveries",
        "num_nonnulls(report_id, report_query, report_data, reported_at) "
        "= case when alert_id is null then 4 else 0 end",
        schema="store",
    )
    op.create_foreign_key(
        op.f("deliveries_alert_id_fkey"), "deliveries", "alerts", ["alert_id"], ["id"],
        source_schema="store", referent_schema="store",
    )
    op.create_foreign_key(
        op.f("deliveries_webhook_id_fkey"), "deliveries", "webhooks", ["webhook_id"], ["id"],
        source_schema="store", referent_schema="store", ondelete="CASCADE",
    )
    op.create_index(
        "deliveries_alert_idx",
        "deliveries",
        ["alert_id"],
        schema="store",
        postgresql_where=sa.text("alert_id is not null"),
    )
    op.create_index(
        "deliveries_state_idx", "deliveries", ["webhook_id", "status", "id"], schema="store"
    )
    op.create_index(
        "deliveries_attempted_idx",
        "deliveries",
        ["webhook_id", "attempted_at"],
        schema="store",
        postgresql_where=sa.text("attempted_at is not null"),
    )
    op.create_index(
        "deliveries_due_idx",
        "deliveries",
        ["webhook_id", "next_attempt_at", "id"],
        schema="store",
        postgresql_where=sa.text("status = 'pending'::text"),
    )
    op.drop_table("events", schema="store")
    op.drop_table("event_head", schema="store")
    for column in ("number", "place", "disabled_from"):
        op.drop_column("webhooks", column, schema="store")
