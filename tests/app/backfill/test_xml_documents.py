"""Every document of a folder is found; what is hostile is told and costs little."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from sensorstream.app.backfill import xml_documents as module
from sensorstream.app.backfill.xml_documents import Document, Refused, documents
from sensorstream.errors import ArchiveError

MOST = 1_000


def found(folder: Path) -> tuple[list[tuple[str, bytes]], Mapping[str, str]]:
    """The documents, and the reasons of the others by name; names without the folder."""
    every = list(documents(folder, MOST))
    return (
        [
            (each.name.removeprefix(f"{folder}/"), each.content)
            for each in every
            if isinstance(each, Document)
        ],
        {
            each.name.removeprefix(f"{folder}/"): each.reason
            for each in every
            if isinstance(each, Refused)
        },
    )


def tar(path: Path, members: Mapping[str, bytes], mode: str) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")],
)
def test_files_and_members_of_archives_are_found(suffix: str, mode: str, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.xml").write_bytes(b"<a/>")
    tar(tmp_path / f"b.{suffix}", {"x/1.xml": b"<b1/>", "../2.XML": b"<b2/>"}, mode)
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("/etc/1.xml", "<c/>")
    assert found(tmp_path) == (
        [
            (f"b.{suffix}/x/1.xml", b"<b1/>"),
            (f"b.{suffix}/../2.XML", b"<b2/>"),
            ("c.zip//etc/1.xml", b"<c/>"),
            ("deep/er/a.xml", b"<a/>"),
        ],
        {},
    )


def test_what_cannot_be_taken_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "large.xml").write_bytes(b"x" * (MOST + 1))
    (tmp_path / "fits.xml").write_bytes(b"x" * MOST)
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "cut.tar.gz").write_bytes(gzip.compress(os.urandom(3_000))[:900])
    (tmp_path / "link.xml").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.xml")
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("in.zip", b"")
        archive.writestr("readme", b"")
        archive.writestr("large.xml", b"x" * (MOST + 1))
        archive.writestr("secret.xml", b"<a/>")
        archive.writestr("a\nb\x1b.xml", b"<a/>")
    content = bytearray((tmp_path / "z.zip").read_bytes())
    for place in range(len(content) - 3):
        # The flag "encrypted" of one member, in the directory of the archive.
        if content[place : place + 4] == b"PK\x01\x02" and b"secret.xml" in content[place:][:60]:
            content[place + 8] |= 1
    (tmp_path / "z.zip").write_bytes(content)
    with tarfile.open(tmp_path / "t.tar", "w") as archive_:
        link = tarfile.TarInfo("link.xml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive_.addfile(link)
    taken, refused = found(tmp_path)
    assert [name for name, _ in taken] == ["fits.xml", "z.zip/a\\nb\\x1b.xml"]
    assert {name: reason.split(":")[0] for name, reason in refused.items()} == {
        "large.xml": "more than 1000 bytes (server.max_message_bytes)",
        "notes.txt": "expected *.xml, *.zip, *.tar, *.tar.gz, *.tar.bz2 or *.tar.xz",
        "broken.zip": "cannot be read",
        "cut.tar.gz": "cannot be read",
        "link.xml": "a link or a special file",
        "pipe.xml": "a link or a special file",
        "z.zip/in.zip": "an archive in an archive",
        "z.zip/readme": "expected *.xml",
        "z.zip/large.xml": "more than 1000 bytes (server.max_message_bytes)",
        "z.zip/secret.xml": "encrypted",
        "t.tar/link.xml": "a link or a special file",
    }


def test_an_archive_that_unpacks_to_too_much_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FREE", 5 * MOST)
    monkeypatch.setattr(module, "_RATIO", 1)
    many = {f"{n}.xml": b" " * MOST for n in range(50)}
    tar(tmp_path / "bomb.tar.gz", many, "w:gz")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in many.items():
            archive.writestr(name, content)
    (tmp_path / "good.xml").write_bytes(b"<a/>")
    taken, refused = found(tmp_path)
    assert 0 < len(taken) < 60
    assert taken[-1] == ("good.xml", b"<a/>")
    assert [name.split("/")[0] for name in refused] == ["bomb.tar.gz", "bomb.zip"]
    assert {"unpacks to more" in reason for reason in refused.values()} == {True}


def test_too_many_members_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_MEMBERS", 3)
    many = {f"{n}.xml": b"<a/>" for n in range(9)}
    tar(tmp_path / "many.tar", many, "w")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for name, content in many.items():
            archive.writestr(name, content)
    taken, refused = found(tmp_path)
    assert (len(taken), len(refused)) == (6, 2)
    assert {"more than 3 members" in reason for reason in refused.values()} == {True}


def test_a_header_of_a_tar_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 7 * 2**30
    (tmp_path / "bomb.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 4096)
    taken, refused = found(tmp_path)
    assert taken == []
    assert list(refused) == ["bomb.tar"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="there is no folder"):
        list(documents(tmp_path / "nowhere", MOST))
