"""``sensorstream archive``: old history as Parquet files; ``backfill``: history from XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.history_command import opened
from sensorstream.cli.options import config_option, json_option, source_option
from sensorstream.cli.terminal import print_fields, print_json, print_table, progress
from sensorstream.clock import SystemClock
from sensorstream.errors import TermError
from sensorstream.installation import require
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.app.life.progress import TellProgress
    from sensorstream.archive.manifest import ArchivePart

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
    settings = load_settings(config)
    with _opened(settings) as (url, say):
        from sensorstream.archive.archive_moves import archive, movable

        line = settings.time.timeline
        before = _bound(settings, url, age)
        if dry_run:
            found = movable(url, before, line)
        else:
            found = archive(url, settings.archive.folder, before, line, say)
    (print_json if as_json else _show)(_rows(settings, found))


def _show(rows: list[dict[str, Any]]) -> None:
    if rows:
        print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    else:
        click.echo("none")


@deployed(command.command("list"), _show)
def list_(settings: Settings) -> list[dict[str, Any]]:
    """The parts of the archive, by time."""
    with _opened(settings) as (url, _):
        from sensorstream.archive.manifest import State, kept_parts

        return _rows(settings, kept_parts(url, State.ARCHIVED))


@deployed(command.command("restore"), _show)
@click.argument("part")
def restore_(settings: Settings, part: str) -> list[dict[str, Any]]:
    """Take a part, such as 2014-08-01, back into PostgreSQL.

    Safe beside a running server, which stores nothing until the rows are in.
    """
    with _opened(settings) as (url, say):
        from sensorstream.archive.archive_moves import restore

        folder, line = settings.archive.folder, settings.time.timeline
        return _rows(settings, restore(url, folder, part, line, say))


@deployed(command.command("delete"), _show)
@click.option(
    "--older-than",
    "age",
    metavar="D",
    required=True,
    help="How long ago the statements must have ended: P365D, or a whole number.",
)
@_dry_run
def delete_(settings: Settings, age: str, dry_run: bool) -> list[dict[str, Any]]:
    """Delete old parts of the archive for good."""
    with _opened(settings) as (url, say):
        from sensorstream.archive.archive_moves import deletable, delete

        before = _bound(settings, url, age)
        if dry_run:
            return _rows(settings, deletable(url, before))
        return _rows(settings, delete(url, settings.archive.folder, before, say))


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[str, TellProgress]]:
    require("archive", "the archive")
    with opened(settings) as (url, say, _):
        yield url, say


def _bound(settings: Settings, url: str, age: str) -> int:
    """The instant ``age`` ago."""
    from sensorstream.history.partitions import instant_ago

    line = settings.time.timeline
    try:
        length = line.span(age)
    except TermError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from None
    return instant_ago(url, length, line, SystemClock().now())


def _rows(settings: Settings, found: Iterable[ArchivePart]) -> list[dict[str, Any]]:
    from sensorstream.archive.parquet_layout import STATEMENTS, STAYS

    return [
        {
            "part": each.name,
            "ended_before": settings.time.timeline.format(each.ended_before),
            "statements": each.rows(STATEMENTS),
            "stays": each.rows(STAYS),
            "bytes": each.bytes or None,
        }
        for each in found
    ]


@deployed(click.command("backfill"), json=True)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@source_option
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many processes map; by default as many as there are processors.",
)
@click.option(
    "--spark/--no-spark",
    "on_spark",
    default=None,
    help="Map in Spark's executors; by default if spark.master is a cluster.",
)
def backfill(
    settings: Settings,
    folder: Path,
    source: str,
    processes: int | None,
    on_spark: bool | None,
    as_json: bool,
) -> None:
    """Fill history from folders and archives of XML messages.

    Takes *.xml, also in *.zip, *.tar, *.tar.gz, *.tar.bz2 and *.tar.xz, from FOLDER and the folders
    in it. The mapping rules of the settings say what a message means; it goes straight to history,
    without window, reasoner and rules. Each content is stored once, so a run that was broken off is
    simply started again. Works beside a running server. Exits with 1 if a message was not taken.
    """
    from sensorstream.app.backfill.history_filling import backfill
    from sensorstream.app.backfill.xml_documents import Refused
    from sensorstream.app.control.wiring import read_deployment
    from sensorstream.history.open_history import open_shown

    if on_spark is None:
        on_spark = processes is None and not settings.spark.master.startswith("local")
    if on_spark and processes is not None:
        raise click.UsageError(
            "--processes goes without Spark: spark.master says how many map there"
        )
    bad: list[Refused] = []

    def tell(refused: Refused) -> None:
        bad.append(refused)
        if not as_json:
            click.echo(f"{refused.name}: {refused.reason}", err=True)

    with ExitStack() as stack:
        url = open_shown(
            settings.history,
            settings.time.timeline,
            lambda: read_deployment(settings).ontology.schema,
            stack,
        )
        step = stack.enter_context(progress("filling history", None))

        def advance(done: int) -> None:
            for _ in range(done):
                step()

        filled = backfill(
            url,
            folder,
            settings,
            source,
            tell=tell,
            advance=advance,
            processes=processes,
            on_spark=on_spark,
        )
    counts = {"stored": filled.stored, "known": filled.known, "refused": filled.refused}
    if as_json:
        told = [{"name": each.name, "reason": each.reason} for each in bad]
        print_json({**counts, "bad": told})
    else:
        print_fields(counts)
    if bad:
        raise click.exceptions.Exit(1)
