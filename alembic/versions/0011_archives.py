"""The manifest of the archive, and what was filled into history

Revision: 0011
After: 0010
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'archives',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('ended_from', sa.BigInteger(), nullable=False),
        sa.Column('ended_before', sa.BigInteger(), nullable=False),
        sa.Column('state', sa.Text(), nullable=False),
        sa.Column(
            'files',
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column('bytes', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column(
            'changed_at',
            sa.DateTime(timezone=True),
            server_default=sa.text('now()'),
            nullable=False,
        ),
        sa.CheckConstraint(
            "state in ('writing', 'archived', 'restored', 'deleted')",
            name=op.f('archives_state_check'),
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('archives_pkey')),
        schema='store',
    )


    op.create_table(
        'backfilled',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('digest', sa.LargeBinary(), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column(
            'stored_at',
            sa.DateTime(timezone=True),
            server_default=sa.text('now()'),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('backfilled_pkey')),
        sa.UniqueConstraint('digest', name=op.f('backfilled_digest_key')),
        schema='store',
    )


def downgrade() -> None:
    op.drop_table('backfilled', schema='store')
    op.drop_table('archives', schema='store')
