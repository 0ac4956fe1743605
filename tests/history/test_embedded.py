from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg2
import pytest
from psycopg2.extras import wait_select
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError
from sensorstream.history import embedded
from sensorstream.history.database import connect, engine
from sensorstream.history.embedded import reader_address, start
from tests.databases import execute, make_history
from tests.waiting import eventually


def ask(url: str, query: str) -> object:
    return next((row[0] for row in execute(url, query)), None)


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "cluster" / "postmaster.pid").read_text().split()[0]))


def gone(process: psutil.Process) -> bool:
    """Ended; where nobody reaps orphans (a container) a zombie stays."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def ends(process: psutil.Process) -> bool:
    """It ends soon: PostgreSQL removes its lock file a moment before."""
    deadline = time.monotonic() + 30
    while not gone(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return gone(process)


def test_what_is_committed_is_on_disk_and_no_network_leads_to_it(folder: Path) -> None:
    with start(folder) as server:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            assert ask(server.url, f"select current_setting('{setting}')") == "on"
        assert ask(server.url, "select current_setting('listen_addresses')") == ""


@pytest.mark.parametrize("name", ["two words", "50% + more", "it's here, ok"])
def test_a_folder_may_have_an_odd_name(folder: Path, name: str) -> None:
    with start(folder / name) as server:
        connection = connect(server.url)
        assert connection.info.dbname == "sensorstream"
        connection.close()
        database = engine(server.url)
        with database.connect() as opened:
            assert opened.exec_driver_sql("select 1").scalar() == 1
        database.dispose()


def test_the_server_stops_with_its_last_user_and_keeps_what_it_has(folder: Path) -> None:
    first = start(folder)
    second = start(folder)
    execute(first.url, "create table kept as select 7 as number")
    process = postmaster(folder)
    first.stop()
    first.stop()
    assert ask(second.url, "select number from kept") == 7
    second.stop()
    assert ends(process)
    with start(folder) as third:
        assert ask(third.url, "select number from kept") == 7


def test_a_server_whose_user_was_killed_is_found_again(folder: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from sensorstream.history.embedded import start\n"
        "print(start(Path(sys.argv[1])).url, flush=True); time.sleep(600)"
    )
    user = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert user.stdout is not None
    url = user.stdout.readline().strip()
    user.send_signal(signal.SIGKILL)
    user.wait()
    user.stdout.close()
    process = postmaster(folder)
    with start(folder) as again:
        assert again.url == url
        assert postmaster(folder).pid == process.pid
    assert ends(process)


def test_a_server_that_was_killed_recovers(folder: Path) -> None:
    first = start(folder)
    execute(first.url, "create table kept as select 7 as number")
    process = postmaster(folder)
    process.kill()
    assert ends(process)
    first.stop()
    with start(folder) as second:
        assert ask(second.url, "select number from kept") == 7


def hang(url: str) -> None:
    """A session begins what takes minutes, and looks at no signal."""
    connection = psycopg2.connect(url, async_=True)
    wait_select(connection)
    cursor = connection.cursor()
    cursor.execute(
        "select (select array_agg(x) from generate_series(1, 400000) x) && "
        "(select array_agg(-x) from generate_series(1, 400000) x), pg_sleep(600)"
    )
    # It is at it when the client has gone.
    eventually(
        lambda: ask(url, "select count(*) from pg_stat_activity where state = 'active'") == 2
    )
    connection.close()


def test_a_session_that_never_ends_keeps_no_server_from_stopping_or_starting(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_FAST_SECONDS", 0.2)
    first = start(folder)
    execute(first.url, "create table kept as select 7 as number")
    hang(first.url)
    process = postmaster(folder)
    first.stop()
    assert ends(process)
    second = start(folder)
    hang(second.url)
    # Whoever stopped it did not wait.
    postmaster(folder).send_signal(signal.SIGINT)
    with start(folder) as third:
        assert ask(third.url, "select number from kept") == 7
    second.stop()


def test_a_first_start_that_was_killed_half_way_leaves_nothing(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from sensorstream.history.embedded import start\n"
        "start(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(folder)]
    user = subprocess.Popen(command, start_new_session=True)
    eventually(lambda: [*folder.glob("*/PG_VERSION")])
    os.killpg(user.pid, signal.SIGKILL)
    user.wait()
    with start(folder) as server:
        assert ask(server.url, "select 1") == 1
    assert sorted(each.name for each in folder.iterdir()) == ["cluster", "log", "starting", "users"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_start_that_a_signal_ends_leaves_no_server(folder: Path, number: signal.Signals) -> None:
    program = (
        "import signal, sys; from pathlib import Path\n"
        "from sensorstream.history.embedded import start\n"
        "signal.signal(int(sys.argv[2]), lambda *_: sys.exit(1))\n"
        "start(Path(sys.argv[1]))\n"
        "sys.exit(0)"
    )
    user = subprocess.Popen([sys.executable, "-c", program, str(folder), str(int(number))])
    # PostgreSQL is there, and has not said yet that it is ready.
    eventually(lambda: [*folder.glob("cluster/postmaster.pid")])
    user.send_signal(number)
    assert user.wait() == 1
    assert not [*folder.glob("cluster/postmaster.pid")]


def test_a_server_whose_folder_was_moved_is_found_in_its_new_place(folder: Path) -> None:
    old, new = folder / "old", folder / "new"
    first = start(old)
    execute(first.url, "create table kept as select 7 as number")
    process = postmaster(old)
    old.rename(new)
    first.stop()
    with start(new) as moved:
        assert ask(moved.url, "select number from kept") == 7
    assert ends(process)


def test_a_stale_pid_file_that_names_somebody_else_is_no_obstacle(folder: Path) -> None:
    start(folder).stop()
    (folder / "cluster" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder}/cluster\n")
    with start(folder) as server:
        assert ask(server.url, "select 1") == 1


def test_a_folder_with_a_long_path_gets_a_short_socket(folder: Path) -> None:
    long = folder / ("a long name with spaces, 'quotes' and a comma " * 3)
    with start(long) as server:
        assert ask(server.url, "select 1") == 1
        sockets = make_url(server.url).query["host"]
        assert Path(str(sockets)).is_dir()
    assert not Path(str(sockets)).exists()


def test_a_folder_with_other_files_is_refused(folder: Path) -> None:
    (folder / "cluster").mkdir()
    (folder / "cluster" / "notes.txt").write_text("mine")
    with pytest.raises(HistoryError, match="holds files but no PostgreSQL cluster"):
        start(folder)


def test_a_cluster_that_does_not_start_says_why(folder: Path) -> None:
    start(folder).stop()
    (folder / "cluster" / "postgresql.auto.conf").write_text("no_such_setting = on\n")
    with pytest.raises(HistoryError, match="no_such_setting"):
        start(folder)


@pytest.fixture
def port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_with_a_port_the_reader_comes_in_by_tcp_and_nobody_else(folder: Path, port: int) -> None:
    with pytest.raises(HistoryError, match="there is no history"):
        reader_address(folder, port)
    with start(folder, port) as server:
        assert server.port == port
        make_history(server.url)
        address = make_url(reader_address(folder, port))
        assert (address.host, address.port) == ("127.0.0.1", port)
        reader = address.render_as_string(hide_password=False)
        assert ask(reader, "select count(*) from messages") == 0
        assert ask(reader, "select current_setting('transaction_read_only')") == "on"
        for refused, reason in (
            (address.set(password="wrong"), "password authentication failed"),
            (address.set(username="postgres"), "no pg_hba.conf entry"),
            (address.set(database="postgres"), "no pg_hba.conf entry"),
        ):
            with pytest.raises(psycopg2.OperationalError, match=reason):
                psycopg2.connect(refused.render_as_string(hide_password=False))
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            ask(reader, "select secret from store.webhooks")
        # A second user of the server finds it by its port, and the socket still works.
        with start(folder) as second:
            assert (second.port, ask(second.url, "select 1")) == (port, 1)
    assert (folder / "reader-password").stat().st_mode & 0o777 == 0o600
    with start(folder, port):
        assert make_url(reader_address(folder, port)) == address
        assert ask(reader, "select 1") == 1


def test_a_server_without_the_port_says_so(folder: Path, port: int) -> None:
    with start(folder), start(folder, port) as second:
        assert second.port == 0
        with pytest.raises(HistoryError, match=f"was started without port {port}"):
            reader_address(folder, port)


def test_a_port_that_is_taken_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = int(listener.getsockname()[1])
        with pytest.raises(HistoryError, match="Address already in use"):
            start(folder, taken)
