"""``sensorstream journal``: the entries of the journal, and how to get past one of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.clock import SystemClock
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.history.journal_entries import JournalEntry

_COLUMNS: Final = ("seq", "kind", "received_at", "source", "status", "reason")
_STATUSES: Final = (
    "accepted",
    "partial",
    "unmatched",
    "rejected",
    "held",
    "late",
    "skipped",
)


@click.group("journal")
def command() -> None:
    """List the entries of the journal, and skip one that stops the server.

    Every message and every change is an entry. These commands read the history themselves, so
    that they work although the server does not start.
    """


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only entries older than this one.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only entries with this status.")
@config_option
@json_option
def list_(limit: int, before: int | None, status: str | None, config: Path, as_json: bool) -> None:
    """The newest entries. One without a status has not been applied yet."""
    from sensorstream.cli.terminal import print_json, print_table
    from sensorstream.engine.outcome import Status
    from sensorstream.history.journal_entries import entries
    from sensorstream.history.opening import open_kept

    with ExitStack() as stack:
        url = open_kept(load_settings(config).history, stack)
        found = entries(url, limit, before, None if status is None else Status(status))
    rows = [_told(each) for each in found]
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, [[each[name] or "" for name in _COLUMNS] for each in rows])


@command.command("show")
@click.argument("seq", type=click.IntRange(min=1))
@config_option
@json_option
def show(seq: int, config: Path, as_json: bool) -> None:
    """The content of an entry as it came; all else of it is on stderr."""
    from sensorstream.cli.terminal import print_json
    from sensorstream.history.journal_entries import content_of, entry_at
    from sensorstream.history.opening import open_kept

    with ExitStack() as stack:
        url = open_kept(load_settings(config).history, stack)
        found = entry_at(url, seq)
        if found is None:
            raise click.BadParameter(f"the journal has no entry {seq}", param_hint="SEQ")
        content = content_of(url, seq)
    if as_json:
        print_json(_told(found) | {"content": content.decode("utf-8", "replace")})
        return
    for name, value in _told(found).items():
        click.echo(f"{name}: {'' if value is None else value}", err=True)
    click.echo(content, nl=False)


@command.command("skip")
@click.argument("seq", type=click.IntRange(min=1))
@click.option("--reason", default="by hand", metavar="TEXT", help="Why; it is kept with the entry.")
@config_option
def skip(seq: int, reason: str, config: Path) -> None:
    """Pass over an entry at each start of the server from now on.

    For one that keeps the server from starting. The server must not run. It skips by itself what
    brought it down twice in a row. An entry that a checkpoint has already is not applied again, and
    cannot be skipped, unless it has put an ontology or rules: those before are in force then.
    """
    from sensorstream.app.life.recovery import find_start, skip_entry
    from sensorstream.history.opening import open_kept
    from sensorstream.history.store import PostgresStore

    settings = load_settings(config)
    with ExitStack() as stack:
        url = open_kept(settings.history, stack)
        store = stack.enter_context(PostgresStore.open(url, settings.time.timeline))
        skip_entry(seq, f"skipped: {reason}", store, find_start(store), SystemClock().now())
    click.echo(f"entry {seq} is skipped at the next start")


def _told(entry: JournalEntry) -> dict[str, Any]:
    status = entry.status
    return asdict(entry) | {
        "received_at": entry.received_at.isoformat(),
        "status": None if status is None else status.value,
    }
