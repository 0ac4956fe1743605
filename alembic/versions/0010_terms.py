"""A dictionary of terms, stays, and statements in partitions of time

Revision: 0010
After: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None

# Partitions of what was there before: whole days (of the integer line: 65,536) with at least so
# many statements in all.
UNIT = {'integer': 65536, 'datetime': 86400000000}
ENOUGH = 5000000

XSD = 'http://www.w3.org/2001/XMLSchema#'
BRIN = {'postgresql_using': 'brin', 'postgresql_with': {'pages_per_range': 32}}

# Exact (a double would lose microseconds from the year 2255 on), and immutable, for indexes; null
# outside of the years 1 to 9999.
MOMENT = """
    create function store.moment(instant bigint) returns timestamptz
    language sql immutable parallel safe return
        case when instant between -62135596800000000 and 253402300799999999 then
            (timestamp '1970-01-01' + (instant / 86400000000) * interval '24 hours'
                + (instant % 86400000000) * interval '1 microsecond') at time zone 'UTC'
        end
"""
# A number that did not fit a double had no "number" before, but has an exact value.
UNBOUNDED = f"""
    case
        when length(s.object) > 4300 or s.object !~ '^[ \\t\\n\\r]*[+-]?[0-9]+[ \\t\\n\\r]*$' then false
        when s.datatype in ('{XSD}integer', '{XSD}decimal') then true
        when s.datatype in ('{XSD}nonNegativeInteger', '{XSD}positiveInteger')
            then s.object !~ '^[ \\t\\n\\r]*-'
        when s.datatype in ('{XSD}nonPositiveInteger', '{XSD}negativeInteger')
            then s.object ~ '^[ \\t\\n\\r]*-'
        else false
    end
"""
NUMBER = f"""
    case
        when s.number is not null and s.datatype in ('{XSD}double', '{XSD}float')
            then s.number::text::numeric
        when s.number is not null or {UNBOUNDED}
            then btrim(s.object, E' \\t\\n\\r\\f\\v')::numeric
    end
