from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.errors import HistoryError, Overrun, Position, QueryError
from sensorstream.history.read_only_sql import SqlResult, run_sql
from tests.databases import make_history, rows


def ask(url: str, text: str, *, timeout: float = 10.0, row_limit: int = 100) -> SqlResult:
    return run_sql(url, text, timeout=timeout, row_limit=row_limit)


def test_views_are_found_with_and_without_their_schema(history: str) -> None:
    expected = SqlResult(("seq", "id"), ((1, "m1"), (2, "m2")))
    assert ask(history, "select seq, id from messages where seq < 3 order by seq") == expected
    assert ask(history, "SELECT seq, id FROM history.messages WHERE seq < 3;") == expected


def test_no_rows_still_have_columns(history: str) -> None:
    assert ask(history, "select iri, time from human") == SqlResult(("iri", "time"), ())


def test_the_row_limit_cuts_off_and_says_so(history: str) -> None:
    table = ask(history, "select seq from messages order by seq", row_limit=3)
    assert table == SqlResult(("seq",), ((1,), (2,), (3,)), truncated=True)
    assert not ask(history, "select seq from messages", row_limit=50).truncated


def test_bytes_come_as_bytes(history: str) -> None:
    assert ask(history, "select 'a%sb'::bytea as b, '%(x)s' as t").rows == ((b"a%sb", "%(x)s"),)


def test_an_error_says_where_it_is(history: str) -> None:
    with pytest.raises(QueryError, match='column "sek" does not exist') as caught:
        ask(history, "select id,\n  sek from messages")
    assert caught.value.position == Position("query", 2, 3)
    with pytest.raises(QueryError, match='syntax error at or near "form"') as caught:
        ask(history, "select * form messages")
    assert caught.value.position == Position("query", 1, 10)


def test_an_error_while_running_is_told_too(history: str) -> None:
    with pytest.raises(QueryError, match="division by zero"):
        ask(history, "select 1 / (seq - 1) from messages")


@pytest.mark.parametrize("view", ["messages", "individuals", "statements"])
@pytest.mark.parametrize(
    "text", ["delete from {}", "with x as (delete from {} returning 1) table x"]
)
def test_a_statement_that_writes_to_a_view_is_refused_whatever_the_view(
    history: str, text: str, view: str
) -> None:
    with pytest.raises(QueryError):
        ask(history, text.format(view))


def test_a_statement_that_only_writes_is_told_what_is_expected(history: str) -> None:
    for name in ("messages", "individuals"):
        with pytest.raises(QueryError, match=r"^expected one statement that returns rows"):
            ask(history, f"delete from {name}")


def test_a_query_may_not_take_for_ever(history: str) -> None:
    with pytest.raises(Overrun, match="longer than"):
        ask(history, "select pg_sleep(60)", timeout=0.2)
    with pytest.raises(QueryError, match="set_config is not allowed"):
        ask(history, "select set_config('statement_timeout', '0', false), pg_sleep(60)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-- nothing",
        "select 1; select 2",
        "select 1; commit; delete from store.messages",
        "commit",
        "insert into store.webhooks values ('x', 'http://x', '', now()) returning id",
        "with gone as (delete from store.messages returning 1) select * from gone",
        "update store.progress set watermark = 0",
        "create table store.mine (x int)",
        "create temp table mine (x int)",
        "drop view history.messages",
        "copy (select 1) to program 'touch /tmp/sensorstream-broke-out'",
        "copy store.messages from '/etc/passwd'",
        "select pg_read_file('/etc/passwd')",
        "select lo_import('/etc/passwd')",
        "select * from store.webhooks",
        "select secret from store.webhooks",
        "select query_to_xml('select * from store.webhooks', true, true, '')",
        "select pg_ls_dir('/')",
        "set role postgres",
        "select set_config('role', 'postgres', true)",
        "select set_config('session_authorization', 'postgres', true)",
        "select set_config('transaction_read_only', 'off', true)",
        "do $$ begin perform 1; end $$",
        "select current_setting('data_directory')",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'",
        "lock table store.messages",
        "select dblink('x', 'y')",
    ],
)
def test_a_query_can_only_read_the_views(history: str, text: str) -> None:
    with pytest.raises(QueryError):
        ask(history, text)


@pytest.mark.parametrize(
    "text",
    [
        "select pg_logical_emit_message(false, 'x', repeat('x', 1000000))",
        'select "pg_logical_emit_message"(false, $$x$$, $$y$$)',
        "select PG_CATALOG . PG_Logical_Emit_Message(false, 'x', 'y')",
        "select /* /* */ ' */ pg_advisory_lock(1) -- '",
        "select E'\\'', pg_notify('a', 'b'), '",
        "select * from pg_try_advisory_lock(1)",
        "select nextval('store.anything')",
        "select lo_create(1)",
        "select query_to_xml('select pg_' || 'notify($$a$$, $$b$$)', true, true, '')",
        "select ts_stat('select 1')",
        "select pg_terminate_backend(pg_backend_pid())",
        "select setseed(0.5)",
        "select txid_current()",
        "select Pg_Current_Xact_Id()",
        "select query from pg_catalog.pg_stat_activity",
        "select * from pg_stat_get_activity(null)",
        "select pg_stat_get_backend_activity(1)",
    ],
)
def test_a_function_that_may_do_something_is_refused_by_its_name(history: str, text: str) -> None:
    with pytest.raises(QueryError, match="is not allowed in a question"):
        ask(history, text)


def test_names_spelled_by_numbers_are_refused(history: str) -> None:
    with pytest.raises(QueryError, match="spelled"):
        ask(history, "select U&\"pg\\005fnotify\"('a', 'b')")


def test_functions_that_only_compute_and_a_few_more_are_allowed(history: str) -> None:
    text = (
        "select random() < 1, gen_random_uuid() is not null, clock_timestamp() > now(), "
        "pg_sleep(0) is null, upper('a'), generate_series(1, 1), pg_relation_size('pg_class') > 0"
    )
    assert len(ask(history, text).rows) == 1


def test_a_query_that_would_take_all_memory_is_stopped(history: str) -> None:
    collected = ", ".join(f"string_agg(repeat('{each}', 1000000), '')" for each in "abcd")
    with pytest.raises(Overrun, match="more memory than PostgreSQL has"):
        ask(history, f"select {collected} from messages, generate_series(1, 8)", timeout=60)
    assert len(ask(history, "select id from messages").rows) == 50


def test_a_history_of_an_earlier_version_says_what_brings_it_up_to_date(url: str) -> None:
    make_history(url)
    rows(url, "drop function store.next_rows")
    with pytest.raises(HistoryError, match="start its server once"):
        ask(url, "select reason from messages")


def test_nothing_broke_out() -> None:
    assert not Path("/tmp/sensorstream-broke-out").exists()
