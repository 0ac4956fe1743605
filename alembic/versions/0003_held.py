"""What the windows of engines on Spark hold

Databases made before lack it; 0001 makes it with the others.

Revision: 0003
After: 0002
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "create table if not exists store.held "
        "(digest bytea primary key, since bigint not null, content text); "
        "create index if not exists held_since_idx on store.held (since); "
        "alter table store.pipeline add column if not exists "
        "displaced integer not null default 0"
    )


def downgrade() -> None:
    # 0001 drops the table with the others.
    op.execute("truncate store.held; alter table store.pipeline drop column displaced")
