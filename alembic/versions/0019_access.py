"""API keys, and the audit log of changes

Revision: 0019
After: 0017
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0019'
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'keys',
        sa.Column('prefix', sa.Text(), nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('digest', sa.LargeBinary(), nullable=False),
        sa.Column('roles', postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column('sources', postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('used_at', sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('prefix', name=op.f('keys_pkey')),
        schema='store',
    )
    op.create_table(
        'audit',
        sa.Column('seq', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('kind', sa.Text(), nullable=False),
        sa.Column('who', sa.Text(), nullable=False),
        sa.Column('address', sa.Text(), nullable=False),
        sa.Column('method', sa.Text(), nullable=False),
        sa.Column('path', sa.Text(), nullable=False),
        sa.Column('status', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('seq', name=op.f('audit_pkey')),
        schema='store',
    )
    op.create_index('audit_at_idx', 'audit', ['at'], schema='store')


def downgrade() -> None:
    op.drop_table('audit', schema='store')
    op.drop_table('keys', schema='store')
