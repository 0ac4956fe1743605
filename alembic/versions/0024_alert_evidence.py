"""Why the rule of an alert fired

Revision: 0024
After: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("alerts", sa.Column("evidence", sa.Text()), schema="store")


def downgrade() -> None:
    op.drop_column("alerts", "evidence", schema="store")
