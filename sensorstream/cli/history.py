"""Commands on what a deployment keeps: its journal, its database, what is inferred in history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import FILE, config_option, json_option, span_options
from sensorstream.cli.served import deployed
from sensorstream.cli.terminal import lasting, print_fields, print_json, print_table
from sensorstream.clock import SystemClock
from sensorstream.errors import HistoryError, SettingsError, TermError
from sensorstream.settings import HistorySettings, Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.app.life.progress import Progress
    from sensorstream.app.why.what_if import Comparison, WhatIf
    from sensorstream.history.journal_rows import JournalEntry
    from sensorstream.model.timeline import Timeline

_COLUMNS: Final = ("seq", "kind", "received_at", "source", "status", "reason")
_STATUSES: Final = (*("accepted", "partial", "unmatched", "rejected", "held", "late", "skipped"),)


@contextmanager
def opened(
    settings: Settings, doing: str = "opening the history", *, quiet: bool | None = None
) -> Iterator[tuple[str, Progress, ExitStack]]:
    """The address of a deployment's history, and what tells the work on it that lasts.

    What the stack gets ends before the history.
    """
    from sensorstream.history.opening import open_kept

    with ExitStack() as stack:
        say = stack.enter_context(lasting(doing, quiet=quiet))
        yield open_kept(settings.history, stack), say, stack


@click.group("journal")
def journal() -> None:
    """List the entries of the journal, and skip one that stops the server.

    Every message and every change is an entry. These commands read the history themselves, so
    that they work although the server does not start.
    """


def _show_list(found: list[dict[str, Any]]) -> None:
    print_table(_COLUMNS, [[each[name] or "" for name in _COLUMNS] for each in found])


@deployed(journal.command("list"), _show_list)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only entries older than this one.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only entries with this status.")
def list_(
    settings: Settings, limit: int, before: int | None, status: str | None
) -> list[dict[str, Any]]:
    """The newest entries. One without a status has not been applied yet."""
    from sensorstream.engine.outcome import Status
    from sensorstream.history.journal_rows import entries
    from sensorstream.history.opening import open_kept

    with ExitStack() as stack:
        url = open_kept(settings.history, stack)
        found = entries(url, limit, before, None if status is None else Status(status))
    return [_told(each) for each in found]


@journal.command("show")
@click.argument("seq", type=click.IntRange(min=1))
@config_option
@json_option
def show(seq: int, config: Path, as_json: bool) -> None:
    """The content of an entry as it came; all else of it is on stderr."""
    from sensorstream.history.journal_rows import content_of, entry_at
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


@deployed(journal.command("skip"))
@click.argument("seq", type=click.IntRange(min=1))
@click.option("--reason", default="by hand", metavar="TEXT", help="Why; it is kept with the entry.")
def skip(settings: Settings, seq: int, reason: str) -> None:
    """Pass over an entry at each start of the server from now on.

    For one that keeps the server from starting. The server must not run. It skips by itself what
    brought it down twice in a row. An entry that a checkpoint has already is not applied again, and
    cannot be skipped, unless it has put an ontology or rules: those before are in force then.
    """
    from sensorstream.app.life.recovery import find_start, skip_entry
    from sensorstream.history.opening import open_kept
    from sensorstream.history.store import PostgresStore

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


@click.group("db")
def db() -> None:
    """Tell other programs how to reach the history's PostgreSQL."""


@deployed(db.command("url"), lambda found: click.echo(found["url"]))
def url(settings: Settings) -> dict[str, Any]:
    """Print the address and the password of the role that can only read.

    For Grafana, BI tools and psql. The embedded PostgreSQL listens on TCP only if the settings give
    it a port (history.port), and only while the server of this deployment runs.
    """
    from sqlalchemy.engine import make_url

    address = reader_address(settings.history)
    parsed = make_url(address)
    return {
        "url": address,
        "host": parsed.host,
        "port": parsed.port or 5432,
        "database": parsed.database,
        "user": parsed.username,
        "password": parsed.password,
    }


def reader_address(settings: HistorySettings) -> str:
    """The URL of the role that can only read.

    Raises:
        HistoryError: the embedded PostgreSQL listens on no port, or has not run yet.
    """
    from sensorstream.history import embedded
    from sensorstream.history.reader import reader_url

    if settings.url:
        return reader_url(settings.url)
    if not settings.port:
        raise HistoryError(
            "the embedded PostgreSQL listens on no port: set history.port (such as 5433) and start "
            "the server again"
        )
    return embedded.reader_address(settings.folder, settings.port)


