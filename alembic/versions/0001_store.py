"""Journal, history, alerts and outbox

Revision: 0001
After:
"""

import sqlalchemy as sa
from alembic import op

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('alerts',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('seq', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('rule', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('severity', sa.Text(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('time', sa.BigInteger(), nullable=False),
    sa.Column('raised_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('message_id', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('alerts_pkey')),
    sa.UniqueConstraint('seq', name=op.f('alerts_seq_key')),
    schema='store'
    )
    op.create_table('checkpoints',
    sa.Column('seq', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('state', sa.LargeBinary(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('seq', name=op.f('checkpoints_pkey')),
    schema='store'
    )
    op.create_table('individuals',
    sa.Column('stay', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('entered', sa.BigInteger(), nullable=False),
    sa.Column('time', sa.BigInteger(), nullable=False),
    sa.Column('expired_at', sa.BigInteger(), nullable=False),
    sa.Column('message_id', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('stay', name=op.f('individuals_pkey')),
    schema='store'
    )
    op.create_index('individuals_name_idx', 'individuals', ['name'], schema='store', postgresql_using='spgist')
    op.create_index('individuals_time_idx', 'individuals', ['time'], schema='store')
    op.create_table('messages',
    sa.Column('seq', sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('source', sa.Text(), nullable=False),
    sa.Column('received_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('received', sa.BigInteger(), nullable=False),
    sa.Column('content', sa.LargeBinary(), nullable=False),
    sa.Column('status', sa.Text(), nullable=True),
    sa.Column('reason', sa.Text(), nullable=True),
    sa.CheckConstraint("status in ('accepted', 'unmatched', 'rejected')", name=op.f('messages_status_check')),
    sa.PrimaryKeyConstraint('seq', name=op.f('messages_pkey')),
    sa.UniqueConstraint('id', name=op.f('messages_id_key')),
    schema='store'
    )
    op.create_index('messages_quarantine_idx', 'messages', ['seq'], schema='store', postgresql_where=sa.text("status = ANY (ARRAY['unmatched'::text, 'rejected'::text])"))
    op.create_table('progress',
    sa.Column('single', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.Column('watermark', sa.BigInteger(), nullable=False),
    sa.Column('timeline', sa.Text(), nullable=False),
    sa.CheckConstraint('single', name=op.f('progress_single_check')),
    sa.PrimaryKeyConstraint('single', name=op.f('progress_pkey')),
    schema='store'
    )
    op.create_table('statements',
    sa.Column('stay', sa.BigInteger(), nullable=False),
    sa.Column('subject', sa.Text(), nullable=False),
    sa.Column('predicate', sa.Text(), nullable=False),
    sa.Column('object', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('datatype', sa.Text(), nullable=True),
    sa.Column('language', sa.Text(), nullable=True),
    sa.Column('number', sa.Double(), nullable=True),
    sa.Column('moment', sa.DateTime(timezone=True), nullable=True),
    sa.Column('valid_from', sa.BigInteger(), nullable=False),
    sa.Column('valid_to', sa.BigInteger(), nullable=False),
    sa.Column('message_id', sa.Text(), nullable=False),
    sa.Column('inferred', sa.Boolean(), nullable=False),
    sa.Column('superseded', sa.Boolean(), nullable=False),
    sa.CheckConstraint("kind in ('iri', 'blank', 'literal')", name=op.f('statements_kind_check')),
    schema='store'
    )
    op.create_index('statements_stay_idx', 'statements', ['stay'], schema='store')
    op.create_table('webhooks',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('url', sa.Text(), nullable=False),
    sa.Column('secret', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('webhooks_pkey')),
    schema='store'
    )
    op.create_table('deliveries',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('webhook_id', sa.Text(), nullable=False),
    sa.Column('alert_id', sa.Text(), nullable=False),
    sa.Column('attempts', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('next_attempt_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('status', sa.Text(), server_default=sa.text("'pending'"), nullable=False),
    sa.Column('last_error', sa.Text(), nullable=True),
    sa.CheckConstraint("status in ('pending', 'delivered', 'dead')", name=op.f('deliveries_status_check')),
    sa.ForeignKeyConstraint(['alert_id'], ['store.alerts.id'], name=op.f('deliveries_alert_id_fkey')),
    sa.ForeignKeyConstraint(['webhook_id'], ['store.webhooks.id'], name=op.f('deliveries_webhook_id_fkey'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('deliveries_pkey')),
    schema='store'
    )
    op.create_index('deliveries_due_idx', 'deliveries', ['next_attempt_at'], schema='store', postgresql_where=sa.text("status = 'pending'::text"))
    op.create_index('deliveries_webhook_id_idx', 'deliveries', ['webhook_id'], schema='store')


def downgrade() -> None:
    op.drop_index('deliveries_webhook_id_idx', table_name='deliveries', schema='store')
    op.drop_index('deliveries_due_idx', table_name='deliveries', schema='store', postgresql_where=sa.text("status = 'pending'::text"))
    op.drop_table('deliveries', schema='store')
    op.drop_table('webhooks', schema='store')
    op.drop_index('statements_stay_idx', table_name='statements', schema='store')
    op.drop_table('statements', schema='store')
    op.drop_table('progress', schema='store')
    op.drop_index('messages_quarantine_idx', table_name='messages', schema='store')
    op.drop_table('messages', schema='store')
    op.drop_index('individuals_time_idx', table_name='individuals', schema='store')
    op.drop_index('individuals_name_idx', table_name='individuals', schema='store', postgresql_using='spgist')
    op.drop_table('individuals', schema='store')
    op.drop_table('checkpoints', schema='store')
    op.drop_table('alerts', schema='store')
