"""Journal, history, alerts, outbox, access: all of schema ``store``

Revision: 0001
After:
"""

from alembic import op

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
TABLES = """
create table store.alerts (
    id text not null,
    seq bigint generated always as identity,
    rule text not null,
    kind text not null,
    severity text not null,
    text text not null,
    key text not null,
    time bigint not null,
    raised_at timestamp with time zone not null,
    message_id text not null,
    messages bigint[] default '{}'::bigint[] not null,
    evidence text,
    incident text,
    constraint alerts_pkey primary key (id),
    constraint alerts_seq_key unique (seq)
);
create index alerts_incident_idx on store.alerts (incident, seq);

create table store.archives (
    id bigint generated always as identity,
    name text not null,
    ended_from bigint not null,
    ended_before bigint not null,
    state text not null,
    files jsonb default '{}'::jsonb not null,
    bytes bigint default 0 not null,
    changed_at timestamp with time zone default now() not null,
    constraint archives_pkey primary key (id),
    constraint archives_state_check
        check (state in ('writing', 'archived', 'restored', 'deleted'))
);

create table store.audit (
    seq bigint generated always as identity,
    at timestamp with time zone not null,
    kind text not null,
    who text not null,
    address text not null,
    method text not null,
    path text not null,
    status integer not null,
    constraint audit_pkey primary key (seq)
);
create index audit_at_idx on store.audit (at);

create table store.backfilled (
    id bigint generated always as identity,
    digest bytea not null,
    name text not null,
    stored_at timestamp with time zone default now() not null,
    constraint backfilled_pkey primary key (id),
    constraint backfilled_digest_key unique (digest)
);

create table store.checkpoints (
    seq bigint not null,
    state bytea not null,
    created_at timestamp with time zone default now() not null,
    constraint checkpoints_pkey primary key (seq)
);

create table store.class_sets (
    id integer generated always as identity,
    classes bigint[] not null,
    constraint class_sets_pkey primary key (id)
);
create index class_sets_classes_idx on store.class_sets using hash (classes);

create table store.engines (
    digest bytea not null,
    since bigint not null,
    until bigint,
    key text not null,
    individuals bigint not null,
    received bigint,
    moved bigint,
    present bigint,
    constraint engines_pkey primary key (digest, since)
);
create index engines_moved_idx on store.engines (moved) where moved is not null;
create index engines_present_idx on store.engines (present) where present is not null;
create index engines_received_idx on store.engines (received) where received is not null;

create table store.event_head (
    single boolean default true not null,
    last bigint not null,
    flap_count integer default 0 not null,
    flap_span interval default '00:00:00'::interval not null,
    constraint event_head_pkey primary key (single),
    constraint event_head_single_check check (single)
);

create table store.incidents (
    id text not null,
    seq bigint generated always as identity,
    identity bytea not null,
    rule text not null,
    kind text not null,
    key text not null,
    severity text not null,
    text text not null,
    state text default 'open' not null,
    count bigint not null,
    first_time bigint not null,
    last_time bigint not null,
    first_at timestamp with time zone not null,
    last_at timestamp with time zone not null,
    last_alert text not null,
    acknowledged_by text,
    acknowledged_at timestamp with time zone,
    assignee text,
    cleared_at timestamp with time zone,
    escalated text,
    reminded_at timestamp with time zone,
    reminders integer default 0 not null,
    held text,
    constraint incidents_pkey primary key (id),
    constraint incidents_state_check check (state in ('open', 'acknowledged', 'cleared')),
    constraint incidents_seq_key unique (seq)
);
create index incidents_held_idx on store.incidents (held) where held is not null;
create unique index incidents_identity_idx on store.incidents (identity)
    where state <> 'cleared'::text;
create index incidents_state_idx on store.incidents (state, seq);

create table store.keys (
    prefix text not null,
    name text not null,
    digest bytea not null,
    roles text[] not null,
    sources text[],
    created_at timestamp with time zone not null,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    constraint keys_pkey primary key (prefix)
);

create table store.messages (
    seq bigint not null,
    id text not null,
    source text not null,
    received_at timestamp with time zone not null,
    received bigint not null,
    content bytea not null,
    status text,
    reason text,
    kind text default 'message' not null,
    contradiction jsonb,
    degraded boolean default false not null,
    origin text,
    facts jsonb,
    dismissed_at timestamp with time zone,
    constraint messages_pkey primary key (seq),
    constraint messages_status_check
        check (status in ('accepted', 'partial', 'unmatched', 'rejected',
        'held', 'late', 'skipped')),
    constraint messages_id_key unique (id)
);
create index messages_ontology_idx on store.messages (seq) where kind = 'ontology'::text;
create index messages_origin_idx on store.messages (origin) where origin is not null;
create index messages_others_idx on store.messages (seq) where kind <> 'message'::text;
create index messages_quarantine_idx on store.messages (seq) where dismissed_at is null
    and status = any (array['unmatched'::text, 'partial'::text, 'rejected'::text, 'skipped'::text]);
create index messages_received_idx on store.messages using brin (received_at)
    with (pages_per_range = 32);
create index messages_source_idx on store.messages ("left"(source, 200), seq);
create index messages_status_idx on store.messages (status, seq) where status <> 'accepted';

create table store.ontologies (
    id bigint generated always as identity,
    seq bigint not null,
    valid_from bigint,
    digest text not null,
    content bytea not null,
    media_type text not null,
    constraint ontologies_pkey primary key (id),
    constraint ontologies_seq_key unique (seq)
);

create table store.pipeline (
    single boolean default true not null,
    runner jsonb,
    moved bigint,
    moved_at bigint,
    routed bigint default 0 not null,
    covered bigint default 0 not null,
    stored_at timestamp with time zone,
    constraint pipeline_pkey primary key (single),
    constraint pipeline_single_check check (single)
);

create table store.progress (
    single boolean default true not null,
    watermark bigint not null,
    timeline text not null,
    last_term bigint default 0 not null,
    removals bigint default 0 not null,
    constraint progress_pkey primary key (single),
    constraint progress_single_check check (single)
);

create table store.silences (
    id bigint generated always as identity,
    rule text,
    key text,
    severity text,
    starts_at timestamp with time zone not null,
    ends_at timestamp with time zone not null,
    by text not null,
    comment text not null,
    constraint silences_pkey primary key (id)
);

create table store.statements (
    subject bigint not null,
    predicate bigint not null,
    object bigint not null,
    valid_from bigint not null,
    valid_to bigint not null,
    stay bigint not null,
    message bigint not null,
    number double precision,
    inferred boolean not null,
    again boolean default true not null
) partition by range (valid_to);
create index statements_again_idx on store.statements (predicate) where again;
create index statements_moment_idx on store.statements
    using brin (store.moment(valid_from), store.moment(valid_to)) with (pages_per_range = 32);
create index statements_number_idx on store.statements (predicate, number)
    where number is not null;
create index statements_object_idx on store.statements (predicate, object);
create index statements_predicate_idx on store.statements (predicate, valid_from);
create index statements_span_idx on store.statements
    using brin (store.span(valid_from, valid_to)) with (pages_per_range = 32);
create index statements_subject_idx on store.statements (subject, valid_to);
create index statements_time_idx on store.statements using brin (valid_from, valid_to)
    with (pages_per_range = 32);

create table store.stays (
    stay bigint not null,
    name bigint not null,
    entered bigint not null,
    time bigint not null,
    expired_at bigint not null,
    message bigint not null,
    iri text not null,
    class_set integer not null,
    properties bigint[] default '{}' not null,
    objects bigint[] default '{}' not null,
    numbers double precision[] default '{}' not null,
    several boolean default false not null,
    constraint stays_pkey primary key (stay)
);
create index stays_class_set_idx on store.stays (class_set);
create index stays_iri_idx on store.stays using hash (iri);
create index stays_moment_idx on store.stays (store.moment(time));
create index stays_name_idx on store.stays (name);
create index stays_time_idx on store.stays (time);

create table store.terms (
    id bigint not null,
    moment timestamp with time zone,
    kind smallint not null,
    number numeric,
    text text not null,
    datatype text,
    language text,
    constraint terms_pkey primary key (id),
    constraint terms_kind_check check (kind in (0, 1, 2))
);
create index terms_text_idx on store.terms using hash (text);

create table store.vocabulary (
    term bigint not null,
    constraint vocabulary_pkey primary key (term)
);

create table store.webhooks (
    id text not null,
    url text not null,
    secret text not null,
    created_at timestamp with time zone not null,
    queries text[] default '{}'::text[] not null,
    output boolean default false not null,
    format text default 'cloudevents' not null,
    old_secret text,
    old_until timestamp with time zone,
    change bigint,
    failing_since timestamp with time zone,
    disabled_at timestamp with time zone,
    changes boolean default false not null,
    number integer not null,
    place bigint not null,
    disabled_from bigint,
    group_by text[],
    escalated boolean default false not null,
    group_wait double precision,
    group_interval double precision,
    grouped bigint default 0 not null,
    constraint webhooks_pkey primary key (id),
    constraint webhooks_number_key unique (number)
);

create table store.alert_changes (
    seq bigint generated always as identity,
    incident text not null,
    change text not null,
    at timestamp with time zone not null,
    time bigint,
    by text default '' not null,
    text text default '' not null,
    severity text not null,
    count bigint not null,
    constraint alert_changes_pkey primary key (seq),
    constraint alert_changes_change_check
        check (change in ('raised', 'acknowledged', 'cleared', 'commented', 'assigned',
        'reminded', 'escalated', 'flapping', 'settled')),
    constraint alert_changes_incident_fkey foreign key (incident)
        references store.incidents (id) on delete cascade
);
create index alert_changes_incident_idx on store.alert_changes (incident, seq);

create table store.alert_groups (
    id bigint generated always as identity,
    webhook_id text not null,
    digest bytea not null,
    labels jsonb not null,
    made_at timestamp with time zone not null,
    told_at timestamp with time zone,
    constraint alert_groups_pkey primary key (id),
    constraint alert_groups_webhook_id_key unique (webhook_id, digest),
    constraint alert_groups_webhook_id_fkey foreign key (webhook_id)
        references store.webhooks (id) on delete cascade
);

create table store.flaps (
    identity bytea not null,
    incident text not null,
    ends timestamp with time zone[] not null,
    since timestamp with time zone,
    told boolean default false not null,
    constraint flaps_pkey primary key (identity),
    constraint flaps_incident_fkey foreign key (incident)
        references store.incidents (id) on delete cascade
);
create index flaps_incident_idx on store.flaps (incident);
create index flaps_since_idx on store.flaps (identity) where since is not null;

create table store.alert_group_members (
    incident text not null,
    group_id bigint not null,
    state text default 'new' not null,
    constraint alert_group_members_pkey primary key (incident, group_id),
    constraint alert_group_members_state_check check (state in ('new', 'told', 'changed')),
    constraint alert_group_members_incident_fkey foreign key (incident)
        references store.incidents (id) on delete cascade,
    constraint alert_group_members_group_id_fkey foreign key (group_id)
        references store.alert_groups (id) on delete cascade
);
create index alert_group_members_group_idx on store.alert_group_members (group_id);

create table store.events (
    seq bigint not null,
    alert_id text,
    change bigint,
    said text,
    escalated boolean default false not null,
    report_id text,
    report_query text,
    report_data text,
    receiver text,
    group_data text,
    raised_at timestamp with time zone not null,
    due_at timestamp with time zone not null,
    constraint events_pkey primary key (seq),
    constraint events_kind_check
        check (num_nonnulls(alert_id, change, report_id, group_data) = 1
        and num_nonnulls(report_id, report_query, report_data) in (0, 3)
        and num_nonnulls(receiver, group_data) in (0, 2)),
    constraint events_alert_id_fkey foreign key (alert_id) references store.alerts (id),
    constraint events_change_fkey foreign key (change) references store.alert_changes (seq)
);
create index events_alert_idx on store.events (alert_id) where alert_id is not null;
create index events_change_idx on store.events (change) where change is not null;

create table store.deliveries (
    id bigint not null,
    event bigint not null,
    webhook_id text not null,
    attempts integer default 0 not null,
    next_attempt_at timestamp with time zone,
    status text default 'pending' not null,
    last_error text,
    attempted_at timestamp with time zone,
    seconds double precision,
    answered integer,
    answer text,
    constraint deliveries_pkey primary key (id),
    constraint deliveries_status_check check (status in ('pending', 'delivered', 'dead')),
    constraint deliveries_event_fkey foreign key (event) references store.events (seq),
    constraint deliveries_webhook_id_fkey foreign key (webhook_id)
        references store.webhooks (id) on delete cascade
);
create index deliveries_attempted_idx on store.deliveries (webhook_id, attempted_at)
    where attempted_at is not null;
create index deliveries_due_idx on store.deliveries (webhook_id, next_attempt_at, event)
    where status = 'pending'::text;
create index deliveries_event_idx on store.deliveries (event);
create index deliveries_state_idx on store.deliveries (webhook_id, status, id);
"""
# All deliveries: those of events that a webhook has not passed have no row of their own yet.
OUTBOX = """
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
    and case
      when e.receiver is not null then e.receiver = w.id
      when e.report_query is not null
        then e.report_query = any(w.queries) and e.seq <= coalesce(w.disabled_from, e.seq)
      when w.group_by is not null then false
      when w.escalated
        then e.escalated and (w.changes or e.said in ('escalated', 'cleared'))
      else e.change is null or w.changes or e.said in ('flapping', 'settled')
    end
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
    for each in (FUNCTIONS, TABLES, OUTBOX, TRIPLES, BESIDE, ROWS):
        op.execute(each)


def downgrade() -> None:
    op.execute("drop view store.outbox")
    tables = (line.split()[2] for line in TABLES.splitlines() if line.startswith("create table"))
    op.execute(f"drop table {', '.join(tables)}")
    op.execute("drop function store.moment, store.span, store.tell_end")
