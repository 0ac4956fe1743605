-- Remove what is older than two bounds, given as settings of the session (see README.md):
--   sensorstream.ended_before     an instant of the time line
--   sensorstream.received_before  a wall-clock time
-- All or nothing; safe beside a running SensorStream, which goes on accepting messages: their effects
-- wait for the end.
begin;

select from store.progress for update;

delete from store.statements
where valid_to < current_setting('sensorstream.ended_before')::bigint;

delete from store.stays
where expired_at < current_setting('sensorstream.ended_before')::bigint;

delete from store.class_sets s
where not exists (select from store.stays i where i.class_set = s.id);

-- A restart reads the journal from a checkpoint on: from the older one, if the newest is damaged. If
-- the engines run on Spark, their state covers all batches but the last, which may be repeated. The
-- last message stays in any case: its number says where to go on counting.
delete from store.messages
where received_at < current_setting('sensorstream.received_before')::timestamptz
  -- A restart needs the ontology and the rules in force, and engines of new keys the queries.
  and kind not in ('ontology', 'rules', 'query', 'query-end')
  -- An input goes on reading a topic where its last entry ends.
  and (kind <> 'topic' or exists (
    select from store.messages t
    where t.kind = 'topic' and t.kind <> 'message' and t.source = store.messages.source
      and t.seq > store.messages.seq
  ))
  and seq <= (
    select case when runner ->> 'kind' = 'spark' then covered
      else (select coalesce(min(seq), 0) from store.checkpoints) end
    from store.pipeline
  )
  and seq < (select max(seq) from store.messages);

delete from store.deliveries d
using store.events e
where e.seq = d.event and d.status <> 'pending'
  and e.raised_at < current_setting('sensorstream.received_before')::timestamptz;

-- What waits for a receiver stays.
delete from store.events e
where e.raised_at < current_setting('sensorstream.received_before')::timestamptz
  and not exists (select from store.deliveries d where d.event = e.seq)
  and not exists (select from store.outbox o where o.event = e.seq and o.status = 'pending');

-- Open alerts stay.
delete from store.incidents i
where i.state = 'cleared'
  and i.cleared_at < current_setting('sensorstream.received_before')::timestamptz
  and not exists (
    select from store.events e join store.alert_changes c on c.seq = e.change
    where c.incident = i.id
  );

delete from store.alerts a
where a.raised_at < current_setting('sensorstream.received_before')::timestamptz
  and not exists (select from store.events e where e.alert_id = a.id);

-- Terms that nothing names any more. The archive's files name terms by number: while there are some,
-- all terms stay. A server forgets the numbers that it remembers when "removals"
-- has changed.
with used as (
  select subject as id from store.statements
  union select predicate from store.statements
  union select object from store.statements
  union select name from store.stays
  union select term from store.vocabulary
)
delete from store.terms t where not exists (select from used u where u.id = t.id)
  and not exists (select from store.archives where state = 'archived');

update store.progress set removals = removals + 1;

commit;
