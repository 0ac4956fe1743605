from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError, Overrun, Position, QueryError
from sensorstream.history import backends
from sensorstream.history.backends import end_in_time
from sensorstream.history.database import engine
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.reader_role import ALLOWED, reader_url
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from tests.waiting import eventually

SCHEMA = Schema(classes=frozenset({IRI("http://example.org/Human")}))


@pytest.fixture(scope="module")
def history(new_database: Callable[[], str]) -> str:
    """The URL of a history with views, some messages and a webhook with a secret."""
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    database = engine(url)
    install_views(database, SCHEMA, Timeline.INTEGER)
    database.dispose()
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "insert into store.messages select n, 'm' || n, 'rest', now(), n, ''::bytea, 'accepted'"
            " from generate_series(1, 50) n"
        )
        cursor.execute(
            "insert into store.webhooks (id, url, secret, created_at, number, place) "
            "values ('w', 'http://x', 'hush', now(), 1, 0)"
        )
    connection.close()
    return url


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


def test_whoever_logs_in_as_the_reader_can_execute_nothing_that_does_something(
    history: str,
) -> None:
    connection = psycopg2.connect(reader_url(history))
    with connection.cursor() as cursor:
        cursor.execute(
            "select distinct proname from pg_proc where prokind = 'f' and (provolatile = 'v' or "
            "proname in ('txid_current', 'pg_current_xact_id', 'pg_stat_get_activity')) "
            "and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, "
            "'internal'::regtype, 'language_handler'::regtype, 'index_am_handler'::regtype, "
            "'table_am_handler'::regtype, 'tsm_handler'::regtype, 'fdw_handler'::regtype) "
            "and pronamespace = 'pg_catalog'::regnamespace "
            "and has_function_privilege(oid, 'execute')"
        )
        open_ = {row[0] for row in cursor.fetchall()}
    connection.close()
    assert open_ <= {*ALLOWED, "set_config", "pg_export_snapshot"}


def test_a_query_that_postgresql_does_not_stop_is_left(
    history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "GRACE", 0.5)
    seen: list[int] = []
    monkeypatch.setattr(backends, "end_in_time", lambda process: seen.append(process.pid))
    # Each with each, without a look at the limit: on a quiet machine some eight seconds.
    # Its arrays are made within the limit, or PostgreSQL would look at it.
    series = "(select array_agg({}x) from generate_series(1, 60000) x)"
    with pytest.raises(Overrun, match=r"longer than limits\.question_seconds"):
        ask(history, f"select {series.format('')} && {series.format('-')}", timeout=1)
    eventually(lambda: seen)
    assert "postgres" in psutil.Process(seen[0]).name()


def test_a_process_that_does_not_end_in_time_is_killed() -> None:
    with subprocess.Popen(["sleep", "100"]) as hung:
        process = psutil.Process(hung.pid)
        end_in_time(process, 0.1, 0.1)
        assert hung.wait(60) == -signal.SIGKILL
    with subprocess.Popen(["sleep", "0"]) as ended:
        end_in_time(psutil.Process(ended.pid), 60, 60)
        assert ended.wait(60) == 0


def test_a_query_that_would_fill_the_disk_is_stopped(history: str) -> None:
    name = make_url(reader_url(history)).username
    with closing(psycopg2.connect(history)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "select option_value from pg_roles, pg_options_to_table(rolconfig) "
            "where rolname = %s and option_name = 'temp_file_limit'",
            (name,),
        )
        assert cursor.fetchall() == [("1GB",)]
        # What an administrator has set stays.
        cursor.execute(f'alter role "{name}" set temp_file_limit = 40000')
        connection.commit()
    database = engine(history)
    install_views(database, SCHEMA, Timeline.INTEGER)
    database.dispose()
    crossed = "select a.id, b.id, repeat('x', 99) from messages a, messages b, messages c, messages"
    with pytest.raises(Overrun, match=r"room on the disk .* \(40000kB\)"):
        ask(history, f"{crossed} d order by b.id || a.id || c.id", timeout=60)
    assert len(ask(history, "select id from messages order by id desc").rows) == 50


def test_a_query_that_would_take_all_memory_is_stopped(history: str) -> None:
    collected = ", ".join(f"string_agg(repeat('{each}', 1000000), '')" for each in "abcd")
    with pytest.raises(Overrun, match="more memory than PostgreSQL has"):
        ask(history, f"select {collected} from messages, generate_series(1, 8)", timeout=60)
    assert len(ask(history, "select id from messages").rows) == 50


def test_a_database_that_others_use_is_left_as_it_is(new_database: Callable[[], str]) -> None:
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("create table public.others (x int)")
    tables = engine(url)
    install_views(tables, SCHEMA, Timeline.INTEGER)
    tables.dispose()
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "select has_function_privilege('public', 'pg_notify(text, text)', 'execute')"
        )
        assert cursor.fetchone() == (True,)
    connection.close()
    with pytest.raises(QueryError, match="pg_notify is not allowed"):
        ask(url, "select pg_notify('a', 'b')")


def test_the_query_runs_as_the_reader(history: str) -> None:
    assert ask(history, "select session_user::text, current_user::text").rows == (
        (make_url(reader_url(history)).username,) * 2,
    )
    assert ask(history, "select rolsuper from pg_roles where rolname = current_user").rows == (
        (False,),
    )


def test_a_superuser_never_answers_in_the_readers_place(
    history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.history.reader_role.reader_name", lambda _: "nobody_at_all")
    with pytest.raises(HistoryError, match="names a superuser"):
        ask(history, "select 1")


def test_a_plain_owner_answers_where_there_is_no_reader(
    empty_database: Callable[[], str],
) -> None:
    """A database of somebody who may not create roles, on a server that others run."""
    url = empty_database()
    database = make_url(url).database
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"create role {database}_owner login")
        cursor.execute(f"alter database {database} owner to {database}_owner")
    connection.close()
    owner = make_url(url).set(username=f"{database}_owner").render_as_string(hide_password=False)
    PostgresStore.open(owner, Timeline.INTEGER).close()
    tables = engine(owner)
    install_views(tables, SCHEMA, Timeline.INTEGER)
    tables.dispose()
    assert ask(owner, "select count(*) from messages").rows == ((0,),)
    for text in (
        "delete from store.messages returning 1",
        "select 1; commit; delete from store.messages",
        "select set_config('transaction_read_only', 'off', true)",
        "select pg_read_file('/etc/passwd')",
    ):
        with pytest.raises(QueryError):
            ask(owner, text)


def test_a_history_of_an_earlier_version_says_what_brings_it_up_to_date(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    database = engine(url)
    install_views(database, SCHEMA, Timeline.INTEGER)
    database.dispose()
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("drop function store.next_rows")
    with pytest.raises(HistoryError, match="start its server once"):
        ask(url, "select reason from messages")


def test_the_readers_password_follows_from_the_writers() -> None:
    url = "postgresql://me:hunter2@db.example.org/plant"
    reader = make_url(reader_url(url))
    assert (reader.username, reader.host, reader.database) == (
        "plant_reader",
        "db.example.org",
        "plant",
    )
    assert reader.password
    assert "hunter2" not in reader.password
    assert reader_url(url) == reader_url(url)


def test_nothing_broke_out() -> None:
    assert not Path("/tmp/sensorstream-broke-out").exists()
