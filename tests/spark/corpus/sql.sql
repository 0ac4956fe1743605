-- Queries over the small history of tests/spark/conftest.py, each run in PostgreSQL and on Spark.
-- They are separated by empty lines. "-- refused: WORDS" before one says that Spark refuses it,
-- with these words in the reason.

-- Numbers

select 7 / 2 as a, -7 / 2 as b, 7 % 3 as c, -7 % 3 as d, 7 % -3 as e

select x / 3 as q, x % 3 as r, -x / 3 as nq, -x % 3 as nr, count(*) as n from human group by 1, 2, 3, 4 order by 1, 2, 3, 4

select round(2.5) as a, round(-2.5) as b, round(3.5) as c, round(0.5) as d

select round(2.5::double precision) as a, round(3.5::double precision) as b, round(-0.5::double precision) as c

select round(2.345, 2) as a, round(-2.345, 2) as b, round(2.3, 5) as c, round(125, 0) as d

select 2.5::int as a, 3.5::int as b, -2.5::int as c, 0.4999::bigint as d

select 2.5::double precision::int as a, 3.5::double precision::int as b, (-2.5)::double precision::bigint as c

select speed::int as n, count(*) as c from human where speed < 1000 group by 1 order by 1

select speed, round(speed), floor(speed), ceil(speed) from human order by time limit 80

select floor(2.7) as a, floor(-2.7) as b, ceil(2.1) as c, ceiling(-2.1) as d

select floor(x), ceil(x), round(x), abs(x), sign(x) from human order by time limit 50

select 1e3 as a, 1.5e2 as b, 1e-3 as c, 12345678901 as d, 123456789012345678901 as e

select 0.1 + 0.2 as a, 0.1 * 0.3 as b, 1.10 - 0.1 as c, 5.5 % 2 as d

select 10 / 4.0 as a, 1 / 3.0 as b, 2 / 3.0 as c, 10000 / 3.0 as d, 1 / 7.00 as e, 100000000 / 7.0 as f

select 1 / 3000.0 as a, 0.5 / 3 as b, 12345.678 / 0.9 as c, -1 / 3.0 as d, 9999.5 / 10000 as e

-- refused: quotient of quotients
select 1 / 3.0 / 2 as a

-- refused: overflow|fit|digits|precision
select 1 / 3000000.0 as a

select sqrt(16) as a, sqrt(2::double precision) as b, sqrt(speed) as c from human where speed is not null order by time limit 20

-- refused: sqrt
select sqrt(2.0) as a

select abs(-5) as a, abs(-5.5) as b, sign(-3.5) as c, sign(-2::double precision) as d

select mod(7, 3) as a, mod(-7, 3) as b, mod(7.5, 2) as c

select greatest(1, 2.5, 2) as a, least(1, null, 3) as b, greatest(x, 10) as c, least(x, 10) as d from human order by time limit 20

select coalesce(null, 5) as a, coalesce(speed, 0) as b, nullif(x, 3) as c, nullif(5, 5) as d from human order by time limit 20

select x + 0.5 as a, x * 1.5 as b, x - 0.25 as c from human order by time limit 30

select x::double precision / 3 as a, x * 0.1::double precision as b from human order by time limit 30

select x::numeric / 7 as a, x::numeric(10, 2) as b, round(x::numeric / 7, 3) as c from human order by time limit 60

select round(speed::numeric, 1) as a, speed::numeric(12, 2) as b, speed::numeric as c from human where speed < 1000 order by time limit 60

select 123456789::bigint * 1000 as a, 5::bigint / 2 as b, (-5)::bigint % 3 as c

select cast('12' as int) as a, '7'::bigint as b, ' 3 '::int as c, '2.50'::numeric as d, '1e2'::double precision as e

select 'Infinity'::double precision as a, '-inf'::double precision as b, 'NaN'::double precision = 'NaN'::double precision as c

select speed from human where speed = 'Infinity' order by 1

select count(*) from human where speed > 'NaN'

select iri, x from human where x in (1, 2.0, 30) or x between 40 and 42 order by x, iri, time

select x from human where x not in (1, null) order by 1

select -x as x from human as h order by abs(h.x), h.time limit 20

-- refused: power|list
select x ^ 2 as a from human

-- refused: ln
select ln(2.0) as a

