"""Messages of inputs, recognised when they are delivered again

Revision: 0008
After: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('messages', sa.Column('origin', sa.Text()), schema='store')
    op.create_index(
        'messages_origin_idx', 'messages', ['origin'], schema='store',
        postgresql_where=sa.text('origin is not null'),
    )


def downgrade() -> None:
    op.drop_index('messages_origin_idx', 'messages', schema='store')
    op.drop_column('messages', 'origin', schema='store')
