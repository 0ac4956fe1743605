-- What the writer does for every group of messages, as functions of its own session: made by
-- sensorstream/history/routines.py, which puts in the expressions in braces, as other statements
-- have them, too.

create function pg_temp.append_entries(
  seqs bigint[], kinds text[], ids text[], sources text[], arrived timestamptz[],
  times bigint[], contents bytea[], origins text[]
) returns void language plpgsql as $body$
begin
  insert into store.messages
    (seq, kind, id, source, received_at, received, content, origin)
    select a.* from unnest(seqs, kinds, ids, sources, arrived, times, contents, origins) as a;
end
$body$;

-- Each alert continues the open incident of its rule and key, or opens one; which of them do is told,
-- and which receivers must hear of: all that no silence is about. The planner guesses that an array
-- has few elements, and would compare each alert with each other one in nested loops.
create function pg_temp.raise_alerts(
  raised timestamptz, alert_seqs bigint[], incident_seqs bigint[],
  ids text[], rules text[], kinds text[], severities text[], texts text[], keys text[],
  times bigint[], messages text[], causes text[], evidences text[], places int[],
  out opened boolean[], out told boolean[]
) language plpgsql set enable_nestloop = off as $body$
begin
  with given as materialized (
    select *, {given_identity} as identity
    from unnest(ids, rules, kinds, severities, texts, keys, times, messages, causes, evidences,
      places)
      as a (id, rule, kind, severity, text, key, time, message, cause, evidence, place)
    -- After an entry was skipped another one may do what it has done. With LIMIT the planner goes
    -- through the index, alert by alert.
    where (select true from store.alerts s where s.id = a.id limit 1) is null
  ), one as (
    select identity, count(*) as count, min(place) as first, max(place) as last
    from given group by identity
  ), kept as (
    insert into store.incidents as i (id, seq, identity, rule, kind, key, severity, text, count,
        first_time, last_time, first_at, last_at, last_alert)
      overriding system value
      select f.id, incident_seqs[f.place], o.identity, l.rule, l.kind, l.key, l.severity, l.text,
        o.count, f.time, l.time, raised, raised, l.id
      from one o join given f on f.place = o.first join given l on l.place = o.last
      on conflict (identity) where state <> 'cleared' do update set
        severity = excluded.severity, text = excluded.text, count = i.count + excluded.count,
        last_time = excluded.last_time, last_at = excluded.last_at,
        last_alert = excluded.last_alert
      returning i.id, i.identity
  ), stored as (
    insert into store.alerts
      (id, seq, rule, kind, severity, text, key, time, raised_at, message_id, messages, incident,
        evidence)
      overriding system value
      select g.id, alert_seqs[g.place], g.rule, g.kind, g.severity, g.text, g.key, g.time, raised,
        g.message, g.cause::bigint[], k.id, g.evidence
      from given g join kept k on k.identity = g.identity
  )
  select array_agg(coalesce(k.id = g.id, false) order by p.number), array_agg(
      g.id is not null and not {given_is_silenced} and not {given_is_flapping} order by p.number)
    into opened, told
    from unnest(places) with ordinality as p (place, number)
    left join given g on g.place = p.place left join kept k on k.identity = g.identity;
end
$body$;

-- What has happened to incidents, in order, and the events that tell of it.
create function pg_temp.tell_changes(
  raised timestamptz, inout last_event bigint,
  ids text[], severities text[], texts text[], times bigint[], places int[],
  opened boolean[], told boolean[],
  gone_incidents text[], gone_severities text[], gone_counts bigint[], gone_times bigint[],
  gone_places int[], were_escalated boolean[], gone_told boolean[]
) language plpgsql set enable_nestloop = off as $body$
declare
  fresh bigint;
begin
  with gone as materialized (
    select * from unnest(gone_incidents, gone_severities, gone_counts, gone_times, gone_places,
      were_escalated, gone_told) as g (incident, severity, count, time, place, escalated, told)
  ), changed as (
    insert into store.alert_changes (incident, change, at, time, text, severity, count)
      select incident, change, raised, time, text, severity, count from (
        select id, 'raised', time, text, severity, 1, place
          from unnest(ids, severities, texts, times, places, opened)
          as a (id, severity, text, time, place, is_opened) where is_opened
        union all
        select incident, 'cleared', time, '', severity, count, place from gone
      ) c (incident, change, time, text, severity, count, place)
      order by place, time, incident
      returning seq, incident, change
  )
  insert into store.events (seq, alert_id, change, said, escalated, raised_at, due_at)
    select last_event + row_number() over (order by place, change), alert, change, said, escalated,
      raised, raised
    from (
      select id, null::bigint, null, false, place
        from unnest(ids, places, told) as a (id, place, is_told)
        where is_told and exists (select from store.webhooks)
      union all
      select null, c.seq, c.change, g.escalated, g.place
        from changed c join gone g on g.incident = c.incident
        where c.change = 'cleared' and g.told
          and exists (select from store.webhooks where changes or escalated)
    ) e (alert, change, said, escalated, place);
  get diagnostics fresh = row_count;
  last_event := last_event + fresh;
end
$body$;