-- refused: exp
select exp(1.0) as a

-- refused: trunc
select trunc(2.7) as a

-- refused: random
select random() as a

-- refused: width_bucket
select width_bucket(x, 0, 10, 5) from human

-- refused: power
select power(2, 3) as a

-- refused: generate_series
select generate_series(1, 3)

-- refused: smallint
select 2::smallint as a

-- refused: real
select 2::real as a

-- refused: literal
select round(2.5, x::int) from human

-- Texts

select length('Åsa 😀') as a, length('') as b, char_length('abc') as c, octet_length('Å') as d

select has_name, length(has_name) as a, octet_length(has_name) as b, reverse(has_name) as c from human order by time limit 10

select upper('abc') as a, lower('ÅBC') as b, upper('åäö') as c, upper(has_name), lower(has_name) from human order by time limit 10

-- refused: letter
select upper('straße') as a

-- refused: letter
select lower('ΑΣ') as a

select substring('abcdef', 2, 3) as a, substr('abc', 3) as b, substring('abc' from 2 for 9) as c, substring('😀bc', 2) as d

-- refused: the start
select substring('abcdef', 0, 3) as a

-- refused: the start
select substr(has_name, -1) as a from human

select left('abc', 2) as a, right('abc', 2) as b, left('ab', 5) as c, right('ab', 0) as d

-- refused: number of characters
select left('abc', -1) as a

select trim('  a b  ') as a, ltrim('  a') as b, rtrim('a  ') as c, trim(both 'x' from 'xxaxx') as d, btrim('xyaxy', 'xy') as e, ltrim('xyab', 'yx') as f, rtrim('abxy', 'yx') as g

select trim(leading 'x' from 'xxa') as a, trim(trailing 'x' from 'axx') as b, '[' || trim('	a') || ']' as c

select replace('banana', 'an', 'x') as a, replace('abc', '', 'x') as b, replace(iri, 'human', 'person') as c from human order by time limit 5

select strpos('banana', 'na') as a, position('z' in 'abc') as b, strpos('abc', '') as c, strpos(iri, '#') as d from human order by time limit 3

select lpad('7', 3, '0') as a, rpad('ab', 5, 'xy') as b, lpad('abcdef', 3, '0') as c, lpad('a', 4) as d

select split_part('a/b/c', '/', 2) as a, split_part('a/b', '/', 5) as b, split_part(iri, '#', 2) as c from human order by time limit 5

-- refused: so many arguments
select length(content, 'LATIN1') as a from messages where seq = 3

select repeat('ab', 3) as a, repeat('ab', 0) as b, translate('abcabc', 'ab', 'x') as c, translate('abc', 'abc', 'xyz') as d

select concat('a', null, 1, true, false) as a, concat_ws('-', 'a', null, 'b') as b, concat_ws(null, 'a') as c, concat(null, null) as d

select 'a' || 'b' as a, 'a' || null as b, 'n=' || x as c, x || '' as d from human order by time limit 5

select 'it''s' as a, 'back\slash' as b, 'per%cent' as c, '"quoted"' as d, E'line\nbreak' as e, '{}' as f, '$1 :x ?' as g

select iri from human where has_name = 'say "hi", ok' order by time

select iri from human where has_name like '%\\.%' or has_name = '\.' order by time

select 'a_b' like 'a\_b' as a, 'axb' like 'a\_b' as b, 'a%b' like 'a!%b' escape '!' as c, 'a\b' like 'a\\b' as d, 'ab' like 'a\b' as e, '' like '%' as f, 'ab' like '_' as g

select 'A' like 'a' as a, 'ABC' ilike 'abc' as b, 'x' not like 'y' as c, 'abc' like 'abc' escape '' as d, E'a\nb' like 'a%b' as e, '😀' like '_' as f

select has_name from human where has_name like '%\n%' or has_name like E'%\n%' order by time limit 10

select iri from human where iri like '%-1_' and iri not like '%-12' order by iri, time limit 30

-- refused: literal
select iri from human where iri like has_name

select 'abc' ~ '^a.c$' as a, E'a\nc' ~ '^a.c$' as b, E'abc\n' ~ 'c$' as c, 'abc' !~ 'x' as d, 'a1' ~ '[0-9]+' as e, 'aab' ~ '^(a|b){2,3}$' as f

