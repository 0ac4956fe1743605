"""Entries of the journal that are passed over

Revision: 0017
After: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint(op.f("messages_status_check"), "messages", schema="store")
    op.create_check_constraint(
        op.f("messages_status_check"),
        "messages",
        "status in ('accepted', 'partial', 'unmatched', 'rejected', 'held', 'late', 'skipped')",
        schema="store",
    )
    op.drop_index("messages_quarantine_idx", table_name="messages", schema="store")
    op.create_index(
        "messages_quarantine_idx",
        "messages",
        ["seq"],
        schema="store",
        postgresql_where=sa.text(
            "status = ANY (ARRAY['unmatched'::text, 'partial'::text, 'rejected'::text, 'skipped'::text])"
        ),
    )


def downgrade() -> None:
    op.execute("update store.messages set status = 'rejected' where status = 'skipped'")
    op.drop_index("messages_quarantine_idx", table_name="messages", schema="store")
    op.create_index(
        "messages_quarantine_idx",
        "messages",
        ["seq"],
        schema="store",
        postgresql_where=sa.text(
            "status = ANY (ARRAY['unmatched'::text, 'partial'::text, 'rejected'::text])"
        ),
    )
    op.drop_constraint(op.f("messages_status_check"), "messages", schema="store")
    op.create_check_constraint(
        op.f("messages_status_check"),
        "messages",
        "status in ('accepted', 'partial', 'unmatched', 'rejected', 'held', 'late')",
        schema="store",
    )
