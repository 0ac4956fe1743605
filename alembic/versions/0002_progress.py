"""The figures of the last batch of a pipeline on Spark

Databases made before them lack the column; 0001 makes it with the others.

Revision: 0002
After: 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("alter table store.pipeline add column if not exists progress jsonb")


def downgrade() -> None:
    op.execute("alter table store.pipeline drop column progress")
