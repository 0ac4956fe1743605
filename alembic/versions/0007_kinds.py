"""Kinds of journal entries are known to the program alone

Revision: 0007
After: 0006
"""

from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None

KINDS = "kind in ('message', 'tick', 'ontology', 'reasoner', 'audit', 'query', 'query-end')"


def upgrade() -> None:
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')


def downgrade() -> None:
    op.execute(f"delete from store.messages where not ({KINDS})")
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', KINDS, schema='store')
