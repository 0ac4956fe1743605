"""``sensorstream journal``: its entries; ``replay``: what other rules would have made of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.history_command import opened
from sensorstream.cli.options import FILE, span_options
from sensorstream.cli.terminal import print_json, rows_of
from sensorstream.clock import SystemClock
from sensorstream.settings.settings import Settings

if TYPE_CHECKING:
    from sensorstream.app.why.what_if import AlertComparison, WhatIf
    from sensorstream.history.journal_rows import JournalEntry
    from sensorstream.model.timeline import Timeline

_COLUMNS: Final = ("seq", "kind", "received_at", "source", "status", "reason")
_STATUSES: Final = (*("accepted", "partial", "unmatched", "rejected", "held", "late", "skipped"),)


@click.group("journal")
def command() -> None:
    """List the entries of the journal, and skip one that stops the server.

    Every message and every change is an entry. These commands read the history themselves, so
    that they work although the server does not start.
    """


@deployed(command.command("list"), rows_of(*_COLUMNS))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only entries older than this one.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only entries with this status.")
def list_(
    settings: Settings, limit: int, before: int | None, status: str | None
) -> list[dict[str, Any]]:
    """The newest entries. One without a status has not been applied yet."""
    from sensorstream.history.journal_rows import entries
    from sensorstream.model.events import Status

    with opened(settings, quiet=True) as (url, _, _):
        found = entries(url, limit, before, None if status is None else Status(status))
    return [_told(each) for each in found]


@deployed(command.command("show"), json=True)
@click.argument("seq", type=click.IntRange(min=1))
def show(settings: Settings, seq: int, as_json: bool) -> None:
    """The content of an entry as it came; all else of it is on stderr."""
    from sensorstream.history.journal_rows import content_of, entry_at

    with opened(settings, quiet=True) as (url, _, _):
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


@deployed(command.command("skip"))
@click.argument("seq", type=click.IntRange(min=1))
@click.option("--reason", default="by hand", metavar="TEXT", help="Why; it is kept with the entry.")
def skip(settings: Settings, seq: int, reason: str) -> None:
    """Pass over an entry at each start of the server from now on.

    For one that keeps the server from starting. The server must not run. It skips by itself what
    brought it down twice in a row. An entry that a checkpoint has already is not applied again, and
    cannot be skipped, unless it has put an ontology or rules: those before are in force then.
    """
    from sensorstream.app.life.recovery import find_start, skip_entry
    from sensorstream.history.store import PostgresStore

    with opened(settings, quiet=True) as (url, _, stack):
        store = stack.enter_context(PostgresStore.open(url, settings.time.timeline))
        skip_entry(seq, f"skipped: {reason}", store, find_start(store), SystemClock().now())
    click.echo(f"entry {seq} is skipped at the next start")


def _told(entry: JournalEntry) -> dict[str, Any]:
    status = entry.status
    return asdict(entry) | {
        "received_at": entry.received_at.isoformat(),
        "status": None if status is None else status.value,
    }


@deployed(click.command("replay"), json=True)
@click.option("--from", "start", metavar="TIME", help="Compare the alerts from this time on.")
@click.option("--to", "end", metavar="TIME", help="Compare the alerts before this time.")
@click.option(
    "--rules",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Semantic rules instead of the deployment's; may be given several times.",
)
def replay(
    settings: Settings,
    start: str | None,
    end: str | None,
    rules: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show which alerts other semantic rules would have raised.

    The messages of the journal go through an engine with the rules of --rules, or with those that
    the settings name now. Its alerts are compared with those that were raised: "+" would be
    raised, "-" was raised and would not be, "=" is the same. Nothing is changed.

    The journal is processed from the first entry that is kept, whatever --from says, for the window
    and the memory of the rules depend on all before. Works beside a running server and without one.
    """
    line = settings.time.timeline
    first, last = span_options(start, end, line)
    from sensorstream.app.why.what_if import what_if

    with opened(settings) as (url, say, _):
        doing = "processing the journal"
        say(doing)

        def processed(done: int, of: int) -> None:
            say(doing, f"{done} of {of} entries")

        found = what_if(settings, url, rules, first, last, processed)
    if not as_json:
        _show_compared(found, line)
        return
    print_json(
        {
            "entries": found.entries,
            "since": found.since,
            "whole": found.whole,
            "alerts": [_plain(each, line) for each in found.alerts],
            "reports": dict(found.reports),
            "unanswered": dict(found.unanswered),
        }
    )


def _plain(compared: AlertComparison, line: Timeline) -> dict[str, object]:
    from sensorstream.alerts.alert_formats import plain_alert

    told = dict(plain_alert(compared.alert, line))
    # It depends on how many alerts a message raises.
    del told["id"]
    return told | {"did": compared.did, "would": compared.would}


def _show_compared(found: WhatIf, line: Timeline) -> None:
    signs = {(True, True): "=", (True, False): "-", (False, True): "+"}
    counts = dict.fromkeys(signs.values(), 0)
    for each in found.alerts:
        sign, alert = signs[each.did, each.would], each.alert
        counts[sign] += 1
        click.echo(f"{sign} {line.format(alert.time)} {alert.severity} {alert.rule}: {alert.text}")
    click.echo(
        f"{found.entries} entries: {counts['=']} alerts as they were, {counts['+']} more, "
        f"{counts['-']} fewer",
        err=True,
    )
    for name, count in sorted(found.reports.items()):
        click.echo(f"query {name}: {count} reports", err=True)
    for name, count in sorted(found.unanswered.items()):
        click.echo(
            f"rule {name}: {count} questions to the history have no answer in the journal, and "
            "nobody is asked now: what it would raise is not known",
            err=True,
        )
    if not found.whole and found.since is not None:
        click.echo(
            f"the journal begins at {found.since.isoformat()}: what was before is missing, so "
            "that alerts of that beginning may differ",
            err=True,
        )