select distinct iri from human where iri ~ '#human-(1|2)[0-5]$' order by iri

-- refused: this pattern
select iri from human where iri ~ '\d+'

-- refused: this pattern
select iri from human where iri ~ '(?i)x'

-- refused: regexp_replace
select regexp_replace('abc', 'b', 'x') as a

-- refused: list
select iri from human where iri ~* 'HUMAN'

-- refused: list
select iri from human where iri similar to '%x%'

select md5('abc') as a, md5(has_name) as b, md5('Å') as c from human order by time limit 5

select encode(content, 'hex') as a, length(content) as b, octet_length(content) as c, md5(content) as d from messages where seq < 3 order by seq

select content from messages order by seq limit 3

select content = '\x00'::bytea as a from messages order by seq limit 2

select starts_with(iri, 'http') as a, starts_with('abc', 'b') as b from human order by time limit 3

select has_name from human order by has_name, time

select has_name from human order by has_name desc, time

select min(has_name) as a, max(has_name) as b, min(iri) as c from human

select iri from human where has_name < 'a' and has_name > '"' order by time limit 20

select 'Z' < 'a' as a, 'Å' > 'z' as b, '😀' > '￿' as c, 'a' < 'ab' as d

select iri collate "C" as i from human order by iri collate "C", time limit 4

-- refused: collation
select iri from human order by iri collate "en_US"

-- refused: initcap
select initcap(has_name) from human

-- refused: format
select format('%s', x) from human

-- refused: to_char
select to_char(x, '999') from human

-- refused: chr
select chr(65) as a

-- refused: ascii
select ascii('a') as a

-- refused: overlay
select overlay('abc' placing 'x' from 2) as a

-- refused: sha256
select sha256(content) from messages

-- Casts

select true::text as a, false::text as b, 12::text as c, (-5)::bigint::text as d, null::text as e

select time::text as a, seen::text as b, time::date::text as c, (time at time zone 'UTC')::text as d from human order by time limit 12

select time::date as a, date '2020-02-29' as b, '2020-02-29'::date::timestamptz as c, time::timestamp as d from human order by time limit 5

select 1::boolean as a, 0::boolean as b, true::int as c, 'yes'::boolean as d, 'off'::boolean as e

select object::double precision as a from statements where predicate like '%#speed' order by valid_from, subject limit 40

select object::int + 1 as a from statements where predicate like '%#x' and kind = 'literal' and datatype like '%integer' order by valid_from, subject limit 40

select '  12 '::int as a, '+5'::int as b

-- refused: fixed number of digits
select object::numeric from statements

-- refused: leave it a number
select speed::text from human

-- refused: leave it a number
select (1.5)::text as a

-- refused: many ways
select object::timestamptz from statements

-- refused: write it without
select iri::varchar(3) from human

select iri::varchar as a from human order by time limit 2

-- refused: this cast is not on the list
select content::text from messages

-- refused: json
select iri::json from human

-- Times

select date_trunc('minute', time) as a, date_trunc('hour', time) as b, date_trunc('day', time) as c, date_trunc('week', time) as d, date_trunc('month', seen) as e, date_trunc('quarter', time) as f, date_trunc('year', time) as g, date_trunc('second', seen) as h, date_trunc('milliseconds', time) as i from human order by time limit 15

select date_trunc('day', date '2020-03-15') as a, date_trunc('month', timestamp '2020-03-15 10:00:00') as b

-- refused: the unit is
select date_trunc('decade', time) from human

-- refused: zone|list
select date_trunc('day', time, 'Europe/Stockholm') from human

select extract(year from time) as a, extract(month from time) as b, extract(day from time) as c, extract(hour from seen) as d, extract(minute from seen) as e, extract(second from time) as f, extract(epoch from time) as g from human order by time limit 20

select extract(dow from d) as a, extract(isodow from d) as b, extract(doy from d::timestamptz) as c, extract(week from d) as d, extract(isoyear from d) as e, extract(quarter from d) as f from (values (date '2020-12-27'), (date '2021-01-03'), (date '2016-02-29'), (date '1969-12-31')) as v(d) order by v.d

select extract(epoch from timestamptz '1969-12-31 23:59:58.5Z') as a, extract(second from timestamptz '1969-12-31 23:59:58.25Z') as b