create function pg_temp.write_effects(
  -- The group's last entry; whether it is to be on disk at the end; what the writer knows of.
  upto bigint, durable boolean, known_removals bigint, raised timestamptz,
  -- Its entries.
  seqs bigint[], statuses text[], reasons text[], contradictions jsonb[],
  were_degraded boolean[], told_facts jsonb[],
  -- The terms whose numbers the writer does not remember. Others name them by -1, -2, ...
  numerics numeric[], moments timestamptz[], kinds smallint[], texts text[], datatypes text[],
  languages text[],
  -- Statements.
  subjects bigint[], predicates bigint[], objects bigint[], froms bigint[], untils bigint[],
  statement_stays bigint[], statement_messages bigint[], numbers double precision[],
  are_inferred boolean[], are_repeated boolean[],
  -- Stays.
  stays bigint[], names bigint[], entries bigint[], times bigint[], ends bigint[],
  stay_messages bigint[],
  -- Stays that may have left before, and had other statements then than they have now.
  changed bigint[],
  -- Alerts.
  alert_ids text[], alert_rules text[], alert_kinds text[], severities text[], alert_texts text[],
  alert_keys text[], alert_times bigint[], alert_messages text[], alert_causes text[],
  evidences text[], alert_places int[],
  -- What was raised after something of its key was cleared belongs to a later turn; the places tell
  -- the order of all.
  alert_turns int[],
  -- What alerts told of and holds no longer.
  ended_rules text[], ended_kinds text[], ended_keys text[], ended_times bigint[],
  ended_places int[], ended_turns int[],
  out result text, out removals_now bigint, out given bigint[], out queued boolean
) language plpgsql as $body$
declare
  last bigint;
  last_before bigint;
  watermark_before bigint;
  present bigint;
  unfinished bigint;
  fresh bigint;
  last_event bigint;
  first_event bigint;
  most_ends int;
  flap_span interval;
  turn int;
  here int;
  there int;
  alert_seqs bigint[];
  incident_seqs bigint[];
  found record;
  are_opened boolean[];
  are_told boolean[];
  gone_incidents text[];
  gone_severities text[];
  gone_counts bigint[];
  gone_times bigint[];
  gone_places int[];
  were_escalated boolean[];
  gone_told boolean[];
