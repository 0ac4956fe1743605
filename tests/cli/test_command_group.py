from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sensorstream import errors
from sensorstream.cli.command_group import COMMANDS, Commands, main
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.errors import Position, SensorStreamError


def test_help_lists_every_command_with_the_sentence_it_gives_itself() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=120).output
    context = main.make_context("sensorstream", ["--help"], resilient_parsing=True)
    for name, sentence in COMMANDS.items():
        assert f"  {name} " in shown
        assert sentence in shown
        command = main.get_command(context, name)
        assert command is not None
        assert (command.help or "").split("\n\n")[0] == sentence


def test_help_imports_neither_spark_nor_a_server() -> None:
    script = (
        "import sys\n"
        "from sensorstream.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark','fastapi','jpype','lark','psycopg2','rich'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1] == "[]", shown.stderr


def test_messages_are_mapped_without_what_asks_a_database(tmp_path: Path) -> None:
    make_workspace(tmp_path, TEMPLATES["tracking"])
    script = (
        "import sys\n"
        "from sensorstream.cli import main\n"
        "try: main(['map', 'messages/paper.xml'])\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'fastapi','jpype','psycopg2','sqlalchemy','sqlglot'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert shown.stdout.splitlines()[-1] == "[]", shown.stderr


@pytest.mark.usefixtures("own_interpreters")
def test_the_module_runs_as_the_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "sensorstream", "--version"], capture_output=True, text=True
    )
    assert shown.stdout == "sensorstream 0.1.0\n"


ERRORS = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, SensorStreamError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_leaves_as_one_line_with_its_code_and_its_place(
    kind: type[SensorStreamError], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command("fails")
    def fails() -> None:
        raise kind("it broke", position=Position("a.rules", 3, 7))

    group = Commands(commands={"fails": fails})
    monkeypatch.setattr(group, "get_command", lambda _context, _name: fails)
    result = CliRunner().invoke(group, ["fails"])
    assert result.stderr == f"error[{kind.code}]: a.rules:3:7: it broke\n"
    assert result.exit_code == (3 if kind.of_system else 1)


def test_an_error_is_one_line_on_stderr(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "-c", f"{tmp_path}/none.toml"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error[settings]: cannot read the settings file")
    assert result.stderr.count("\n") == 1


def test_on_a_terminal_an_error_names_its_page(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sensorstream", "serve", "-c", f"{tmp_path}/none.toml"]
    with os.fdopen(ours, encoding="utf-8") as screen:
        subprocess.run(command, stderr=theirs, timeout=60)
        os.close(theirs)
        assert screen.readline().startswith("error[settings]: cannot read the settings file")
        assert screen.readline().startswith("see docs/operate/reference.html#settings (")


def test_an_unknown_command_is_wrong_usage() -> None:
    result = CliRunner().invoke(main, ["swerve"])
    assert result.exit_code == 2
    assert "No such command 'swerve'" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_complete_commands(shell: str) -> None:

    told = subprocess.run(
        [sys.executable, "-c", "from sensorstream.cli import main; main(prog_name='sensorstream')"],
        env={
            **os.environ,
            "_SENSORSTREAM_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": "sensorstream quar",
            "COMP_CWORD": "1" if shell != "fish" else "quar",
        },
        capture_output=True,
        text=True,
    )
    assert "quarantine" in told.stdout, told.stderr
    assert "queries" not in told.stdout
