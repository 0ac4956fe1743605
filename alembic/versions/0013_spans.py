"""Statistics of when statements held, and quicker moments

Revision: 0013
After: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None

# From here on a double of seconds is not exact to the microsecond.
EXACT = 2**32 * 1000000

# As in revision 0010, but without intervals between 1970 and 2106: the same values four times as
# fast. The indexes on it stay as they are.
MOMENT = f"""
    create or replace function store.moment(instant bigint) returns timestamptz
    language sql immutable parallel safe return
        case when instant between 0 and {EXACT - 1} then
            to_timestamp(instant / double precision '1000000')
        when instant between -62135596800000000 and 253402300799999999 then
            (timestamp '1970-01-01' + (instant / 86400000000) * interval '24 hours'
                + (instant % 86400000000) * interval '1 microsecond') at time zone 'UTC'
        end
"""
MOMENT_BEFORE = """
    create or replace function store.moment(instant bigint) returns timestamptz
    language sql immutable parallel safe return
        case when instant between -62135596800000000 and 253402300799999999 then
            (timestamp '1970-01-01' + (instant / 86400000000) * interval '24 hours'
                + (instant % 86400000000) * interval '1 microsecond') at time zone 'UTC'
        end
"""
SPAN = """
    create function store.span(valid_from bigint, valid_to bigint) returns int8range
    language sql immutable parallel safe return
        case when valid_from <= valid_to then int8range(valid_from, valid_to) end
"""


def upgrade() -> None:
    op.execute(MOMENT)
    op.execute(SPAN)
    op.create_index(
        'statements_span_idx',
        'statements',
        [sa.text('store.span(valid_from, valid_to)')],
        schema='store',
        postgresql_using='brin',
        postgresql_with={'pages_per_range': 32},
    )
    # The planner knows nothing of the new index until then.
    op.execute('analyze store.statements')


def downgrade() -> None:
    op.drop_index('statements_span_idx', 'statements', schema='store')
    op.execute('drop function store.span')
    op.execute(MOMENT_BEFORE)
