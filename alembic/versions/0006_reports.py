"""Reports of continuous queries on their way to webhooks

Revision: 0006
After: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('webhooks', sa.Column('queries', postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False), schema='store')
    op.alter_column('deliveries', 'alert_id', nullable=True, schema='store')
    op.add_column('deliveries', sa.Column('report_id', sa.Text(), nullable=True), schema='store')
    op.add_column('deliveries', sa.Column('report_query', sa.Text(), nullable=True), schema='store')
    op.add_column('deliveries', sa.Column('report_data', sa.Text(), nullable=True), schema='store')
    op.add_column('deliveries', sa.Column('reported_at', sa.DateTime(timezone=True), nullable=True), schema='store')
    op.create_check_constraint(op.f('deliveries_event_check'), 'deliveries', "num_nonnulls(report_id, report_query, report_data, reported_at) = case when alert_id is null then 4 else 0 end", schema='store')


def downgrade() -> None:
    op.execute("delete from store.deliveries where alert_id is null")
    op.drop_constraint(op.f('deliveries_event_check'), 'deliveries', schema='store')
    op.drop_column('deliveries', 'reported_at', schema='store')
    op.drop_column('deliveries', 'report_data', schema='store')
    op.drop_column('deliveries', 'report_query', schema='store')
    op.drop_column('deliveries', 'report_id', schema='store')
    op.alter_column('deliveries', 'alert_id', nullable=False, schema='store')
    op.drop_column('webhooks', 'queries', schema='store')
