"""Continuous queries in the journal

Revision: 0005
After: 0004
"""

from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', "kind in ('message', 'tick', 'ontology', 'reasoner', 'audit', 'query', 'query-end')", schema='store')


def downgrade() -> None:
    op.execute("delete from store.messages where kind in ('query', 'query-end')")
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', "kind in ('message', 'tick', 'ontology', 'reasoner', 'audit')", schema='store')
