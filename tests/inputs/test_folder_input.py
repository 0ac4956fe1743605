from __future__ import annotations

import os
from pathlib import Path

import pytest

from sensorstream.errors import SettingsError
from sensorstream.inputs.inputs import reader_of
from tests.inputs.conftest import LIMIT, Bench
from tests.waiting import eventually

QUICK = 'path = "drop"\nsettle = 0.05\npoll = 0.02\n'
PLACES = ("done", "failed")


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    made = tmp_path / "drop"
    made.mkdir()
    return made


def names(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_files_are_taken_in_order_of_their_names_and_moved(bench: Bench, drop: Path) -> None:
    for name in ("b.xml", "a.xml", "c.xml", "note.txt", ".hidden.xml"):
        (drop / name).write_bytes(f"<m>{name}</m>".encode())
    with bench.running(QUICK, "folder", 'source = "hall"') as running:
        eventually(lambda: len(names(drop / "done")) == 3)
        assert running.state == ""
        assert bench.value("connected") == 1
    assert bench.journal.contents == [b"<m>a.xml</m>", b"<m>b.xml</m>", b"<m>c.xml</m>"]
    assert set(bench.journal.sources) == {"hall"}
    assert bench.value("messages_total", status="accepted") == 3
    assert names(drop) == [".hidden.xml", "done/a.xml", "done/b.xml", "done/c.xml", "note.txt"]


def test_files_are_taken_in_order_of_their_time_if_asked(bench: Bench, drop: Path) -> None:
    for number, name in enumerate(("b.xml", "c.xml", "a.xml")):
        (drop / name).write_bytes(name.encode())
        os.utime(drop / name, (1000 + number, 1000 + number))
    with bench.running(QUICK + 'order = "time"', "folder"):
        eventually(lambda: len(names(drop / "done")) == 3)
    assert bench.journal.contents == [b"b.xml", b"c.xml", b"a.xml"]
    assert set(bench.journal.sources) == {"in"}


def test_a_bad_file_is_kept_with_its_reason_and_stops_no_other(bench: Bench, drop: Path) -> None:
    (drop / "1.xml").write_bytes(b"<bad")
    (drop / "2.xml").write_bytes(b"<good/>")
    (drop / "3.xml").write_bytes(b"x" * (LIMIT + 1))
    with bench.running(QUICK, "folder"):
        eventually(
            lambda: (
                names(drop)
                == [
                    "done/2.xml",
                    "failed/1.xml",
                    "failed/1.xml.reason",
                    "failed/3.xml",
                    "failed/3.xml.reason",
                ]
            )
        )
    assert (drop / "failed/1.xml.reason").read_text() == (
        "malformed-message: it is bad\nquarantined as m1\n"
    )
    assert (drop / "failed/3.xml.reason").read_text() == (
        f"message-too-large: the message holds {LIMIT + 1} bytes, the limit is {LIMIT}\n"
    )
    assert bench.journal.contents == [b"<bad", b"<good/>"]


def test_a_file_that_grows_is_taken_when_it_is_complete(bench: Bench, drop: Path) -> None:
    with (
        bench.running('path = "drop"\nsettle = 0.5\npoll = 0.02', "folder"),
        (drop / "a.xml").open("w") as file,
    ):
        for _ in range(20):
            file.write("<part/>")
            file.flush()
            eventually(lambda: True)
        file.close()
        eventually(lambda: names(drop / "done"))
    assert bench.journal.contents == [b"<part/>" * 20]


def test_a_file_that_was_journalled_but_not_moved_before_a_crash_is_only_moved(
    bench: Bench, drop: Path
) -> None:
    file = drop / "a.xml"
    file.write_bytes(b"<a/>")
    times = file.stat().st_mtime_ns
    with bench.running(QUICK, "folder"):
        eventually(lambda: names(drop / "done"))
    (drop / "done" / "a.xml").replace(file)  # as if it had not been moved
    with bench.running(QUICK, "folder"):
        eventually(lambda: names(drop / "done"))
    assert (bench.journal.contents, bench.journal.repeats) == ([b"<a/>"], 1)
    # The same content under the same name later is a new message; the file of before is kept.
    file.write_bytes(b"<a/>")
    os.utime(file, ns=(times + 1, times + 1))
    with bench.running(QUICK, "folder"):
        eventually(lambda: len(names(drop / "done")) == 2)
    assert bench.journal.contents == [b"<a/>", b"<a/>"]
    assert names(drop) == ["done/a.2.xml", "done/a.xml"]


def test_a_name_of_any_bytes_and_any_length_stops_nothing(bench: Bench, drop: Path) -> None:
    longest = "l" * 251 + ".xml"
    files = {
        b"\xff.xml": b"<a/>",
        b"\xfe.xml": b"<bad",
        longest.encode(): b"<bad",
        b"z.xml": b"<z/>",
    }
    for name, content in files.items():
        (drop / os.fsdecode(name)).write_bytes(content)
    (drop / "failed").mkdir()
    (drop / "failed" / longest).touch()
    with bench.running(QUICK, "folder") as running:
        eventually(lambda: not [each for each in drop.iterdir() if each.is_file()])
        eventually(lambda: running.state == "")
    assert sorted(bench.journal.contents) == sorted(files.values())
    done, failed = ({os.fsencode(each.name) for each in (drop / n).iterdir()} for n in PLACES)
    assert done == {b"\xff.xml", b"z.xml"}
    cut = ("l" * 249 + ".2.xml").encode()
    assert failed == {
        *(b"\xfe.xml", b"\xfe.xml.reason"),
        *(longest.encode(), cut, cut[:248] + b".reason"),
    }


def test_a_file_that_cannot_be_moved_is_said_and_stops_no_other(bench: Bench, drop: Path) -> None:
    (drop / "a").mkdir()
    (drop / "a" / "1.xml").write_bytes(b"<a/>")
    (drop / "done").mkdir()
    (drop / "done" / "a").touch()  # in the place of a folder
    (drop / "z.xml").write_bytes(b"<z/>")
    with bench.running(QUICK + "subfolders = true", "folder") as running:
        eventually(lambda: names(drop / "done") == ["a", "z.xml"])
        eventually(lambda: f"cannot move {drop / 'a/1.xml'}" in running.state)
        assert bench.value("connected") == 0
        (drop / "b.xml").write_bytes(b"<b/>")
        eventually(lambda: names(drop / "done") == ["a", "b.xml", "z.xml"])
        assert f"cannot move {drop / 'a/1.xml'}" in running.state
        (drop / "done" / "a").unlink()
        eventually(lambda: names(drop / "done") == ["a/1.xml", "b.xml", "z.xml"])
        eventually(lambda: running.state == "")
    assert sorted(bench.journal.contents) == [b"<a/>", b"<b/>", b"<z/>"]


def test_folders_inside_count_only_if_asked(bench: Bench, drop: Path) -> None:
    (drop / "north" / "far").mkdir(parents=True)
    (drop / "north" / "far" / "a.xml").write_bytes(b"<far/>")
    (drop / "b.xml").write_bytes(b"<near/>")
    (drop / "loop").symlink_to(drop)
    with bench.running(QUICK, "folder"):
        eventually(lambda: names(drop / "done") == ["b.xml"])
    with bench.running(QUICK + "subfolders = true", "folder"):
        eventually(lambda: names(drop / "done") == ["b.xml", "north/far/a.xml"])
    assert bench.journal.contents == [b"<near/>", b"<far/>"]


def test_a_file_stays_until_its_message_is_in_the_journal(bench: Bench, drop: Path) -> None:
    (drop / "a.xml").write_bytes(b"<a/>")
    bench.journal.full = True
    with bench.running(QUICK, "folder") as running:
        eventually(lambda: bench.value("waiting_messages") == 1)
        bench.journal.held = []
        bench.journal.full = False
        eventually(lambda: bench.journal.contents)
        assert names(drop) == ["a.xml"]
        running.stop()  # what has been taken is finished
        bench.journal.release()
    assert names(drop) == ["done/a.xml"]


def test_a_folder_that_goes_away_is_said_and_waited_for(
    bench: Bench, drop: Path, tmp_path: Path
) -> None:
    with bench.running(QUICK, "folder") as running:
        eventually(lambda: bench.value("connected") == 1)
        drop.rename(tmp_path / "away")
        eventually(lambda: "cannot read the folder" in running.state)
        assert bench.value("connected") == 0
        (tmp_path / "away").rename(drop)
        (drop / "a.xml").write_bytes(b"<a/>")
        eventually(lambda: bench.journal.contents)
        assert running.state == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('path = "nowhere"', "inputs.in.options.path: .*nowhere is not a folder"),
        ('path = "drop"\ndone = "drop"', "options.done: expected another folder"),
        ('path = "drop"\nfailed = "sensorstream.toml"', "options.failed: cannot write to"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_at_the_start(
    bench: Bench, drop: Path, options: str, expected: str
) -> None:
    with pytest.raises(SettingsError, match=expected):
        reader_of(bench.settings(options, "folder"))


def test_files_are_not_moved_to_another_file_system(bench: Bench, drop: Path) -> None:
    here = drop.stat().st_dev
    places = [Path(each) for each in ("/dev/shm", "/tmp", "/var/tmp") if os.access(each, os.W_OK)]
    others = [each for each in places if each.stat().st_dev != here]
    if not others:
        pytest.skip("of /dev/shm, /tmp and /var/tmp none is another file system to write to")
    options = f'path = "drop"\ndone = "{others[0]}/done"'
    with pytest.raises(SettingsError, match=r"options\.done: .* another file system"):
        reader_of(bench.settings(options, "folder"))
