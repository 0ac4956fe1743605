"""Which change has made each webhook what it is

Revision: 0023
After: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("change", sa.BigInteger()), schema="store")


def downgrade() -> None:
    op.drop_column("webhooks", "change", schema="store")
