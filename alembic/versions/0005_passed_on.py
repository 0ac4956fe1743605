"""The events that go on to later stages of a pipeline on Spark

Databases made before them lack the table; 0001 makes it with the others.

Revision: 0005
After: 0002
"""

from alembic import op

from sensorstream.history.tables import passed_on

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    passed_on.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    """Leave the table: 0001 drops it with the others."""