-- refused: extract
select date_part('hour', time) from human

-- refused: century
select extract(century from time) from human

select time from human where time >= '2014-08-01 08:01' and time < timestamptz '2014-08-01T08:01:05Z' order by time

select time from human where time = '2014-08-01 10:00:05.000005+02' order by time

select time from human where time between '2014-08-01 08:00:10Z' and '2014-08-01 08:00:12Z' order by time

select count(*) from human where time > date '2014-08-01'

-- refused: of times
select time from human where time > 'yesterday'

-- refused: of times
select time from human where time > 'Aug 1 2014'

select expired_at - time as a, time - interval '1 day 2 hours' as b, time + interval '90 minutes' as c from human order by time limit 8

select extract(epoch from expired_at - time) as a, extract(epoch from max(time) - min(time)) as b from human group by expired_at, time order by expired_at limit 5

select count(*) from human where expired_at - time > interval '30 seconds'

select count(*) from human where expired_at - time > interval '2 minutes'

select interval '1.5 seconds' as a, interval '2 weeks' as b, interval '-3 hours' as c, interval '1 day' + interval '1 hour' as d

-- refused: month
select time + interval '1 month' from human

-- refused: age
select age(time) from human

select date '2020-03-01' - date '2020-02-01' as a, date '2020-02-28' + 2 as b, date '2020-03-01' - 1 as c, date '2020-02-28' + interval '1 day' as d

select time at time zone 'UTC' as a, (time at time zone 'UTC') at time zone 'UTC' as b from human order by time limit 3

-- refused: zone
select time at time zone 'Europe/Stockholm' from human

-- refused: to_timestamp
select to_timestamp(0)

-- refused: make_date
select make_date(2020, 1, 1)

-- refused: to_char
select to_char(time, 'YYYY') from human

-- refused: date_bin
select date_bin('1 hour', time, time) from human

select now() > timestamptz '2020-01-01 00:00Z' as a, current_date > date '2020-01-01' as b, current_timestamp = now() as c

-- refused: list
select localtime

-- Conditions

select awake, awake is true as a, awake is not true as b, awake is null as c, not awake as d, awake is false as e from human order by time limit 8

select speed is distinct from null as a, null is not distinct from null as b, speed is not distinct from 0.125 as c from human order by time limit 4

select iri from human where awake or x > 70 and not x > 75 order by iri, time

select case when x > 50 then 'far' when x > 0 then 'near' else 'behind' end as a, case x when 1 then 'one' end as b, case when awake then 1 else 2.5 end as c from human order by time limit 30

select 1 = 1.0 as a, 1 < 2.5 as b, null = 1 as c, '1' = 1 as d, true > false as e

-- refused: invalid input
select case when awake then 1 else 'a' end from human

-- refused: rows are not compared
select iri from human where (iri, x) = ('a', 1)

-- refused: list
select iri from human where x = any(array[1, 2])

-- refused: list|symmetric
select iri from human where x between symmetric 5 and 1

-- Aggregates

select count(*) as a, count(x) as b, count(speed) as c, count(distinct x) as d, count(distinct has_name) as e from human

select sum(x) as a, avg(x) as b, min(x) as c, max(x) as d, sum(x::int) as e, avg(x::int) as f from human

select has_location, sum(x) as a, avg(x) as b, count(*) as n from human group by has_location order by has_location

select sum(speed) as a, avg(speed) as b from human where speed < 1000

select avg(x) as a, sum(x) as b, max(x) as c, count(x) as d, bool_and(awake) as e from human where x > 1000

select iri, avg(x) as a from human group by iri having avg(x) > 30 order by 2 desc, 1

select sum(x) * 2 as a, sum(x) + 1 as b, avg(x) > 10 as c, -avg(x) as d from human

-- refused: quotient of quotients
select avg(x) / 3 as a from human

select avg(x)::double precision / 3 as a, round(avg(x), 2) as b, round(avg(x)) as c, avg(x)::int as d from human

select avg(1.5 * x) as a, sum(1.5 * x) as b, avg(x * 0.01) as c from human

select avg(distinct x) as a, sum(distinct x) as b, sum(distinct x::int) as c from human

select bool_and(awake) as a, bool_or(awake) as b from human where awake is not null

