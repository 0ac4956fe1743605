-- SQL functions of schema store for times and durations in SPARQL. They compute what
-- sensorstream.sparql.values does; a moment is an array of its clock and zone, a duration one of
-- its months and seconds (sensorstream.model.xsd).

create or replace function store.floor_div(a numeric, b numeric)
returns numeric language sql immutable strict parallel safe as $$
  -- Exact: "/" rounds a quotient of many digits.
  select round((a - mod(mod(a, b) + b, b)) / b)
$$;

create or replace function store.days_from_civil(y numeric, m numeric, d numeric)
returns numeric language sql immutable strict parallel safe as $$
  select 365 * c.y + store.floor_div(c.y, 4) - store.floor_div(c.y, 100)
    + store.floor_div(c.y, 400) + store.floor_div(153 * mod(m + 9, 12) + 2, 5) + d - 719469
  from (select y - case when m <= 2 then 1 else 0 end as y) as c
$$;

create or replace function store.civil_from_days(days numeric)
returns numeric[] language plpgsql immutable strict parallel safe as $$
declare
  era numeric := store.floor_div(days + 719468, 146097);
  of_era bigint := days + 719468 - era * 146097;
  y bigint := (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  of_year bigint := of_era - (365 * y + y / 4 - y / 100);
  shifted bigint := (5 * of_year + 2) / 153;
  m bigint := case when shifted < 10 then shifted + 3 else shifted - 9 end;
begin
  return array[y + era * 400 + case when m <= 2 then 1 else 0 end, m,
    of_year - (153 * shifted + 2) / 5 + 1];
end $$;

create or replace function store.month_start(months numeric)
returns numeric language sql immutable strict parallel safe as $$
  select store.days_from_civil(store.floor_div(months, 12), mod(mod(months, 12) + 12, 12) + 1, 1)
$$;

-- The short name of a datatype of times; null for all others.
create or replace function store.time_type(datatype text)
returns text language sql immutable strict parallel safe as $$
  select case when starts_with(datatype, 'http://www.w3.org/2001/XMLSchema#')
    then substr(datatype, 34) end
$$;

create or replace function store.time_value(written text, datatype text)
returns numeric[] language plpgsql immutable strict parallel safe as $$
declare
  kind text := store.time_type(datatype);
  form text := btrim(written, E' \t\n\r');
  m text[];
  days numeric := 0;
  clock numeric := 0;
  zone text;
begin
  if kind in ('duration', 'dayTimeDuration', 'yearMonthDuration') then
    m := regexp_match(form,
      '^(-)?P(?=.)(?:([0-9]{1,15})Y)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15})D)?'
      '(?:T(?=[0-9])(?:([0-9]{1,15})H)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15}(?:\.[0-9]+)?)S)?)?$');
    if m is null or (kind = 'dayTimeDuration' and (m[2] is not null or m[3] is not null))
      or (kind = 'yearMonthDuration' and coalesce(m[4], m[5], m[6], m[7]) is not null)
    then
      return null;
    end if;
    clock := coalesce(m[4], '0')::numeric * 86400 + coalesce(m[5], '0')::numeric * 3600
      + coalesce(m[6], '0')::numeric * 60 + coalesce(m[7], '0')::numeric;
    days := coalesce(m[2], '0')::numeric * 12 + coalesce(m[3], '0')::numeric;
    return case when m[1] is null then array[days, clock] else array[-days, -clock] end;
  end if;
  if kind is null or kind not in ('dateTime', 'dateTimeStamp', 'date', 'time') then
    return null;
  end if;
  m := regexp_match(form, case kind
    when 'date' then
      '^(-?(?:0[0-9]{3}|[1-9][0-9]{3,8}))-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
      '()()()()(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?$'
    when 'time' then
      '^()()()(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)|(24):00:00(?:\.0+)?)'
      '(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?$'
    else
      '^(-?(?:0[0-9]{3}|[1-9][0-9]{3,8}))-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
      'T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)|(24):00:00(?:\.0+)?)'
      '(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?$' end);
  if m is null then
    return null;
  end if;
  zone := m[8];
  if zone is null and kind = 'dateTimeStamp' then
    return null;
  end if;
  if kind <> 'time' then
    days := store.days_from_civil(m[1]::numeric, m[2]::numeric, m[3]::numeric);
    if store.civil_from_days(days) <> array[m[1]::numeric, m[2]::numeric, m[3]::numeric] then
      return null;
    end if;
  end if;
  if m[7] = '24' then
    clock := case when kind = 'time' then 0 else 86400 end;
  elsif kind <> 'date' then
    clock := m[4]::numeric * 3600 + m[5]::numeric * 60 + m[6]::numeric;
  end if;
  return array[days * 86400 + clock, case when zone is null then null when zone = 'Z' then 0
    else (substr(zone, 2, 2)::numeric * 60 + substr(zone, 5, 2)::numeric)
      * case when left(zone, 1) = '-' then -1 else 1 end end];
end $$;

create or replace function store.is_time(written text, datatype text)
returns boolean language sql immutable strict parallel safe as $$
  select store.time_value(written, datatype) is not null
$$;

-- What is compared: 'duration', 'dateTime', 'date' or 'time'.
create or replace function store.time_family(datatype text)
returns text language sql immutable strict parallel safe as $$
  select case when t.kind in ('duration', 'dayTimeDuration', 'yearMonthDuration') then 'duration'
    when t.kind = 'dateTimeStamp' then 'dateTime'
    when t.kind in ('dateTime', 'dateTimeStamp', 'date', 'time') then t.kind end
  from (select store.time_type(datatype) as kind) as t
$$;

-- From four fixed months to the moments a duration after them, in seconds.
create or replace function store.duration_ends(length numeric[])
returns numeric[] language sql immutable strict parallel safe as $$
  select array_agg(length[2] + (store.month_start(r.m + length[1]) - store.month_start(r.m)) * 86400
    order by r.m)
  from unnest(array[20360, 20365, 22838, 22842]::numeric[]) as r (m)
$$;

create or replace function store.time_utc(moment numeric[])
returns numeric language sql immutable strict parallel safe as $$
  select moment[1] - coalesce(moment[2], 0) * 60
$$;

-- -1, 0, 1; 2: neither equal nor in order; null: not of one family, or not valid.
create or replace function store.time_order(a text, a_type text, b text, b_type text)
returns integer language plpgsql immutable strict parallel safe as $$
declare
  x numeric[] := store.time_value(a, a_type);
  y numeric[] := store.time_value(b, b_type);
  gap numeric;
begin
  if x is null or y is null or store.time_family(a_type) <> store.time_family(b_type) then
    return null;
  end if;
  if store.time_family(a_type) = 'duration' then
    if x[1] = y[1] then
      return sign(x[2] - y[2]);
    elsif x[2] = y[2] then
      return sign(x[1] - y[1]);
    end if;
    return (select case when min(sign(l.a - l.b)) = max(sign(l.a - l.b)) then min(sign(l.a - l.b))
      else 2 end from unnest(store.duration_ends(x), store.duration_ends(y)) as l (a, b));
  end if;
  gap := store.time_utc(x) - store.time_utc(y);
  if (x[2] is null) <> (y[2] is null) and abs(gap) <= 50400 then
    return 2;
  end if;
  return sign(gap);
end $$;

-- Most times: PostgreSQL reads them itself as they are meant, whatever its settings.
create or replace function store.is_plain_time(written text, datatype text)
returns boolean language sql immutable strict parallel safe as $$
  select datatype = 'http://www.w3.org/2001/XMLSchema#dateTime' and written ~
      '^[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'
      '|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))'
      'T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?'
      '(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))$'
$$;

-- In whose order all values of one family stand, those without order among them, too.
create or replace function store.time_key(written text, datatype text)
returns numeric language plpgsql immutable strict parallel safe as $$
begin
  if store.is_plain_time(written, datatype) then
    return extract(epoch from written::timestamptz);
  end if;
  return (select case when store.time_family(datatype) = 'duration'
    then (select sum(e.v) from unnest(store.duration_ends(t.v)) as e (v))
    else store.time_utc(t.v) end
  from (select store.time_value(written, datatype) as v) as t);
end $$;

create or replace function store.time_tie(written text, datatype text)
returns numeric language plpgsql immutable strict parallel safe as $$
begin
  if store.is_plain_time(written, datatype) then
    return 0;
  end if;
  return (select case when store.time_family(datatype) = 'duration' then t.v[1]
    when t.v is not null then (t.v[2] is null)::int end
  from (select store.time_value(written, datatype) as v) as t);
end $$;

create or replace function store.moment_text(moment numeric[], kind text)
returns text language plpgsql immutable strict parallel safe as $$
declare
  rest numeric := mod(mod(moment[1], 86400) + 86400, 86400);
  day numeric[] := store.civil_from_days(store.floor_div(moment[1], 86400));
  seconds text := trim_scale(mod(rest, 60))::text;
  hours text := lpad(div(rest, 3600)::text, 2, '0');
  clock text;
  dates text;
  zone text := case when moment[2] is null then '' when moment[2] = 0 then 'Z' else
    case when moment[2] < 0 then '-' else '+' end
    || lpad(div(abs(moment[2]), 60)::text, 2, '0') || ':'
    || lpad(mod(abs(moment[2]), 60)::text, 2, '0') end;
begin
  if abs(day[1]) > 999999999 then
    return null;
  end if;
  clock := hours || ':' || lpad(div(mod(rest, 3600), 60)::text, 2, '0') || ':'
    || lpad(split_part(seconds, '.', 1), 2, '0')
    || case when strpos(seconds, '.') > 0 then '.' || split_part(seconds, '.', 2) else '' end;
  dates := case when day[1] < 0 then '-' else '' end
    || lpad(abs(day[1])::text, greatest(4, length(abs(day[1])::text)), '0') || '-'
    || lpad(day[2]::text, 2, '0') || '-' || lpad(day[3]::text, 2, '0');
  return case kind when 'date' then dates when 'time' then clock else dates || 'T' || clock end
    || zone;
end $$;

create or replace function store.duration_text(length numeric[], kind text)
returns text language plpgsql immutable strict parallel safe as $$
declare
  months numeric := abs(length[1]);
  seconds numeric := abs(length[2]);
  dates text := case when months >= 12 then div(months, 12)::text || 'Y' else '' end
    || case when mod(months, 12) > 0 then mod(months, 12)::text || 'M' else '' end
    || case when seconds >= 86400 then div(seconds, 86400)::text || 'D' else '' end;
  rest numeric := mod(seconds, 86400);
  clock text := case when rest >= 3600 then div(rest, 3600)::text || 'H' else '' end
    || case when mod(rest, 3600) >= 60 then div(mod(rest, 3600), 60)::text || 'M' else '' end
    || case when mod(rest, 60) > 0 then trim_scale(mod(rest, 60))::text || 'S' else '' end;
begin
  if dates = '' and clock = '' then
    return case kind when 'yearMonthDuration' then 'P0M' else 'PT0S' end;
  end if;
  return case when length[1] < 0 or length[2] < 0 then '-' else '' end || 'P' || dates
    || case when clock = '' then '' else 'T' || clock end;
end $$;

create or replace function store.moment_moved(moment numeric[], months numeric, seconds numeric)
returns numeric[] language plpgsql immutable strict parallel safe as $$
declare
  clock numeric := moment[1];
  days numeric;
  day numeric[];
  start numeric;
begin
  if months <> 0 then
    days := store.floor_div(clock, 86400);
    day := store.civil_from_days(days);
    start := store.month_start(day[1] * 12 + day[2] - 1 + months);
    clock := clock + (start - 1 - days + least(day[3],
      store.month_start(day[1] * 12 + day[2] + months) - start)) * 86400;
  end if;
  return array[clock + seconds, moment[2]];
end $$;

-- a + b, or with a sign of -1 a - b: the datatype, a blank and the lexical form.
create or replace function store.time_sum(a text, a_type text, b text, b_type text, way integer)
returns text language plpgsql immutable strict parallel safe as $$
declare
  x numeric[] := store.time_value(a, a_type);
  y numeric[] := store.time_value(b, b_type);
  one text := store.time_family(a_type);
  other text := store.time_family(b_type);
  kind text := store.time_type(a_type);
  unit text := store.time_type(b_type);
  made text;
begin
  if x is null or y is null then
    return null;
  elsif one = 'duration' and other <> 'duration' then
    return case when way = 1 then store.time_sum(b, b_type, a, a_type, 1) end;
  elsif one = 'duration' then
    x := array[x[1] + way * y[1], x[2] + way * y[2]];
    kind := case when kind = unit then kind else 'duration' end;
    made := case when sign(x[1]) * sign(x[2]) >= 0 then store.duration_text(x, kind) end;
  elsif other = 'duration' then
    kind := case when kind = 'dateTimeStamp' then 'dateTime' else kind end;
    made := case when kind <> 'time' or unit <> 'yearMonthDuration'
      then store.moment_text(store.moment_moved(x, way * y[1], way * y[2]), kind) end;
  elsif way = -1 and one = other and (x[2] is null) = (y[2] is null) then
    kind := 'dayTimeDuration';
    made := store.duration_text(array[0, store.time_utc(x) - store.time_utc(y)], kind);
  end if;
  return 'http://www.w3.org/2001/XMLSchema#' || kind || ' ' || made;
end $$;

create or replace function store.time_negative(written text, datatype text)
returns text language sql immutable strict parallel safe as $$
  select case when t.v is not null and store.time_family(datatype) = 'duration'
    then store.duration_text(array[-t.v[1], -t.v[2]], store.time_type(datatype)) end
  from (select store.time_value(written, datatype) as v) as t
$$;

create or replace function store.time_cast(written text, datatype text, target text)
returns text language plpgsql immutable strict parallel safe as $$
declare
  x numeric[] := store.time_value(written, datatype);
  kind text := store.time_type(datatype);
  wanted text := store.time_type(target);
begin
  if x is null then
    return null;
  elsif kind in ('duration', 'dayTimeDuration', 'yearMonthDuration') then
    return case when wanted = 'duration'
      or kind in (wanted, 'duration') and (wanted = 'dayTimeDuration' and x[1] = 0
        or wanted = 'yearMonthDuration' and x[2] = 0)
      then store.duration_text(x, wanted) end;
  elsif (wanted = 'time' and kind = 'date') or (kind = 'time' and wanted <> 'time')
    or wanted not in ('dateTime', 'dateTimeStamp', 'date', 'time')
    or (wanted = 'dateTimeStamp' and x[2] is null)
  then
    return null;
  end if;
  return store.moment_text(x, wanted);
end $$;

-- YEAR, MONTH, DAY, HOURS, MINUTES, SECONDS, TZ or TIMEZONE of a moment, as text.
create or replace function store.time_part(written text, datatype text, part text)
returns text language plpgsql immutable strict parallel safe as $$
declare
  x numeric[] := store.time_value(written, datatype);
  kind text := store.time_type(datatype);
  form text;
begin
  if x is null or kind in ('duration', 'dayTimeDuration', 'yearMonthDuration') then
    return null;
  elsif part = 'TZ' then
    return substr(store.moment_text(array[0, x[2]], 'time'), 9);
  elsif part = 'TIMEZONE' then
    return store.duration_text(array[0, x[2] * 60], 'dayTimeDuration');
  elsif part in ('YEAR', 'MONTH', 'DAY') then
    return case when kind <> 'time' then (store.civil_from_days(
      store.floor_div(x[1], 86400)
    ))[array_position(array['YEAR', 'MONTH', 'DAY'], part)]::text end;
  end if;
  form := store.moment_text(array[x[1], null], 'time');
  return case when kind <> 'date' then trim_scale(split_part(form, ':',
    array_position(array['HOURS', 'MINUTES', 'SECONDS'], part))::numeric)::text end;
end $$;
