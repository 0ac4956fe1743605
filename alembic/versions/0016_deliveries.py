"""Webhooks that are disabled, change their secret or their format; the log of deliveries

Revision: 0016
After: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = '0016'
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    for column in (
        sa.Column('format', sa.Text(), server_default=sa.text("'cloudevents'"), nullable=False),
        sa.Column('old_secret', sa.Text(), nullable=True),
        sa.Column('old_until', moment, nullable=True),
        sa.Column('failing_since', moment, nullable=True),
        sa.Column('disabled_at', moment, nullable=True),
    ):
        op.add_column('webhooks', column, schema='store')
    for column in (
        sa.Column('attempted_at', moment, nullable=True),
        sa.Column('seconds', sa.Double(), nullable=True),
        sa.Column('answered', sa.Integer(), nullable=True),
        sa.Column('answer', sa.Text(), nullable=True),
    ):
        op.add_column('deliveries', column, schema='store')
    op.drop_index('deliveries_webhook_id_idx', 'deliveries', schema='store')
    op.create_index(
        'deliveries_state_idx', 'deliveries', ['webhook_id', 'status', 'id'], schema='store'
    )
    op.create_index(
        'deliveries_attempted_idx',
        'deliveries',
        ['webhook_id', 'attempted_at'],
        schema='store',
        postgresql_where=sa.text('attempted_at is not null'),
    )
    op.drop_index('deliveries_due_idx', 'deliveries', schema='store')
    op.create_index(
        'deliveries_due_idx',
        'deliveries',
        ['webhook_id', 'next_attempt_at', 'id'],
        schema='store',
        postgresql_where=sa.text("status = 'pending'::text"),
    )


def downgrade() -> None:
    op.drop_index('deliveries_due_idx', 'deliveries', schema='store')
    op.create_index(
        'deliveries_due_idx',
        'deliveries',
        ['next_attempt_at'],
        schema='store',
        postgresql_where=sa.text("status = 'pending'::text"),
    )
    op.drop_index('deliveries_attempted_idx', 'deliveries', schema='store')
    op.drop_index('deliveries_state_idx', 'deliveries', schema='store')
    op.create_index('deliveries_webhook_id_idx', 'deliveries', ['webhook_id'], schema='store')
    for column in ('attempted_at', 'seconds', 'answered', 'answer'):
        op.drop_column('deliveries', column, schema='store')
    for column in ('format', 'old_secret', 'old_until', 'failing_since', 'disabled_at'):
        op.drop_column('webhooks', column, schema='store')
