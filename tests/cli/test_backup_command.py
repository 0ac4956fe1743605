"""Backups of a deployment whose server runs, and what is made of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.history import embedded
from sensorstream.history.database import connect
from sensorstream.processes.own_folders import lock_folder
from sensorstream.settings.settings_file import load_settings
from tests.waiting import eventually

Run = Callable[..., Result]
COUNT = "select count(*) from history.messages"


def test_a_backup_of_a_server_under_load_is_a_deployment_of_one_moment(
    run: Run,
    new_workspace: Callable[[], Path],
    empty_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = new_workspace()
    file, folder = tmp_path / "backup.tar", tmp_path / "restored"
    acknowledged: list[int] = []
    stop = threading.Event()

    def post(url: str) -> None:
        headers = {"Content-Type": "application/xml"}
        with httpx.Client(trust_env=False, headers=headers, timeout=60) as client:
            for message in tracker_messages(100_000, seed=5):
                if stop.is_set():
                    return
                client.post(f"{url}/messages", content=message).raise_for_status()
                acknowledged.append(1)

    with ServerProcess(config) as process:
        url = process.url()
        with CommandClient(url) as client:
            client.add_webhook("http://127.0.0.1:9/kept")
        sender = threading.Thread(target=post, args=(url,))
        sender.start()
        try:
            eventually(lambda: len(acknowledged) >= 40 or not sender.is_alive())
            assert sender.is_alive()
            before = len(acknowledged)
            made = run("backup", file, "-c", config)
        finally:
            stop.set()
            sender.join()
    assert made.exit_code == 0, made.output
    assert file.stat().st_mode & 0o077 == 0
    again = run("backup", file, "-c", config, status=1)
    assert "is not overwritten" in again.stderr

    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", empty_database())
    run("restore", file, folder, status=0)
    with (
        ServerProcess(folder / "sensorstream.toml") as process,
        CommandClient(process.url()) as client,
    ):
        [hook] = client.webhooks()
        assert hook["url"].startswith("http://127.0.0.1:9/")
        [[count]] = client.sql(COUNT).rows
        assert before <= count <= len(acknowledged)
        # It goes on where it was: nothing is stored twice.
        for message in tracker_messages(3, seed=6, start=100_000):
            client.send(message)
    over = run("restore", file, tmp_path / "other", status=3)
    assert "holds a history already" in over.stderr
    full = run("restore", file, folder, status=3)
    assert "is not empty" in full.stderr


def test_a_backup_that_is_killed_leaves_nothing_that_the_next_one_does_not_remove(
    run: Run, new_workspace: Callable[[], Path], tmp_path: Path
) -> None:
    config, folder = new_workspace(), tmp_path
    # Broken, and not in force: what a backup is for must not depend on it.
    rules = next(config.parent.glob("**/*.rules"))
    with ServerProcess(config) as process, CommandClient(process.url()) as client:
        client.send(next(tracker_messages(1)))
        rules.write_text("mapping of what")
        file, held = folder / "backup.tar", folder / ".backup-held"
        held.mkdir()
        own = lock_folder(held)
        with (
            closing(connect(load_settings(config).history.url)) as connection,
            connection.cursor() as cursor,
        ):
            # pg_dump waits for it.
            cursor.execute("lock table store.messages in access exclusive mode")
            command = [sys.executable, "-m", "sensorstream", "backup", str(file), "-c", str(config)]
            backup = subprocess.Popen(command, start_new_session=True)
            eventually(lambda: [*folder.glob(".backup-*/database.dump")])
            os.killpg(backup.pid, signal.SIGKILL)
            backup.wait()
        assert not file.exists()
        assert len([*folder.glob(".backup-*")]) == 2
        run("backup", file, "-c", config, status=0)
        assert [*folder.glob(".backup-*")] == [held], "another one is at work there"
        os.close(own)
        assert client.send(next(tracker_messages(1, seed=2)))["status"] == "accepted"


def pack(tar: tarfile.TarFile, content: dict[str, bytes], told: dict[str, bytes]) -> None:
    """Write what a backup of this content has, with the digests of what is told."""
    facts = {"format": 1, "version": "1", "made_at": "", "settings": "s.toml", "archive": ""}
    digests = {name: hashlib.sha256(each).hexdigest() for name, each in told.items()}
    whole = json.dumps({**facts, "outside": [], "digests": digests}).encode()
    for name, each in {"backup.json": whole, **content}.items():
        head = tarfile.TarInfo(name)
        head.size = len(each)
        tar.addfile(head, io.BytesIO(each))


def test_a_damaged_backup_changes_nothing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    file.write_bytes(b"nothing")
    told = run("restore", file, tmp_path / "new", status=3)
    assert "is not a whole backup" in told.stderr
    with tarfile.open(file, "w"):
        pass
    assert "is not a backup" in run("restore", file, tmp_path / "new").stderr
    for name, content in (("deployment/../../evil", b"x"), ("database.dump", b"y")):
        with tarfile.open(file, "w") as tar:
            pack(tar, {name: content}, {name: b"x"})
        told = run("restore", file, tmp_path / "new", status=3)
        assert "is not a whole backup" in told.stderr or "is damaged" in told.stderr
    assert not (tmp_path / "new").exists()


HOSTILE: dict[str, Callable[[tarfile.TarInfo], object]] = {
    "a link": lambda head: setattr(head, "type", tarfile.SYMTYPE),
    "a hard link": lambda head: setattr(head, "type", tarfile.LNKTYPE),
    "a device": lambda head: setattr(head, "type", tarfile.CHRTYPE),
    "a folder": lambda head: setattr(head, "type", tarfile.DIRTYPE),
    "not of it": lambda head: setattr(head, "name", "/etc/evil"),
    "above it": lambda head: setattr(head, "name", "../evil"),
    "twice": lambda head: setattr(head, "name", "deployment/s.toml"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_backup_with_anything_that_none_has_is_refused_and_says_what(
    run: Run, tmp_path: Path, kind: str
) -> None:
    content = {"deployment/s.toml": b"", "database.dump": b"x", "archive/a": b"y"}
    file = tmp_path / "backup.tar"
    with tarfile.open(file, "w") as tar:
        pack(tar, content, content)
        hostile = tarfile.TarInfo("archive/b")
        hostile.linkname = "../../evil"
        HOSTILE[kind](hostile)
        tar.addfile(hostile)
    told = run("restore", file, tmp_path / "new", status=3)
    assert f"nothing is restored: '{hostile.name}' is no" in told.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["backup.tar"]


def test_a_backup_needs_a_history(run: Run, tmp_path: Path) -> None:
    assert run("init", tmp_path / "new").exit_code == 0
    told = run("backup", tmp_path / "b.tar", "-c", tmp_path / "new" / "sensorstream.toml", status=3)
    assert "there is no history yet" in told.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["new"]


def test_a_restore_that_is_killed_leaves_no_deployment(
    run: Run, new_workspace: Callable[[], Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = new_workspace()
    with ServerProcess(config) as process, CommandClient(process.url()) as client:
        client.send(next(tracker_messages(1)))
    file, restored = folder / "backup.tar", folder / "restored"
    assert run("backup", file, "-c", config).exit_code == 0
    # Into the embedded PostgreSQL.
    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", "")
    command = [sys.executable, "-m", "sensorstream", "restore", str(file), str(restored)]
    process_of_restore = subprocess.Popen(command, start_new_session=True)
    eventually(lambda: [*folder.glob(".restore-*/deployment/data/cluster/postmaster.pid")])
    os.killpg(process_of_restore.pid, signal.SIGKILL)
    process_of_restore.wait()
    assert not restored.exists()
    left = [*folder.glob(".restore-*/deployment/data/cluster/postmaster.pid")]
    for each in left:
        os.kill(int(each.read_text().split()[0]), signal.SIGKILL)
    restored.mkdir()
    run("restore", file, restored, status=0)
    assert not [*restored.glob(".restore-*"), *folder.glob(".restore-*")]
    with (
        embedded.start(restored / "data") as server,
        closing(connect(server.url)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("select count(*) from store.messages")
        assert cursor.fetchone() == (1,)