@deployed(click.command("erase"), print_fields)
@click.option("--individual", "name", metavar="IRI", required=True, help="The individual to erase.")
@click.option("--dry-run", "dry", is_flag=True, help="Only count what would be erased.")
def erase(settings: Settings, name: str, dry: bool) -> dict[str, int]:
    """Erase an individual from journal, history, alerts and archive.

    The server must not run, and the individual must have left the window. Messages that name it go
    whole, also where they name others; what they said of others stays in history. Prints how many
    rows of each place were erased.
    """
    from sensorstream.app.control.wiring import read_deployment
    from sensorstream.archive.erasing import erase
    from sensorstream.engine.arrival import Arrived, Mapper
    from sensorstream.extras import require
    from sensorstream.model.events import Message
    from sensorstream.model.terms import iri

    require("archive", "erasing")
    try:
        individual = iri(name)
    except TermError as error:
        raise click.BadParameter(str(error), param_hint="--individual") from None
    deployment = read_deployment(settings)
    limits = settings.server
    mapper = Mapper(
        deployment.mapping, limits.max_depth, SystemClock().counter, limits.max_message_bytes
    )

    def mapped(message: Message) -> bool:
        found = mapper.map(message)
        return isinstance(found, Arrived) and any(
            individual in triple for event in found.mapped.events for triple in event.triples
        )

    folder, line = settings.archive.folder, deployment.timeline
    with opened(settings) as (url, say, _):
        return dict(erase(url, folder, individual, line, mapped, dry=dry, say=say).counts)


def _show_reasoned(found: dict[str, Any]) -> None:
    verb = "hold" if found["applied"] else "would hold"
    click.echo(f"{found['added']} inferred statements {verb} longer, {found['removed']} shorter")
    if found["standing"]:
        click.echo(
            f"{found['standing']} more do not follow, but are in the window: they end when the "
            "server starts",
            err=True,
        )
    if not found["applied"] and (found["added"] or found["removed"]):
        click.echo("nothing was changed: add --apply to store it", err=True)


@deployed(click.command("rereason"), _show_reasoned)
@click.option("--from", "start", metavar="TIME", help="Begin at this time.")
@click.option("--to", "end", metavar="TIME", help="End before this time.")
@click.option("--apply", "apply_", is_flag=True, help="Store it; without, it is only counted.")
def rereason(
    settings: Settings, start: str | None, end: str | None, apply_: bool
) -> dict[str, Any]:
    """Compute anew what is inferred in history, with the ontology in force now.

    The server must not run. The asserted statements of history and window stay; the intervals of
    inferred ones become those that follow from them. Prints how many statements hold longer and
    shorter than before. A run that was stopped can be repeated.
    """
    line = settings.time.timeline
    first, last = span_options(start, end, line)
    if settings.pipeline.runner == "spark":
        raise SettingsError(
            "pipeline.runner is 'spark': no process knows the windows of all keys, which belong "
            "to what held; expected a deployment whose engine is the server's"
        )
    from sensorstream.app.life.start import in_force, read_files
    from sensorstream.app.why.rereasoning import rereason
    from sensorstream.history.store import PostgresStore

    with opened(settings) as (url, say, stack):
        store = stack.enter_context(PostgresStore.open(url, line))
        deployment, put = in_force(settings, read_files(settings), store, store.last_seq())
        doing = "reasoning over history"
        say(doing)
        found = rereason(
            url,
            deployment,
            put=put is not None,
            store=store,
            start=first,
            end=last,
            dry=not apply_,
            said=lambda time: say(doing, f"at {line.format(time)}"),
        )
    return asdict(found) | {"until": line.format(found.until), "applied": apply_}


@click.command("replay")
@click.option("--from", "start", metavar="TIME", help="Compare the alerts from this time on.")
@click.option("--to", "end", metavar="TIME", help="Compare the alerts before this time.")
@click.option(
    "--rules",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Semantic rules instead of the deployment's; may be given several times.",
)
@config_option
@json_option
def replay(
    start: str | None, end: str | None, rules: tuple[Path, ...], config: Path, as_json: bool
) -> None:
    """Show which alerts other semantic rules would have raised.

    The messages of the journal go through an engine with the rules of --rules, or with those that
    the settings name now. Its alerts are compared with those that were raised: "+" would be
    raised, "-" was raised and would not be, "=" is the same. Nothing is changed.

    The journal is processed from the first entry that is kept, whatever --from says, for the window
    and the memory of the rules depend on all before. Works beside a running server and without one.
    """
    settings = load_settings(config)
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
    since = None if found.since is None else found.since.isoformat()
    print_json(
        {
            "entries": found.entries,
            "since": since,
            "whole": found.whole,
            "alerts": [_plain(each, line) for each in found.alerts],
            "reports": dict(found.reports),
            "unanswered": dict(found.unanswered),
        }
    )


def _plain(compared: Comparison, line: Timeline) -> dict[str, object]:
    from sensorstream.alerts.formats import plain_alert

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
