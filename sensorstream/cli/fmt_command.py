"""``sensorstream fmt``: the standard layout of rule files; ``language-server``: help in editors."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from sensorstream.errors import LanguageError, Position, SensorStreamError, SettingsError
from sensorstream.processes.own_folders import own_folder

_STANDARD_INPUT: Final = "-"
_QUERY: Final = ".rq"
_MAKING: Final = ".sensorstream-fmt-"
"""The name of a folder with a new file begins so, until it has replaced the old one."""
_OVER_TIME: Final = (".dotr", ".dlog")


@click.command("fmt")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE…",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Change nothing; exit with 1 if a file would change.",
)
@click.option("--stdout", is_flag=True, help="Print the result instead of changing the files.")
def command(files: tuple[Path, ...], only_check: bool, stdout: bool) -> None:
    """Lay out rule files; print queries of other stream languages in ours.

    Line breaks, indentation and spaces of rule files are changed.

    Comments, texts, XPath and the lines of SPARQL stay as they are, and so does the meaning. Prints
    the names of the files that were changed. A file with a syntax error is not changed, and is an
    error after all other files were laid out. "-" reads from standard input and prints.

    With --stdout, a query (*.rq) is printed as stream SPARQL, whatever of C-SPARQL, CQELS or
    LUPOSDATE it was written in. Comments and prefixes are lost, so its file is never changed.
    """
    if only_check and stdout:
        raise click.UsageError("--check and --stdout exclude each other")
    faults: list[SensorStreamError] = []
    changed = False
    for file in files:
        try:
            changed |= _laid_out(file, only_check, stdout or str(file) == _STANDARD_INPUT)
        except SensorStreamError as error:
            faults.append(error)
    for fault in faults:
        click.echo(f"error[{fault.code}]: {fault}", err=True)
    if faults or (only_check and changed):
        raise click.exceptions.Exit(1)


def _laid_out(file: Path, only_check: bool, to_stdout: bool) -> bool:
    """Lay out one file; returns whether it changes.

    Raises:
        LanguageError: the file is not in the rule language.
        QueryError: the file is not a query, and is named as one.
        SettingsError: the file cannot be read, it is a query that is to be changed, or one of
            DOTR or Datalog rules.
    """
    from sensorstream.language.rule_layout import format_rules
    from sensorstream.sparql.query_parser import parse_query
    from sensorstream.sparql.query_printer import query_text

    if file.suffix in _OVER_TIME:
        raise SettingsError(
            f"{file}: rules over time have no standard layout: expected files of the rule language"
        )
    is_given = str(file) == _STANDARD_INPUT
    name = "<stdin>" if is_given else str(file)
    try:
        content = sys.stdin.buffer.read() if is_given else file.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        raise SettingsError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        place = Position(name, content.count(b"\n", 0, error.start) + 1, 1)
        raise LanguageError("the line is not UTF-8: expected a text", position=place) from None
    if file.suffix == _QUERY:
        if not to_stdout or only_check:
            raise SettingsError(f"{name}: the comments of a query would be lost: expected --stdout")
        click.echo(query_text(parse_query(text, file=name)), nl=False)
        return False
    formatted = format_rules(text, name)
    if only_check:
        if formatted != text:
            click.echo(f"{name} would change")
    elif to_stdout:
        click.echo(formatted.encode("utf-8"), nl=False)
    elif formatted != text:
        _replace(file.resolve(), formatted.encode("utf-8"))
        click.echo(name)
    return formatted != text


def _replace(file: Path, content: bytes) -> None:
    """Give the file a new content; who reads it meanwhile sees the old one or the new one."""
    # In the same file system, so that it can be renamed.
    with own_folder(_MAKING, file.parent) as folder:
        new = folder / "new"
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(file.stat().st_mode)
        new.replace(file)


@click.command("language-server")
def language_server() -> None:
    """Help editors with rules and queries: faults, completion, layout.

    Speaks the Language Server Protocol on standard input and output; docs/use/command-line.md says
    how VS Code, Neovim and Emacs start it. It needs the extra "editor".
    """
    from sensorstream.installation import require

    require("editor", "the language server")
    from sensorstream.cli.editor.language_server import make_server

    # Whatever prints, such as a function of the user's own, must not print into the protocol.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        make_server().start_io(sys.stdin.buffer, out)
