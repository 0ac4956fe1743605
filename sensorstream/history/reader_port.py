"""A TCP port of the embedded PostgreSQL for its reader, and for nobody else.

It is open on 127.0.0.1 only, and only if the settings ask for it. The reader's password is made by
chance once and is kept beside the cluster, in a file that only its owner can read.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from psycopg2 import extensions, sql
from sqlalchemy.engine import URL

from sensorstream.history.reader_role import reader_name

HOST: Final = "127.0.0.1"
_RULES: Final = """\
# Written by SensorStream whenever it starts PostgreSQL with history.port.
local all all trust
host "{database}" "{reader}" {host}/32 scram-sha-256
"""


def server_options(
    cluster: Path, database: str, port: int, owner: pwd.struct_passwd | None
) -> Mapping[str, str]:
    """PostgreSQL's options that open ``port``; writes the file with who may come in."""
    rules = cluster / "reader_hba.conf"
    text = _RULES.format(database=database, reader=reader_name(database), host=HOST)
    rules.write_text(text)
    if owner is not None:
        os.chown(rules, owner.pw_uid, owner.pw_gid)
    return {"listen_addresses": HOST, "port": str(port), "hba_file": str(rules)}


def let_in(cursor: extensions.cursor, folder: Path, database: str) -> None:
    """Give the reader of ``database`` its password; makes the role if it is not there yet."""
    role = sql.Identifier(reader_name(database))
    cursor.execute("select 1 from pg_roles where rolname = %s", (reader_name(database),))
    if cursor.fetchone() is None:
        cursor.execute(sql.SQL("create role {} login").format(role))
    cursor.execute(sql.SQL("alter role {} password %s").format(role), (_password(folder),))


def address(folder: Path, database: str, port: int) -> str:
    """The reader's URL on TCP."""
    return URL.create(
        "postgresql",
        username=reader_name(database),
        password=_password(folder),
        host=HOST,
        port=port,
        database=database,
    ).render_as_string(hide_password=False)


def _password(folder: Path) -> str:
    file = folder / "reader-password"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text()
    password = token_urlsafe(32)
    with os.fdopen(handle, "w") as opened:
        opened.write(password)
    return password
