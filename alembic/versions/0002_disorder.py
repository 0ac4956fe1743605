"""Held and late messages, and ticks in the journal

Revision: 0002
After: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('messages', sa.Column('kind', sa.Text(), server_default=sa.text("'message'"), nullable=False), schema='store')
    op.create_check_constraint(op.f('messages_kind_check'), 'messages', "kind in ('message', 'tick')", schema='store')
    op.drop_constraint(op.f('messages_status_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_status_check'), 'messages', "status in ('accepted', 'unmatched', 'rejected', 'held', 'late')", schema='store')


def downgrade() -> None:
    op.execute("delete from store.messages where kind <> 'message'")
    op.execute("update store.messages set status = 'accepted' where status in ('held', 'late')")
    op.drop_constraint(op.f('messages_status_check'), 'messages', schema='store')
    op.create_check_constraint(op.f('messages_status_check'), 'messages', "status in ('accepted', 'unmatched', 'rejected')", schema='store')
    op.drop_constraint(op.f('messages_kind_check'), 'messages', schema='store')
    op.drop_column('messages', 'kind', schema='store')
