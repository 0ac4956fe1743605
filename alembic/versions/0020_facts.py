"""What became of each message

Revision: 0020
After: 0019
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "messages",
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        schema="store",
    )
    op.create_index(
        "deliveries_alert_idx",
        "deliveries",
        ["alert_id"],
        schema="store",
        postgresql_where=sa.text("alert_id is not null"),
    )


def downgrade() -> None:
    op.drop_index("deliveries_alert_idx", table_name="deliveries", schema="store")
    op.drop_column("messages", "facts", schema="store")
