from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import click
import pytest

from sensorstream.cli.send_command import sources


def read(*names: str) -> list[bytes]:
    return [source.read() for source in sources(names)]


def test_a_file_is_one_message(tmp_path: Path) -> None:
    file = tmp_path / "message.anything"
    file.write_bytes(b"<a/>")
    assert read(str(file), str(file)) == [b"<a/>", b"<a/>"]


def test_a_folder_gives_its_xml_files_by_name(tmp_path: Path) -> None:
    for name in ("2.xml", "1.xml", "notes.txt"):
        (tmp_path / name).write_text(name)
    assert read(str(tmp_path)) == [b"1.xml", b"2.xml"]


def test_an_archive_gives_its_xml_files_by_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("b/2.xml", "b/1.xml", "readme"):
            archive.writestr(name, name)
    assert read(str(tmp_path / "all.zip")) == [b"b/1.xml", b"b/2.xml"]
    assert sources([str(tmp_path / "all.zip")])[0].name.endswith("all.zip/b/1.xml")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"<from-outside/>")))
    assert read("-") == [b"<from-outside/>"]


def test_nothing_to_send_is_wrong_usage(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("readme", "")
    (tmp_path / "empty").mkdir()
    for name in ("absent.xml", "empty", "none.zip"):
        with pytest.raises(click.BadParameter, match=name):
            sources([str(tmp_path / name)])
