"""What lasts is told on stderr: what goes on, how far it is, since when."""

from __future__ import annotations

import re
import time

import pytest

from sensorstream.cli.terminal import lasting


def told(capsys: pytest.CaptureFixture[str], lines: int) -> list[str]:
    """Wait until so many lines are on stderr."""
    found = ""
    deadline = time.monotonic() + 60
    while found.count("\n") < lines:
        assert time.monotonic() < deadline, found
        found += capsys.readouterr().err
        time.sleep(0.005)
    return [re.sub(r"\d+ s$", "N s", line) for line in found.splitlines()]


def test_what_is_over_soon_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    with lasting("reading", after=60):
        pass
    assert capsys.readouterr().err == ""


def test_what_lasts_is_told_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    with lasting("reading", after=0.01, again=0.01):
        assert set(told(capsys, 3)) == {"reading … N s"}


def test_the_next_piece_of_work_takes_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    with lasting("reading", after=0.01, again=0.01) as say:
        told(capsys, 1)
        say("writing", "3 of 7")
        while "writing: 3 of 7 … N s" not in (lines := told(capsys, 1)):
            assert set(lines) == {"reading … N s"}
        say("writing", "4 of 7")
        while told(capsys, 1)[-1] != "writing: 4 of 7 … N s":
            pass


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with lasting("reading", after=0.0, again=0.01, quiet=True) as say:
        say("writing", "1")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
