"""Receivers of alerts and reports that the settings name

Revision: 0009
After: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        'webhooks',
        sa.Column('output', sa.Boolean(), server_default=sa.text('false'), nullable=False),
        schema='store',
    )


def downgrade() -> None:
    op.execute('delete from store.webhooks where output')
    op.drop_column('webhooks', 'output', schema='store')
