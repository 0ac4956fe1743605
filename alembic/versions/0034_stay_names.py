"""The text of its individual's name beside each stay, for joins of the views

Revision: 0034
After: 0033
"""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "create function pg_temp.text_of(term bigint) returns text language sql stable "
        "as 'select text from store.terms where id = term'"
    )
    op.execute("alter table store.stays add column iri text")
    # Writes the table anew: an UPDATE would leave each row twice.
    op.execute(
        "alter table store.stays alter column iri type text using pg_temp.text_of(name), "
        "alter column iri set not null"
    )
    op.execute("drop function pg_temp.text_of")
    op.execute("create index stays_iri_idx on store.stays using hash (iri)")
    # The planner knows nothing of the column until then.
    op.execute("analyze store.stays")


def downgrade() -> None:
    op.drop_column("stays", "iri", schema="store")
