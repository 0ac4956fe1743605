"""The role that reads: what it may call, and who answers where there is none."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError, Overrun, QueryError
from sensorstream.history.reader_role import ALLOWED, reader_url
from tests.databases import Databases, make_history, make_views, rows
from tests.history.test_read_only_sql import ask


def test_whoever_logs_in_as_the_reader_can_execute_nothing_that_does_something(
    history: str,
) -> None:
    found = rows(
        reader_url(history),
        "select distinct proname from pg_proc where prokind = 'f' and (provolatile = 'v' or "
        "proname in ('txid_current', 'pg_current_xact_id', 'pg_stat_get_activity')) "
        "and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype, "
        "'internal'::regtype, 'language_handler'::regtype, 'index_am_handler'::regtype, "
        "'table_am_handler'::regtype, 'tsm_handler'::regtype, 'fdw_handler'::regtype) "
        "and pronamespace = 'pg_catalog'::regnamespace and has_function_privilege(oid, 'execute')",
    )
    assert {row[0] for row in found} <= {*ALLOWED, "set_config", "pg_export_snapshot"}


def test_a_query_that_would_fill_the_disk_is_stopped(history: str) -> None:
    name = make_url(reader_url(history)).username
    limit = (
        "select option_value from pg_roles, pg_options_to_table(rolconfig) "
        f"where rolname = '{name}' and option_name = 'temp_file_limit'"
    )
    assert rows(history, limit) == [("1GB",)]
    # What an administrator has set stays.
    rows(history, f'alter role "{name}" set temp_file_limit = 40000')
    make_views(history)
    crossed = "select a.id, b.id, repeat('x', 99) from messages a, messages b, messages c, messages"
    with pytest.raises(Overrun, match=r"room on the disk .* \(40000kB\)"):
        ask(history, f"{crossed} d order by b.id || a.id || c.id", timeout=60)
    assert len(ask(history, "select id from messages order by id desc").rows) == 50


def test_a_database_that_others_use_is_left_as_it_is(url: str) -> None:
    rows(url, "create table public.others (x int)")
    make_history(url)
    asked = "select has_function_privilege('public', 'pg_notify(text, text)', 'execute')"
    assert rows(url, asked) == [(True,)]
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


def test_a_plain_owner_answers_where_there_is_no_reader(empty_database: Databases) -> None:
    """A database of somebody who may not create roles, on a server that others run."""
    url = empty_database()
    database = make_url(url).database
    rows(
        url,
        f"create role {database}_owner login",
        f"alter database {database} owner to {database}_owner",
    )
    owner = make_url(url).set(username=f"{database}_owner").render_as_string(hide_password=False)
    make_history(owner)
    assert ask(owner, "select count(*) from messages").rows == ((0,),)
    for text in (
        "delete from store.messages returning 1",
        "select 1; commit; delete from store.messages",
        "select set_config('transaction_read_only', 'off', true)",
        "select pg_read_file('/etc/passwd')",
    ):
        with pytest.raises(QueryError):
            ask(owner, text)


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