"""


def upgrade() -> None:
    create()
    connection = op.get_bind()
    move_terms(connection)
    op.execute('create index terms_text_idx on store.terms using hash (text)')
    op.execute('analyze store.terms')
    move_stays(connection)
    move_statements(connection)
    op.drop_table('statements_before', schema='store')
    op.drop_table('individuals', schema='store')
    op.create_index('statements_subject_idx', 'statements', ['subject', 'valid_to'], schema='store')
    op.create_index(
        'statements_object_idx', 'statements', ['predicate', 'object'], schema='store'
    )
    op.create_index(
        'statements_number_idx',
        'statements',
        ['predicate', 'number'],
        schema='store',
        postgresql_where=sa.text('number is not null'),
    )
    op.create_index(
        'statements_predicate_idx', 'statements', ['predicate', 'valid_from'], schema='store'
    )
    op.create_index(
        'statements_time_idx',
        'statements',
        ['valid_from', 'valid_to'],
        schema='store',
        **BRIN,
    )
    op.create_index(
        'statements_moment_idx',
        'statements',
        [sa.text('store.moment(valid_from)'), sa.text('store.moment(valid_to)')],
        schema='store',
        **BRIN,
    )
    op.create_index('stays_time_idx', 'stays', ['time'], schema='store', **BRIN)
    op.create_index(
        'stays_moment_idx',
        'stays',
        [sa.text('store.moment(time)')],
        schema='store',
        **BRIN,
    )
    op.create_index('stays_name_idx', 'stays', ['name'], schema='store')


def create() -> None:
    op.execute(MOMENT)
    op.rename_table('statements', 'statements_before', schema='store')
    op.create_table(
        'terms',
        sa.Column('id', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('moment', sa.DateTime(timezone=True), nullable=True),
        sa.Column('kind', sa.SmallInteger(), nullable=False),
        sa.Column('number', sa.Numeric(), nullable=True),
        sa.Column('text', sa.Text(), nullable=False),
        sa.Column('datatype', sa.Text(), nullable=True),
        sa.Column('language', sa.Text(), nullable=True),
        sa.CheckConstraint('kind in (0, 1, 2)', name=op.f('terms_kind_check')),
        sa.PrimaryKeyConstraint('id', name=op.f('terms_pkey')),
        schema='store',
    )
    op.create_table(
        'stays',
        sa.Column('stay', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('name', sa.BigInteger(), nullable=False),
        sa.Column('entered', sa.BigInteger(), nullable=False),
        sa.Column('time', sa.BigInteger(), nullable=False),
        sa.Column('expired_at', sa.BigInteger(), nullable=False),
        sa.Column('message', sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint('stay', name=op.f('stays_pkey')),
        schema='store',
    )
    op.create_table(
        'statements',
        sa.Column('subject', sa.BigInteger(), nullable=False),
        sa.Column('predicate', sa.BigInteger(), nullable=False),
        sa.Column('object', sa.BigInteger(), nullable=False),
        sa.Column('valid_from', sa.BigInteger(), nullable=False),
        sa.Column('valid_to', sa.BigInteger(), nullable=False),
        sa.Column('stay', sa.BigInteger(), nullable=False),
        sa.Column('message', sa.BigInteger(), nullable=False),
        sa.Column('number', sa.Double(), nullable=True),
        sa.Column('inferred', sa.Boolean(), nullable=False),
        schema='store',
        postgresql_partition_by='RANGE (valid_to)',
    )
    op.create_table(
        'vocabulary',
        sa.Column('term', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint('term', name=op.f('vocabulary_pkey')),
        schema='store',
    )
    op.create_table(
        'ontologies',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('seq', sa.BigInteger(), nullable=False),
        sa.Column('valid_from', sa.BigInteger(), nullable=True),
        sa.Column('digest', sa.Text(), nullable=False),
        sa.Column('content', sa.LargeBinary(), nullable=False),
        sa.Column('media_type', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('ontologies_pkey')),
        sa.UniqueConstraint('seq', name=op.f('ontologies_seq_key')),
        schema='store',
    )
    for name in ('last_term', 'removals'):
        op.add_column(
            'progress',
            sa.Column(name, sa.BigInteger(), server_default=sa.text('0'), nullable=False),
            schema='store',
        )


def move_terms(connection: sa.Connection) -> None:
    connection.exec_driver_sql(
        f"""
        insert into store.terms (id, number, moment, kind, text, datatype, language)
        select row_number() over (), number, moment, kind, text, datatype, language from (
            select kind, text, datatype, language, max(number) as number, max(moment) as moment
            from (
                select {kind_of('name')} as kind, {text_of('name')} as text,
                    null as datatype, null as language,
                    null::numeric as number, null::timestamptz as moment
                from store.individuals
                union all
                select {kind_of('subject')}, {text_of('subject')}, null, null, null, null
                from (select distinct subject from store.statements_before) s
                union all
                select 0, predicate, null, null, null, null
                from (select distinct predicate from store.statements_before) s
                union all
                select case s.kind when 'iri' then 0 when 'blank' then 1 else 2 end,
                    case s.kind when 'blank' then substr(s.object, 3) else s.object end,
                    s.datatype, s.language, {NUMBER}, s.moment
                from store.statements_before s
            ) each group by kind, text, datatype, language
        ) terms
        """
    )
    connection.exec_driver_sql(
        'update store.progress set last_term = (select coalesce(max(id), 0) from store.terms)'
    )


def move_stays(connection: sa.Connection) -> None:
    connection.exec_driver_sql(
        f"""
        insert into store.stays (stay, name, entered, time, expired_at, message)
        select i.stay, n.id, i.entered, i.time, i.expired_at, {seq_of('i.message_id')}
        from store.individuals i
        join store.terms n on n.text = {text_of('i.name')} and n.kind = {kind_of('i.name')}
        """
    )


def move_statements(connection: sa.Connection) -> None:
    timeline = connection.exec_driver_sql('select timeline from store.progress').scalar()
    if timeline is None:
        return
    unit = UNIT[timeline]
    # Whole-number division rounds towards zero; the time line goes on below it.
    days = connection.exec_driver_sql(
        f"""
        select floor(valid_to::numeric / {unit})::bigint as day, count(*)
        from store.statements_before group by 1 order by 1
        """
    ).all()
    for low, high in ranges(days, unit):
        name = f'statements_{low}_{high}'.replace('-', 'm')
        connection.exec_driver_sql(
            f'create table store.{name} partition of store.statements '
            f'for values from ({bound(low, "minvalue")}) to ({bound(high, "maxvalue")})'
        )
    connection.exec_driver_sql(
        f"""
        insert into store.statements
            (subject, predicate, object, valid_from, valid_to, stay, message, number, inferred)
        select u.id, p.id, o.id, s.valid_from, s.valid_to, s.stay, {seq_of('s.message_id')},
            coalesce(s.number, case
                when o.number > 0 then 'Infinity'::float8
                when o.number < 0 then '-Infinity'::float8
            end), s.inferred
        from store.statements_before s
        join store.terms u on u.text = {text_of('s.subject')} and u.kind = {kind_of('s.subject')}
        join store.terms p on p.text = s.predicate and p.kind = 0
        join store.terms o
            on o.text = case s.kind when 'blank' then substr(s.object, 3) else s.object end
            and o.kind = case s.kind when 'iri' then 0 when 'blank' then 1 else 2 end
            and coalesce(o.datatype, '') = coalesce(s.datatype, '')
            and coalesce(o.language, '') = coalesce(s.language, '')
        """
    )


def ranges(days: list[tuple[int, int]], unit: int) -> list[tuple[int, int]]:
    """Consecutive ranges of whole days that hold all rows."""
    found = []
    start, rows = None, 0
    for day, count in days:
        start = day if start is None else start
        rows += count
        if rows >= ENOUGH:
            found.append((start * unit, (day + 1) * unit))
            start, rows = None, 0
    if start is not None:
        found.append((start * unit, (days[-1][0] + 1) * unit))
    return found


def bound(value: int, beyond: str) -> str:
    return str(value) if -(2**63) <= value < 2**63 else beyond


def kind_of(name: str) -> str:
    return f"case when starts_with({name}, '_:') then 1 else 0 end"


def text_of(name: str) -> str:
    return f"case when starts_with({name}, '_:') then substr({name}, 3) else {name} end"


def seq_of(message: str) -> str:
    return f"substr({message}, 2)::bigint"


def downgrade() -> None:
    op.create_table(
        'individuals',
        sa.Column('stay', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('name', sa.Text(), nullable=False),
        sa.Column('entered', sa.BigInteger(), nullable=False),
        sa.Column('time', sa.BigInteger(), nullable=False),
        sa.Column('expired_at', sa.BigInteger(), nullable=False),
        sa.Column('message_id', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('stay', name=op.f('individuals_pkey')),
        schema='store',
    )
    op.create_table(
        'statements_before',
        sa.Column('stay', sa.BigInteger(), nullable=False),
        sa.Column('subject', sa.Text(), nullable=False),
        sa.Column('predicate', sa.Text(), nullable=False),
        sa.Column('object', sa.Text(), nullable=False),
        sa.Column('kind', sa.Text(), nullable=False),
        sa.Column('datatype', sa.Text(), nullable=True),
        sa.Column('language', sa.Text(), nullable=True),
        sa.Column('number', sa.Double(), nullable=True),
        sa.Column('moment', sa.DateTime(timezone=True), nullable=True),
        sa.Column('valid_from', sa.BigInteger(), nullable=False),
        sa.Column('valid_to', sa.BigInteger(), nullable=False),
        sa.Column('message_id', sa.Text(), nullable=False),
        sa.Column('inferred', sa.Boolean(), nullable=False),
        sa.Column('superseded', sa.Boolean(), nullable=False),
        sa.CheckConstraint("kind in ('iri', 'blank', 'literal')", name=op.f('statements_kind_check')),
        schema='store',
    )
    op.execute(
        f"""
        insert into store.individuals (stay, name, entered, time, expired_at, message_id)
        select s.stay, {written('n')}, s.entered, s.time, s.expired_at, 'm' || s.message
        from store.stays s join store.terms n on n.id = s.name
        """
    )
    op.execute(
        f"""
        insert into store.statements_before
        select s.stay, {written('u')}, p.text, {written('o')},
            case o.kind when 0 then 'iri' when 1 then 'blank' else 'literal' end,
            o.datatype, o.language, s.number, o.moment, s.valid_from, s.valid_to,
            'm' || s.message, s.inferred, i.stay is null
        from store.statements s
        join store.terms u on u.id = s.subject
        join store.terms p on p.id = s.predicate
        join store.terms o on o.id = s.object
        left join store.stays i on i.stay = s.stay and i.expired_at = s.valid_to
        """
    )
    for name in ('statements', 'stays', 'terms', 'vocabulary', 'ontologies'):
        op.drop_table(name, schema='store')
    op.execute('drop function store.moment')
    op.rename_table('statements_before', 'statements', schema='store')
    op.create_index('statements_stay_idx', 'statements', ['stay'], schema='store')
    op.create_index('individuals_time_idx', 'individuals', ['time'], schema='store')
    op.create_index(
        'individuals_name_idx', 'individuals', ['name'], schema='store', postgresql_using='spgist'
    )
    for name in ('last_term', 'removals'):
        op.drop_column('progress', name, schema='store')


def written(term: str) -> str:
    return f"case when {term}.kind = 1 then '_:' || {term}.text else {term}.text end"
