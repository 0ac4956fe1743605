"""How many triples differ: for the planner

Revision: 0033
After: 0032
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # It takes a tenth of all to differ at most, and makes all distinct in a hash table that is
    # written to the disk when it has grown too large; in the order of an index there is none.
    op.execute(
        "create statistics store.statements_triples (ndistinct) "
        "on subject, predicate, object from store.statements"
    )
    # Older servers would read every partition for that.
    op.execute(
        "do $$ begin if current_setting('server_version_num')::integer >= 180000 then "
        "execute 'analyze only store.statements'; end if; end $$"
    )


def downgrade() -> None:
    op.execute("drop statistics store.statements_triples")
