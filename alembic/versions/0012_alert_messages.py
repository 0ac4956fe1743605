"""The messages behind an alert

Revision: 0012
After: 0011
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0012'
down_revision = '0011'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        'alerts',
        sa.Column(
            'messages',
            postgresql.ARRAY(sa.BigInteger()),
            server_default=sa.text("'{}'::bigint[]"),
            nullable=False,
        ),
        schema='store',
    )


def downgrade() -> None:
    op.drop_column('alerts', 'messages', schema='store')