-- refused: every
select every(awake) from human

select count(*) filter (where awake) as a, sum(x) filter (where x > 0) as b, avg(x) filter (where awake) as c, max(iri) filter (where x < -15) as d from human

select stddev(speed) as a, stddev_pop(speed) as b, variance(speed) as c, var_pop(speed) as d, stddev_samp(speed) as e, var_samp(speed) as f from human where speed < 1000

select stddev(speed) as a, var_pop(speed) as b from human where time = '2014-08-01 08:00:05.000005Z'

-- refused: cast to double precision
select stddev(x) from human

select percentile_cont(0.5) within group (order by x) as a, percentile_cont(0.9) within group (order by speed) as b, percentile_cont(0.25) within group (order by x desc) as c from human where x < 50

select has_location, percentile_cont(0.5) within group (order by speed) as a, percentile_disc(0.5) within group (order by speed) as b from human where speed < 1000 group by has_location order by 1

select percentile_disc(0) within group (order by speed) as a, percentile_disc(1) within group (order by speed) as b, percentile_disc(0.5) within group (order by speed desc) as c from human where speed < 100

-- refused: double precision
select percentile_disc(0.5) within group (order by x) from human

-- refused: mode
select mode() within group (order by x) from human

select array_agg(x order by time desc) as a, array_agg(iri order by x, iri, time) as b from human where x > 70

select has_location, array_agg(speed order by speed desc, time) as a from human where x > 60 group by has_location order by has_location

select array_agg(speed order by speed nulls first, time) as a, array_agg(x order by x) filter (where x > 77) as b, array_agg(x order by x) filter (where x > 1000) as c from human

select array_agg(distinct x order by x) as a, array_agg(distinct has_location order by has_location desc) as b from human where x > 60

select string_agg(iri, ',' order by time) as a, string_agg(distinct has_location, '; ' order by has_location) as b, string_agg(has_name, '|' order by time) as c from human where x > 70

select string_agg(iri, ',' order by time) as a from human where x > 1000

-- refused: add ORDER BY
select array_agg(x) from human

-- refused: add ORDER BY
select string_agg(iri, ',') from human

-- refused: array_agg
select json_agg(iri) from human

-- refused: corr
select corr(x, speed) from human

-- refused: bit_and
select bit_and(x) from human

select has_location, awake, count(*) as n, grouping(awake) as g from human group by rollup (has_location, awake) order by 1, 2, 4

select has_location, awake, count(*) as n from human group by cube (has_location, awake) order by 1, 2, 3

select has_location, awake, sum(x) as n from human group by grouping sets ((has_location), (awake), ()) order by 1, 2, 3

select has_location, count(*) as n, sum(x) as s, grouping(has_location) as g from human where x > 100000 group by rollup (has_location) order by 1

select awake, coalesce(has_location, 'all') as p, max(speed) as m from human where x > 100000 group by cube (awake, has_location) order by awake, p

select count(*) as n, awake from human where x > 100000 group by grouping sets ((), (awake), ()) order by n

select awake, count(*) as n from human where x > 100000 group by rollup (awake) having count(*) > 0 order by 1

select sum(t.n) as s, count(*) as rows from (select awake, count(*) as n from human where x > 100000 group by rollup (awake)) t

with few as (select x, awake from human where x > 100000) select awake, count(*) as n from few group by rollup (awake) order by n limit 3

select awake, has_location, count(*) as n from human where x > 100000 group by awake, rollup (has_location) order by 3, 1, 2

select x % 2 as k, count(*) as n from human where x > 0 group by rollup (x % 2) order by k, n

select 1 as n, max(x) as m, grouping(awake, has_location) as g from human where x > 100000 group by cube (awake, has_location) having grouping(awake) = 1 order by 1

select awake, has_location, grouping(has_location, awake) as g, count(*) as n from human group by grouping sets (rollup ((awake, has_location)), cube (awake, has_location), awake) having count(*) > 20 order by 3, 4, 2, 1

select distinct awake, count(*) > 20 as n, count(*) > 20 as n from human group by rollup (awake, has_location) having max(x) > 3 order by awake, 2

select awake, has_location, count(*) as n from human group by distinct rollup (awake, has_location), rollup ((has_location)) order by n, 1, 2

