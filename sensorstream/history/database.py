"""The only interface to psycopg2 and SQLAlchemy: URLs, connections and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sensorstream.errors import HistoryError, Unstorable

_SETTINGS: Final = (
    "-c TimeZone=UTC "
    # Our statements take milliseconds, and to compile one takes longer, each time.
    "-c jit=off "
    # The lock of a writer whose machine is gone must not last for hours.
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
)
"""What each session of ours has, whatever server, database and role say."""

# Of values: data exceptions, limits of the program, and what a column does not take. PostgreSQL's
# manual, appendix A.
_OF_VALUES: Final = ("22", "54", "23502", "23514")


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise HistoryError("the history's URL is not postgresql://user@host/database")
    return parsed


def describe(url: str) -> str:
    """The URL without its password, for people."""
    return _parse(url).render_as_string(hide_password=True)


def connect(url: str, *, application: str = "sensorstream") -> extensions.connection:
    """A new connection; times are returned in UTC.

    Raises:
        HistoryError: not a PostgreSQL URL, or the server cannot be reached.
    """
    parsed = _parse(url)
    # Parameters one by one: a URL that SQLAlchemy writes has "+" for a space, and libpq keeps it.
    told = _query(parsed) | parsed.translate_connect_args(username="user", database="dbname")
    told |= _session(parsed) | {"application_name": application}
    with translating(f"cannot connect to {describe(url)}"):
        connection: extensions.connection = psycopg2.connect(**told)
    return connection


def engine(url: str, *, pool_size: int = 2) -> Engine:
    """A small pool of connections, safe to share between threads.

    Raises:
        HistoryError: not a PostgreSQL URL.
    """
    parsed = _parse(url)
    return create_engine(
        parsed.set(drivername="postgresql+psycopg2"),
        pool_size=pool_size,
        pool_pre_ping=True,
        connect_args=_session(parsed),
    )


def _query(url: URL) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in url.query.items()
    }


def _session(url: URL) -> dict[str, Any]:
    """What libpq is told for each session; the options of the URL itself come first."""
    options = f"{_query(url).get('options', '')} {_SETTINGS}".lstrip()
    return {"connect_timeout": 10, "options": options}


@contextmanager
def translating(doing: str) -> Iterator[None]:
    """Turn the drivers' errors into :class:`HistoryError`: "doing: what PostgreSQL said"."""
    try:
        yield
    except (psycopg2.Error, SQLAlchemyError) as error:
        raise HistoryError(f"{doing}: {_reason(error)}") from error


@contextmanager
def translating_writes(doing: str) -> Iterator[None]:
    """As :func:`translating`, for values that are stored.

    Raises:
        Unstorable: PostgreSQL, or its driver, would not take a value at any other time either.
    """
    try:
        yield
    except ValueError as error:
        # The driver: NUL, or half a character.
        raise Unstorable(f"{doing}: {error}") from error
    except psycopg2.Error as error:
        lasting = (error.pgcode or "").startswith(_OF_VALUES)
        kind = Unstorable if lasting else HistoryError
        # Without the statements in which it happened, which PostgreSQL adds.
        reason = error.diag.message_primary or _reason(error)
        raise kind(f"{doing}: {reason}") from error


def _reason(error: Exception) -> str:
    told = getattr(error, "orig", None) or error
    return str(told).strip().removeprefix("ERROR:").strip() or type(told).__name__
