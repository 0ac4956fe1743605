"""Messages that leave the quarantine, and are found by source, status or time

Revision: 0021
After: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_NOT_WHOLE = (
    "status = ANY (ARRAY['unmatched'::text, 'partial'::text, 'rejected'::text, 'skipped'::text])"
)


def upgrade() -> None:
    op.add_column(
        "messages",
        sa.Column("dismissed_at", sa.DateTime(timezone=True), nullable=True),
        schema="store",
    )
    _quarantine(f"dismissed_at is null and {_NOT_WHOLE}")
    op.create_index(
        "messages_source_idx",
        "messages",
        [sa.text("\"left\"(source, 200)"), "seq"],
        schema="store",
    )
    op.create_index(
        "messages_status_idx",
        "messages",
        ["status", "seq"],
        schema="store",
        postgresql_where=sa.text("status <> 'accepted'::text"),
    )
    op.create_index(
        "messages_received_idx",
        "messages",
        ["received_at"],
        schema="store",
        postgresql_using="brin",
        postgresql_with={"pages_per_range": 32},
    )


def downgrade() -> None:
    for name in ("messages_received_idx", "messages_status_idx", "messages_source_idx"):
        op.drop_index(name, table_name="messages", schema="store")
    _quarantine(_NOT_WHOLE)
    op.drop_column("messages", "dismissed_at", schema="store")


def _quarantine(condition: str) -> None:
    op.drop_index("messages_quarantine_idx", table_name="messages", schema="store")
    op.create_index(
        "messages_quarantine_idx",
        "messages",
        ["seq"],
        schema="store",
        postgresql_where=sa.text(condition),
    )
