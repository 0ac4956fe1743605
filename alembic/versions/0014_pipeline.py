"""What runs the pipeline, how far it has come, and what its engines wait for

Revision: 0014
After: 0013
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        'messages_others_idx',
        'messages',
        ['seq'],
        schema='store',
        postgresql_where=sa.text("kind <> 'message'::text"),
    )
    op.create_table(
        'pipeline',
        sa.Column('single', sa.Boolean(), server_default=sa.text('true'), nullable=False),
        sa.Column('runner', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column('moved', sa.BigInteger(), nullable=True),
        sa.Column('moved_at', sa.BigInteger(), nullable=True),
        sa.Column('routed', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('covered', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('stored_at', sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint('single', name=op.f('pipeline_single_check')),
        sa.PrimaryKeyConstraint('single', name=op.f('pipeline_pkey')),
        schema='store',
    )
    # A server has written here until now: only it keeps checkpoints.
    op.execute(
        """
        insert into store.pipeline (runner)
        select case when exists (select from store.checkpoints)
            then '{"kind": "engine", "key": "", "by_count": false}'::jsonb end
        """
    )
    op.create_table(
        'engines',
        sa.Column('digest', sa.LargeBinary(), nullable=False),
        sa.Column('since', sa.BigInteger(), nullable=False),
        sa.Column('until', sa.BigInteger(), nullable=True),
        sa.Column('key', sa.Text(), nullable=False),
        sa.Column('individuals', sa.BigInteger(), nullable=False),
        sa.Column('received', sa.BigInteger(), nullable=True),
        sa.Column('moved', sa.BigInteger(), nullable=True),
        sa.Column('present', sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint('digest', 'since', name=op.f('engines_pkey')),
        schema='store',
    )
    for column in ('received', 'moved', 'present'):
        op.create_index(
            f'engines_{column}_idx',
            'engines',
            [column],
            schema='store',
            postgresql_where=sa.text(f'{column} is not null'),
        )


def downgrade() -> None:
    op.drop_table('engines', schema='store')
    op.drop_table('pipeline', schema='store')
    op.drop_index('messages_others_idx', 'messages', schema='store')
