"""Backups of a deployment with an archive."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from click.testing import CliRunner, Result

from sensorstream.archive.manifest import changing
from sensorstream.cli import main
from sensorstream.history.reader_role import reader_url
from tests.history.analysed import analysed

COUNT = "select count(*) as n from statements"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def count(config: Path) -> str:
    return run("sql", "--on", "archive", "-c", config, "--csv", COUNT).stdout


def digests(folder: Path) -> dict[str, str]:
    return {
        str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in folder.rglob("*.parquet")
    }


def test_a_backup_has_the_archive_and_restores_it(
    tmp_path: Path, history: str, empty_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "old" / "sensorstream.toml"
    config.parent.mkdir()
    config.write_text(f'[history]\nurl = "{history}"\n[time]\nline = "datetime"\n')
    archive = config.parent / "data" / "archive"
    assert run("archive", "--older-than", "P30D", "-c", config).exit_code == 0
    before, kept = count(config), digests(archive)
    assert kept

    with closing(psycopg2.connect(history)) as connection, changing(connection):
        told = run("backup", tmp_path / "no.tar", "-c", config)
    assert told.exit_code != 0
    assert "another process changes the archive" in told.stderr
    made = run("backup", tmp_path / "b.tar", "-c", config)
    assert made.exit_code == 0, made.output
    assert "not in it" not in made.stderr

    # A file that is lost is told, by the backup and by the doctor.
    lost = archive / min(kept)
    lost.unlink()
    assert f"not in it: {lost}" in run("backup", tmp_path / "part.tar", "-c", config).stderr
    doctor = run("doctor", "-c", config)
    assert f"{lost}: lost from the archive" in doctor.output
    assert doctor.exit_code == 1

    url = empty_database()
    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", url)
    new = tmp_path / "new"
    restored = run("restore", tmp_path / "b.tar", new)
    assert restored.exit_code == 0, restored.output
    assert {"terms", "archives"} <= analysed(url)
    assert digests(new / "data" / "archive") == kept
    # The reader can log in before a server has run.
    with closing(psycopg2.connect(reader_url(url))) as connection, connection.cursor() as cursor:
        cursor.execute("select count(*) from history.statements")
        assert cursor.fetchone() is not None
    assert count(new / "sensorstream.toml") == before
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]

    # Files of another archive are not overwritten.
    other = tmp_path / "elsewhere"
    (other / min(kept)).parent.mkdir(parents=True)
    (other / min(kept)).write_bytes(b"another")
    monkeypatch.setenv("SENSORSTREAM_ARCHIVE_FOLDER", str(other))
    refused = run("restore", tmp_path / "b.tar", tmp_path / "third")
    assert refused.exit_code == 3
    assert "is another file" in refused.stderr
    assert (other / min(kept)).read_bytes() == b"another"