begin
  queued := false;
  given := array[]::bigint[];
  if not durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  -- What is read after it is read as it is while the row is locked.
  select watermark, removals, last_term into strict watermark_before, removals_now, last_before
    from store.progress for update;
  if upto <= watermark_before then
    result := 'stored';
    return;
  end if;
  select count(n.seq), count(*) filter (where n.seq is null and m.status is null)
    into present, unfinished
    from store.messages m left join unnest(seqs) as n (seq) on n.seq = m.seq
    where m.seq > watermark_before and m.seq <= upto;
  if present < cardinality(seqs) or unfinished > 0 then
    result := 'refused';
    return;
  end if;
  if removals_now <> known_removals then
    result := 'forget';
    return;
  end if;

  last := last_before;
  if cardinality(kinds) > 0 then
    -- With LIMIT the planner goes through the index, term by term, and never reads the whole table.
    given := array(
      select (
        select t.id from store.terms t where t.text = a.text and t.kind = a.kind
        and t.datatype is not distinct from a.datatype
        and t.language is not distinct from a.language limit 1
      )
      from unnest(kinds, texts, datatypes, languages) with ordinality
        as a (kind, text, datatype, language, place)
      order by place
    );
    for place in 1 .. cardinality(given) loop
      if given[place] is null then
        last := last + 1;
        given[place] := last;
      end if;
    end loop;
    if last > last_before then
      insert into store.terms (id, number, moment, kind, text, datatype, language)
        select a.id, a.number, a.moment, a.kind, a.text, a.datatype, a.language
        from unnest(given, numerics, moments, kinds, texts, datatypes, languages)
          as a (id, number, moment, kind, text, datatype, language)
        where a.id > last_before;
    end if;
  end if;

  if cardinality(subjects) > 0 then
    insert into store.statements
      (subject, predicate, object, valid_from, valid_to, stay, message, number, inferred, again)
      select
        k.s, k.p, k.o, f, u, stay, message, number, i,
        -- A triple with a term that is new was never said before.
        repeated or greatest(k.s, k.p, k.o) <= last_before
      from unnest(subjects, predicates, objects, froms, untils, statement_stays,
        statement_messages, numbers, are_inferred, are_repeated)
        as a (s, p, o, f, u, stay, message, number, i, repeated)
      cross join lateral (
        select case when s < 0 then given[-s] else s end,
          case when p < 0 then given[-p] else p end, case when o < 0 then given[-o] else o end
      ) as k (s, p, o);
  end if;

  if cardinality(stays) > 0 then
    insert into store.stays (stay, name, entered, time, expired_at, message)
      select stay, case when n < 0 then given[-n] else n end, entry, time, expired_at, message
      from unnest(stays, names, entries, times, ends, stay_messages)
        as a (stay, n, entry, time, expired_at, message);
  end if;
  if cardinality(changed) > 0 then
    -- What is beside them is told anew.
    update store.stays i set class_set = null where i.stay = any(changed);
  end if;

  if cardinality(alert_ids) + cardinality(ended_rules) > 0 then
    -- Who changes incidents holds this row, so that nobody waits for another in a circle.
    select h.last, h.flap_count, h.flap_span into strict last_event, most_ends, flap_span
      from store.event_head h for update;
    first_event := last_event;
    select array_agg(nextval('store.alerts_seq_seq')), array_agg(nextval('store.incidents_seq_seq'))
      into alert_seqs, incident_seqs
      from generate_series(1, cardinality(alert_ids) + cardinality(ended_rules));
    for turn in 0 .. greatest(
      0, coalesce(alert_turns[cardinality(alert_turns)], 0),
      coalesce(ended_turns[cardinality(ended_turns)], 0)
    ) loop
      here := array_position(alert_turns, turn);
      if here is not null then
        there := here;
        while alert_turns[there + 1] = turn loop
          there := there + 1;
        end loop;
        found := pg_temp.raise_alerts(
          raised, alert_seqs, incident_seqs, alert_ids[here:there], alert_rules[here:there],
          alert_kinds[here:there], severities[here:there], alert_texts[here:there],
          alert_keys[here:there], alert_times[here:there], alert_messages[here:there],
          alert_causes[here:there], evidences[here:there], alert_places[here:there]
        );
        are_opened := are_opened || found.opened;
        are_told := are_told || found.told;
      end if;
      continue when array_position(ended_turns, turn) is null;
      with ended as (
        select distinct on (identity) * from (
          select o.identity, a.time, a.place
          from unnest(ended_rules, ended_kinds, ended_keys, ended_times, ended_places, ended_turns)
            as a (rule, kind, key, time, place, at_turn)
          cross join lateral (
            select {ended_identity} as identity where a.key is not null
            union all
            select i.identity from store.incidents i
            where a.key is null and i.rule = a.rule and i.kind = a.kind
              and i.state in ('open', 'acknowledged')
          ) o
          where a.at_turn = turn
        ) e order by identity, place
      ), gone as (
        update store.incidents i set state = 'cleared', cleared_at = raised
          from ended e where i.identity = e.identity and i.state <> 'cleared'
          returning i.id, i.identity, e.time, e.place, i.escalated is not null as has_escalated,
            coalesce(i.escalated, i.severity) as severity, i.count
      ), counted as (
        insert into store.flaps as f (identity, incident, ends)
          select identity, id, array[raised] from gone where most_ends > 0
          on conflict (identity) do update set incident = excluded.incident,
            ends = (raised || f.ends)[1:most_ends],
            since = coalesce(
              f.since, case when f.ends[most_ends - 1] > raised - flap_span then raised end
            )
      )
      select array_agg(id) as ids, array_agg(severity) as severities, array_agg(count) as counts,
        array_agg(time) as times, array_agg(place) as places,
        array_agg(has_escalated) as were_escalated, array_agg(not {given_is_flapping}) as told
        into found from gone g;
      gone_incidents := gone_incidents || found.ids;
      gone_severities := gone_severities || found.severities;
      gone_counts := gone_counts || found.counts;
      gone_times := gone_times || found.times;
      gone_places := gone_places || found.places;
      were_escalated := were_escalated || found.were_escalated;
      gone_told := gone_told || found.told;
    end loop;
    last_event := pg_temp.tell_changes(
      raised, last_event, alert_ids, severities, alert_texts, alert_times, alert_places,
      are_opened, are_told, gone_incidents, gone_severities, gone_counts, gone_times,
      gone_places, were_escalated, gone_told
    );
    if most_ends > 0 and cardinality(ended_rules) > 0 then
      with began as (
        update store.flaps set told = true where since is not null and not told returning incident
      ), told as (
        insert into store.alert_changes (incident, change, at, text, severity, count)
          select i.id, 'flapping', raised,
            format('ended %s times in %s minutes', most_ends,
              round(extract(epoch from flap_span) / 60, 1)::double precision),
            coalesce(i.escalated, i.severity), i.count
          from began b join store.incidents i on i.id = b.incident order by i.seq
          returning seq, incident
      )
      insert into store.events (seq, change, said, raised_at, due_at)
        select last_event + row_number() over (order by t.seq), t.seq, 'flapping', raised, raised
        from told t join store.incidents i on i.id = t.incident
        where exists (select from store.webhooks) and not {incident_is_silenced};
      get diagnostics fresh = row_count;
      last_event := last_event + fresh;
    end if;
    if last_event > first_event then
      update store.event_head h set last = last_event;
      queued := exists (select from store.webhooks where disabled_at is null);
    end if;
  end if;

  update store.messages m set status = v.status,
    -- Why an entry is skipped was written down before.
    reason = coalesce(v.reason, m.reason), contradiction = v.contradiction,
    degraded = v.degraded, facts = v.facts
    from unnest(seqs, statuses, reasons, contradictions, were_degraded, told_facts)
      as v (seq, status, reason, contradiction, degraded, facts)
    where m.seq = v.seq;
  update store.progress set watermark = upto, last_term = last;
  result := 'written';
end
$body$;
