"""The latest stays in order, and those of a span alone

Revision: 0032
After: 0031
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _index("btree")
    # The planner knows nothing of the expression until then.
    op.execute("analyze store.stays")


def downgrade() -> None:
    _index("brin", "with (pages_per_range = 32)")


def _index(kind: str, options: str = "") -> None:
    for name, key in (("stays_time_idx", "time"), ("stays_moment_idx", "store.moment(time)")):
        op.execute(f"drop index store.{name}")
        op.execute(f"create index {name} on store.stays using {kind} ({key}) {options}")