select count(*) as n, max(x) as m from human where x > 100000 group by (), grouping sets ((), ()) order by n

select 1 as n from human group by () having count(*) > 3 order by n

select awake, rank() over (order by count(*)) as r from human group by grouping sets ((awake), (has_location)) order by r, awake

-- refused: by name or number
select x from human group by grouping sets ((awake), (x)) order by grouping(x)

-- refused: compute OVER in a query around
select awake, count(*) as n, row_number() over (order by count(*)) as r from human group by rollup (awake)

select x % 5 as k, count(*) as n from human group by k order by k

select date_trunc('minute', time) as m, count(distinct iri) as n from human group by 1 having count(*) > 10 order by m

select count(*), max(x) from human

select 1 as one from human group by has_location having max(x) > 79 order by 1

-- refused: a constant does not group
select 'a' as a, count(*) from human group by 1

-- Windows

select iri, x, row_number() over (partition by has_location order by x desc, iri, time) as a, rank() over (order by x) as b, dense_rank() over (order by x) as c from human order by x, time limit 60

select x, lag(x) over (order by time) as a, lead(x, 2) over (order by time) as b, lag(x, 1, -1::bigint) over (order by time) as c, lead(has_name, 1, 'none') over (order by time) as d from human order by time limit 30

select x, sum(x) over (order by time) as a, count(*) over (partition by has_location) as b, max(x) over (order by time rows between 2 preceding and current row) as c, avg(x) over (order by time rows between 1 preceding and 1 following) as d from human order by time limit 60

select x, first_value(x) over (order by time) as a, last_value(x) over (order by time) as b, last_value(x) over (order by time rows between unbounded preceding and unbounded following) as c, nth_value(x, 3) over (order by time) as d from human order by time limit 20

select x, sum(x) over w as a, min(x) over w as b from human window w as (partition by has_location order by time) order by time limit 30

select x, sum(x) over (order by x) as a, sum(x) over (order by x rows unbounded preceding) as b from human where x between 5 and 9 order by x, b

select ntile(4) over (order by time) as a, percent_rank() over (order by time) as b, cume_dist() over (order by time) as c from human order by time limit 20

select speed, row_number() over (order by speed, time) as a, row_number() over (order by speed desc, time) as b from human order by time limit 40

-- refused: add ORDER BY
select row_number() over () from human

-- refused: ROWS
select sum(x) over (order by x range between 5 preceding and current row) from human

-- refused: ROWS
select sum(x) over (order by x groups between 1 preceding and current row) from human

select count(*) as n, sum(count(*)) over (order by has_location) as running, has_location from human group by has_location order by has_location

-- refused: list over a window
select string_agg(iri, ',') over (order by time) from human

-- Order, limits, distinct

select speed from human order by speed, time limit 12

select speed from human order by speed desc, time limit 12

select speed from human order by speed nulls first, time limit 5

select speed from human order by speed desc nulls last, time limit 5

select iri, x from human order by 2 desc, 1, time limit 5 offset 3

select iri from human order by x desc, time fetch first 3 rows only

select iri from human order by time limit 0

select iri from human order by time limit all

-- refused: TIES
select iri from human order by x fetch first 3 rows with ties

select distinct has_location from human order by has_location

select distinct has_location, awake from human order by 1, 2

select distinct on (iri) iri, x, time from human order by iri, time desc limit 10

select distinct on (has_location, awake) has_location, awake, x from human order by has_location, awake desc, x, time

select distinct on (x / 10) x / 10 as decade, x, iri from human order by x / 10, x desc, time offset 2

-- refused: add ORDER BY
select distinct on (iri) iri, x from human

select x as y, -x as x from human order by y, time limit 5

select x + 1 as x from human order by x desc, time limit 4

-- Joins and subqueries

select h.iri, r.iri as other from human h join human r on r.x = h.x and r.iri < h.iri order by h.iri, r.iri, h.time, r.time limit 30

select h.iri, m.status from human h left join messages m on m.id = h.message_id and m.status = 'unmatched' order by h.time limit 30

select m.id, count(h.iri) as n from human h right join messages m on m.id = h.message_id group by m.id order by m.id

select a.id, h.x from alerts a full join human h on h.message_id = a.message_id and h.x > 75 where a.id is not null order by a.id, h.x, h.time

