"""Alerts that flap are told once, and what silences held back when they end

Revision: 0030
After: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0027"
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
      else e.change is null or w.changes or e.said in ('flapping', 'settled')
    end
"""
BEFORE = """
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
CHANGES = (
    "change in ('raised', 'acknowledged', 'cleared', 'commented', 'assigned', "
    "'reminded', 'escalated', 'flapping'"
)


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.execute("drop view store.outbox")
    op.add_column("incidents", sa.Column("held", sa.Text(), nullable=True), schema="store")
    op.create_index(
        "incidents_held_idx",
        "incidents",
        ["held"],
        schema="store",
        postgresql_where=sa.text("held is not null"),
    )
    _check(CHANGES + ", 'settled')")
    op.add_column("events", sa.Column("said", sa.Text(), nullable=True), schema="store")
    op.add_column(
        "event_head",
        sa.Column("flap_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        schema="store",
    )
    op.add_column(
        "event_head",
        sa.Column(
            "flap_span",
            sa.Interval(),
            server_default=sa.text("'00:00:00'::interval"),
            nullable=False,
        ),
        schema="store",
    )
    op.create_table(
        "flaps",
        sa.Column("identity", sa.LargeBinary(), nullable=False),
        sa.Column("incident", sa.Text(), nullable=False),
        sa.Column("ends", sa.ARRAY(moment), nullable=False),
        sa.Column("since", moment, nullable=True),
        sa.Column("told", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident"],
            ["store.incidents.id"],
            name=op.f("flaps_incident_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("identity", name=op.f("flaps_pkey")),
        schema="store",
    )
    op.create_index(
        "flaps_since_idx",
        "flaps",
        ["identity"],
        schema="store",
        postgresql_where=sa.text("since is not null"),
    )
    op.create_index("flaps_incident_idx", "flaps", ["incident"], schema="store")
    op.execute(OUTBOX)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    op.drop_table("flaps", schema="store")
    op.drop_column("event_head", "flap_span", schema="store")
    op.drop_column("event_head", "flap_count", schema="store")
    op.drop_column("events", "said", schema="store")
    settled = "(select seq from store.alert_changes where change = 'settled')"
    op.execute(
        "delete from store.deliveries d using store.events e "
        f"where e.seq = d.event and e.change in {settled}"
    )
    op.execute(f"delete from store.events where change in {settled}")
    op.execute("delete from store.alert_changes where change = 'settled'")
    _check(CHANGES + ")")
    op.drop_index("incidents_held_idx", "incidents", schema="store")
    op.drop_column("incidents", "held", schema="store")
    op.execute(BEFORE)


def _check(condition: str) -> None:
    op.drop_constraint("alert_changes_change_check", "alert_changes", schema="store")
    op.create_check_constraint(
        op.f("alert_changes_change_check"), "alert_changes", condition, schema="store"
    )
