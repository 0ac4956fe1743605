from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from sensorstream.cli import main
from sensorstream.cli.simulation.tracker_messages import tracker_messages


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments])


def test_messages_are_written_into_a_folder_in_order(tmp_path: Path) -> None:
    result = simulate("tracker", "--count", "12", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0
    written = [file.read_bytes() for file in sorted((tmp_path / "out").iterdir())]
    assert written == list(tracker_messages(12))
    assert result.output == f"wrote 12 messages to {tmp_path / 'out'}\n"


def test_a_stretch_of_a_city_is_chosen_by_time(tmp_path: Path) -> None:
    stretch = ("--from", "2031-01-01T07:00", "--to", "2031-01-01T07:05")
    assert simulate("city", *stretch, "--out", str(tmp_path)).exit_code == 0
    assert len(list(tmp_path.iterdir())) == 8


def test_a_folder_that_cannot_be_written_is_told_in_one_line() -> None:
    result = simulate("tracker", "--out", "/proc/nowhere")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("error[file]: /proc/nowhere: ")


def test_a_bad_time_is_wrong_usage(tmp_path: Path) -> None:
    result = simulate("city", "--from", "dawn", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "'dawn' is not a time" in result.stderr


def test_a_server_that_is_not_there_is_a_system_failure() -> None:
    result = simulate("tracker", "--count", "1", "--url", "http://127.0.0.1:9")
    assert result.exit_code == 3
    assert result.stderr.startswith("error[server-unreachable]: no answer from http://127.0.0.1:9")