select count(*) from alerts a cross join messages m

select count(*) from alerts a, messages m where a.message_id = m.id

select id, rule, status from alerts join messages using (id) order by id

select message_id, a.id, h.x from alerts a join human h using (message_id) where h.x > 70 order by a.id, h.x, h.time

select iri from human where x = (select max(x) from human) order by iri, time

select iri, (select count(*) from alerts a where a.message_id = human.message_id) as n from human order by time limit 10

select iri from human h where exists (select 1 from alerts a where a.message_id = h.message_id) order by time limit 10

select iri from human h where not exists (select 1 from alerts a where a.message_id = h.message_id) and x > 60 order by time

select id from messages where id in (select message_id from alerts) order by id

select id from messages where id not in (select message_id from alerts where seq > 2) order by seq

select count(*) from messages where id not in (select null from alerts)

with far as (select * from human where x > 50), names as (select iri, count(*) as n from far group by iri) select f.iri, n.n, f.x from far f join names n on n.iri = f.iri order by f.x, f.iri, f.time

with a as (select 1 as one), b as (select one + 1 as two from a) select * from a, b

with t(a, b) as (select x, iri from human where x > 78) select b, a from t order by a, b

-- refused: recursion
with recursive t as (select 1 as n union all select n + 1 from t where n < 3) select * from t

select q.n, q.k from (select x % 4 as k, count(*) as n from human group by x % 4) as q order by q.k

select avg from (select avg(x) from human) q

select q.a, q.b from (select iri, x from human where x > 78) as q(a, b) order by b, a

-- refused: FROM
select h.iri, l.m from human h, lateral (select max(x) as m from human where iri = h.iri) l

-- refused: FROM|unnest
select * from unnest(array[1, 2]) as u(x)

select * from alerts natural join messages order by seq

select p, q from (values (1, 'a'), (2, null), (3, 'c')) as v(p, q) order by p desc

-- refused: no column
select column1 from (values (1), (2.5)) as v order by 1

select a from (values (1), (2.5)) as v(a) order by 1

select n, n * n as sq from generate_series(1, 5) as g(n) order by n

select count(*) from generate_series(5, 1) as g

select n from generate_series(-2, 10, 3) as g(n) order by n

select g.n, count(h.x) as c from generate_series(0, 9) as g(n) left join human h on h.x = g.n group by g.n order by g.n

-- Set operations

select iri from human where x > 70 union select iri from actor where x < -15 order by iri

select has_location from human union all select has_location from human order by 1 limit 7

select iri from human intersect select iri from actor where x > 60 order by 1

select iri from human except select iri from human where x > 0 order by iri

select x from human where x > 70 intersect all select x from human order by 1

select x from human where x > 70 except all select x from human where awake order by 1

(select iri from human order by x desc, time limit 2) union all (select iri from human order by x, time limit 2) order by 1

-- refused: cast one
select x from human union select speed from human

select x::double precision as v from human where x > 75 union all select speed from human where speed > 24 order by v

-- Whole views

select * from individuals order by iri, time, class limit 50

select * from human order by time, iri limit 40

select * from x order by valid_from, iri limit 40

select * from statements where kind = 'blank' order by subject, object, valid_from limit 20

select subject, object, language, superseded from statements where superseded order by subject

select a.object, b.object from statements a join statements b on a.subject = b.subject and a.valid_from = b.valid_from where a.predicate like '%#hasLocation' and b.predicate like '%#x' and b.number > 75 order by 1, 2

select h.*, m.seq from human h join messages m on m.id = h.message_id where h.x > 76 order by h.time

-- refused: no such view
select * from pg_catalog.pg_class

-- refused: row
select row(1, 2)

-- refused: one table
select human from human

-- refused: pg_sleep
select pg_sleep(1)

-- refused: current_setting
select current_setting('TimeZone')

-- refused: array
select array[1, 2] as a

-- refused: list
select x & 1 from human

-- refused: tablesample|list|sample
select * from statements tablesample system (10)

with a as materialized (select x from human where x > 70) select count(*) as n from a

select * from (select trim(has_name), position('a' in has_name) from human where x > 70) as t order by 1, 2

select * from (select string_agg(has_name, ',' order by time) from human where x > 70) as t
