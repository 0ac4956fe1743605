"""The answers of engines on Spark to questions

Databases made before them lack the table; 0001 makes it with the others.

Revision: 0004
After: 0002
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "create table if not exists store.answers (entry bigint not null, key text not null, "
        "content bytea not null, stored_at timestamptz not null default now())"
    )
    op.execute("create index if not exists answers_entry_idx on store.answers (entry)")


def downgrade() -> None:
    op.execute("drop table store.answers")
