"""``sensorstream archive``: old history as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.clock import SystemClock
from sensorstream.errors import TermError
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sensorstream.archive.manifest import Part
    from sensorstream.archive.moving import Say
    from sensorstream.model.timeline import Timeline


_dry_run = click.option("--dry-run", is_flag=True, help="Only show the parts; change nothing.")


@click.group("archive", invoke_without_command=True)
@click.option(
    "--older-than",
    "age",
    metavar="D",
    help="How long ago the statements must have ended: P30D, or a whole number.",
)
@_dry_run
@config_option
@json_option
@click.pass_context
def command(
    context: click.Context, age: str | None, dry_run: bool, config: Path, as_json: bool
) -> None:
    """Move old history out of PostgreSQL into Parquet files.

    Whole partitions move: those whose statements all ended more than D ago. Works beside a running
    server and without one; a run that is broken off loses nothing, and the next one goes on.

    On the dateTime line D counts back from now; on the integer line from the latest end of a
    statement in history.
    """
    if context.invoked_subcommand is not None:
        if age is not None or dry_run:
            raise click.UsageError("--older-than and --dry-run stand after the name of the command")
        return
    if age is None:
        raise click.UsageError("expected --older-than D, or a command: see --help")
    with _opened(config, quiet=as_json) as (settings, url, say):
        from sensorstream.archive.moving import archive, movable

        line = settings.time.timeline
        before = _bound(url, age, line)
        if dry_run:
            found = movable(url, before, line)
        else:
            found = archive(url, settings.archive.folder, before, line, say)
    _print(found, line, as_json)


@command.command("list")
@config_option
@json_option
def list_(config: Path, as_json: bool) -> None:
    """The parts of the archive, by time."""
    with _opened(config, quiet=as_json) as (settings, url, _):
        from sensorstream.archive.manifest import State, kept_parts

        found = kept_parts(url, State.ARCHIVED)
    _print(found, settings.time.timeline, as_json)


@command.command("restore")
@click.argument("part")
@config_option
@json_option
def restore_(part: str, config: Path, as_json: bool) -> None:
    """Take a part, such as 2014-08-01, back into PostgreSQL.

    Safe beside a running server, which stores nothing until the rows are in.
    """
    with _opened(config, quiet=as_json) as (settings, url, say):
        from sensorstream.archive.returning import restore

        line = settings.time.timeline
        found = restore(url, settings.archive.folder, part, line, say)
    _print(found, line, as_json)


@command.command("delete")
@click.option(
    "--older-than",
    "age",
    metavar="D",
    required=True,
    help="How long ago the statements must have ended: P365D, or a whole number.",
)
@_dry_run
@config_option
@json_option
def delete_(age: str, dry_run: bool, config: Path, as_json: bool) -> None:
    """Delete old parts of the archive for good."""
    with _opened(config, quiet=as_json) as (settings, url, say):
        from sensorstream.archive.returning import deletable, delete

        line = settings.time.timeline
        before = _bound(url, age, line)
        if dry_run:
            found = deletable(url, before)
        else:
            found = delete(url, settings.archive.folder, before, say)
    _print(found, line, as_json)


@contextmanager
def _opened(config: Path, *, quiet: bool) -> Iterator[tuple[Settings, str, Say]]:
    from sensorstream.cli.lasting import lasting
    from sensorstream.extras import require
    from sensorstream.history.opening import open_kept

    require("archive", "the archive")
    settings = load_settings(config)
    with ExitStack() as stack:
        say = stack.enter_context(lasting("opening the history", quiet=quiet))
        yield settings, open_kept(settings.history, stack), say


def _bound(url: str, age: str, line: Timeline) -> int:
    """The instant ``age`` ago."""
    from sensorstream.archive.age import instant_ago

    try:
        length = line.span(age)
    except TermError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from None
    return instant_ago(url, length, line, SystemClock().now())


def _print(found: Sequence[Part], line: Timeline, as_json: bool) -> None:
    from sensorstream.archive.layout import STATEMENTS, STAYS
    from sensorstream.cli.terminal import print_json, print_table

    rows = [
        {
            "part": each.name,
            "ended_before": line.format(each.ended_before),
            "statements": each.rows(STATEMENTS),
            "stays": each.rows(STAYS),
            "bytes": each.bytes or None,
        }
        for each in found
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    else:
        click.echo("none")
