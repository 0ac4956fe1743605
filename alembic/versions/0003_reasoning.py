"""Contradictions explained, and changes of ontology and reasoner in the journal

Revision: 0003
After: 0002
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('messages', sa.Column('contradiction', postgresql.JSONB(), nullable=True), schema='store')
    op.add_column('messages', sa.Column('degraded', sa.Boolean(), server_default=sa.text('false'), nullable=False), schema='store')
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', "kind in ('message', 'tick', 'ontology', 'reasoner', 'audit')", schema='store')
    op.create_index('messages_ontology_idx', 'messages', ['seq'], schema='store', postgresql_where=sa.text("kind = 'ontology'::text"))


def downgrade() -> None:
    op.drop_index('messages_ontology_idx', table_name='messages', schema='store')
    op.execute("delete from store.messages where kind not in ('message', 'tick')")
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', "kind in ('message', 'tick')", schema='store')
    op.drop_column('messages', 'degraded', schema='store')
    op.drop_column('messages', 'contradiction', schema='store')
