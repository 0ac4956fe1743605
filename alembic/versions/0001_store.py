"""Journal, history, alerts, outbox, access: all of schema ``store``

The tables are those of :mod:`sensorstream.history.tables` as they are. Whoever changes these after
a release lets this migration make a copy of what they were, and adds the next migration.

Revision: 0001
After:
"""

from alembic import op

from sensorstream.history.tables import is_for, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Quicker between 1970 and 2106: from there on a double of seconds is not exact to the microsecond.
FUNCTIONS = """
create function store.moment(instant bigint) returns timestamptz
    language sql immutable parallel safe return
        case when instant between 0 and 4294967295999999 then
            to_timestamp(instant / double precision '1000000')
        when instant between -62135596800000000 and 253402300799999999 then
            (timestamp '1970-01-01' + (instant / 86400000000) * interval '24 hours'
                + (instant % 86400000000) * interval '1 microsecond') at time zone 'UTC'
        end;

create function store.span(valid_from bigint, valid_to bigint) returns int8range
    language sql immutable parallel safe return
        case when valid_from <= valid_to then int8range(valid_from, valid_to) end;
"""
# All deliveries: those of events that a webhook has not passed have no row of their own yet.
OUTBOX = f"""
create view store.outbox as
  select d.id, d.event, d.webhook_id, d.status, d.attempts, d.next_attempt_at, d.last_error,
    d.attempted_at, d.seconds, d.answered, d.answer,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.group_data, e.raised_at
  from store.deliveries d join store.events e on e.seq = d.event
  union all
  select e.seq * 1048576 + w.number, e.seq, w.id,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then 'pending' else 'dead' end,
    0,
    case when e.seq <= coalesce(w.disabled_from, e.seq) then e.due_at end,
    case when e.seq > w.disabled_from then 'the webhook was disabled' end,
    null, null, null, null,
    e.alert_id, e.change, e.report_id, e.report_query, e.report_data, e.group_data, e.raised_at
  from store.webhooks w join store.events e on e.seq > w.place
    and (e.report_query is null or e.seq <= coalesce(w.disabled_from, e.seq))
    and {is_for("e", "w")}
"""
# Without it the planner takes a tenth of all triples to differ at most, and makes all distinct in a
# hash table that is written to the disk when it has grown too large; in the order of an index
# there is none. Older servers would read every partition to learn it.
TRIPLES = """
create statistics store.statements_triples (ndistinct)
    on subject, predicate, object from store.statements;

do $$ begin
    if current_setting('server_version_num')::integer >= 180000 then
        execute 'analyze only store.statements';
    end if;
end $$
"""
# What is beside a stay, from its statements; the same when class_set becomes null. Whoever writes
# has locked the row of store.progress, so that no set of classes gets two numbers. The plan is made
# once, while tables may still be small: it must use the indexes.
BESIDE = """
create function store.tell_end() returns trigger language plpgsql
    set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
    found_classes bigint[];
begin
    new.iri := (select n.text from store.terms n where n.id = new.name);
    select coalesce(array_agg(e.object order by e.predicate, e.object)
            filter (where e.is_class), '{}'),
        coalesce(array_agg(e.predicate order by e.predicate, e.object)
            filter (where not e.is_class), '{}'),
        coalesce(array_agg(e.object order by e.predicate, e.object)
            filter (where not e.is_class), '{}'),
        coalesce(array_agg(e.number order by e.predicate, e.object)
            filter (where not e.is_class), '{}'),
        coalesce(bool_or(e.again and not e.is_class), false)
        into found_classes, new.properties, new.objects, new.numbers, new.several
        from (
            select t.predicate, t.object, t.number,
                t.predicate is not distinct from (
                    select y.id from store.terms y where y.kind = 0
                    and y.text = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type'
                ) as is_class,
                lag(t.predicate) over (order by t.predicate, t.object)
                    is not distinct from t.predicate as again
            from store.statements t
            where t.subject = new.name and t.valid_to = new.expired_at and t.stay = new.stay
            group by t.predicate, t.object, t.number
        ) e;
    new.class_set := (select s.id from store.class_sets s where s.classes = found_classes limit 1);
    if new.class_set is null then
        insert into store.class_sets (classes) values (found_classes)
            returning id into new.class_set;
    end if;
    return case when tg_op = 'INSERT' or new is distinct from old then new end;
end
$$;
create trigger stays_end before insert or update of class_set on store.stays
    for each row when (new.class_set is null) execute function store.tell_end()
"""
ROWS = """
insert into store.pipeline default values;
insert into store.class_sets (classes) values ('{}');
insert into store.event_head (last) values (0)
"""


def upgrade() -> None:
    op.execute(FUNCTIONS)
    metadata.create_all(op.get_bind(), checkfirst=False)
    for each in (OUTBOX, TRIPLES, BESIDE, ROWS):
        op.execute(each)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    metadata.drop_all(op.get_bind(), checkfirst=True)
    op.execute("drop function store.moment, store.span, store.tell_end")
