"""The classes that individuals had when they left, as one number a stay

Revision: 0015
After: 0014
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None

TYPE = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type'
BRIN = {'postgresql_using': 'brin', 'postgresql_with': {'pages_per_range': 32}}
COLUMNS = ('stay', 'name', 'entered', 'time', 'expired_at', 'message')

# As one join: a look-up for each stay would take minutes.
CLASSES = f"""
    create temporary table classes_of_stays on commit drop as
    select stay, array_agg(distinct object order by object) as classes
    from (
        select i.stay, t.object from store.stays i join store.statements t
        on t.stay = i.stay and t.subject = i.name and t.valid_to = i.expired_at
        where t.predicate = (select id from store.terms where text = '{TYPE}' and kind = 0)
    ) told group by stay
"""


def upgrade() -> None:
    op.create_table(
        'class_sets',
        sa.Column('id', sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column('classes', postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('class_sets_pkey')),
        schema='store',
    )
    op.execute(CLASSES)
    # Some stays have no class.
    op.execute(
        "insert into store.class_sets (classes) select '{}' "
        'union select classes from classes_of_stays order by 1'
    )
    op.create_index(
        'class_sets_classes_idx',
        'class_sets',
        ['classes'],
        schema='store',
        postgresql_using='hash',
    )
    # In the order in which they ended, which the indexes of times need, and without the space that
    # an update of each row leaves behind.
    op.rename_table('stays', 'stays_before', schema='store')
    op.execute('alter index store.stays_pkey rename to stays_before_pkey')
    op.create_table(
        'stays',
        *(
            sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False)
            for name in COLUMNS
        ),
        sa.Column('class_set', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('stay', name=op.f('stays_pkey')),
        schema='store',
    )
    op.execute('analyze classes_of_stays')
    op.execute('analyze store.class_sets')
    op.execute(
        f"""
        insert into store.stays ({', '.join(COLUMNS)}, class_set)
        select {', '.join(f'i.{name}' for name in COLUMNS)}, s.id
        from store.stays_before i left join classes_of_stays c on c.stay = i.stay
        join store.class_sets s on s.classes = coalesce(c.classes, '{{}}')
        order by i.expired_at, i.stay
        """
    )
    op.drop_table('stays_before', schema='store')
    op.create_index('stays_time_idx', 'stays', ['time'], schema='store', **BRIN)
    op.create_index(
        'stays_moment_idx', 'stays', [sa.text('store.moment(time)')], schema='store', **BRIN
    )
    op.create_index('stays_name_idx', 'stays', ['name'], schema='store')
    op.create_index('stays_class_set_idx', 'stays', ['class_set'], schema='store')
    # The planner knows nothing of the new tables until then.
    op.execute('analyze store.stays')


def downgrade() -> None:
    op.drop_column('stays', 'class_set', schema='store')
    op.drop_table('class_sets', schema='store')
