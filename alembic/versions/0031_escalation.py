"""Webhooks that are told of alerts alone that nobody has acknowledged for too long

Revision: 0031
After: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
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
      when w.escalated
        then e.escalated and (w.changes or e.said in ('escalated', 'cleared'))
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
      else e.change is null or w.changes or e.said in ('flapping', 'settled')
    end
"""


def upgrade() -> None:
    op.execute("drop view store.outbox")
    for table in ("webhooks", "events"):
        op.add_column(
            table,
            sa.Column("escalated", sa.Boolean(), server_default=sa.text("false"), nullable=False),
            schema="store",
        )
    op.execute(OUTBOX)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    op.drop_column("events", "escalated", schema="store")
    op.drop_column("webhooks", "escalated", schema="store")
    op.execute(BEFORE)
