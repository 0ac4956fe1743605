"""The history of a deployment: ``db``, its address; ``erase``; ``rereason``, what is inferred."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.options import span_options
from sensorstream.cli.terminal import lasting, print_fields
from sensorstream.clock import SystemClock
from sensorstream.errors import HistoryError, SettingsError, TermError
from sensorstream.settings.settings import HistorySettings, Settings

if TYPE_CHECKING:
    from sensorstream.app.life.progress import TellProgress


@contextmanager
def opened(
    settings: Settings, doing: str = "opening the history", *, quiet: bool | None = None
) -> Iterator[tuple[str, TellProgress, ExitStack]]:
    """Open a deployment's history: yields its address, a function that is told of lasting work, and
    a stack that ends before the history.
    """
    from sensorstream.history.open_history import open_kept

    with ExitStack() as stack:
        say = stack.enter_context(lasting(doing, quiet=quiet))
        yield open_kept(settings.history, stack), say, stack


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
    from sensorstream.history.reader_role import reader_url

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
    from sensorstream.archive.erasure import erase
    from sensorstream.engine.message_reading import Arrived, Mapper
    from sensorstream.installation import require
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
        return erase(url, folder, individual, line, mapped, dry=dry, say=say)


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
    from sensorstream.app.life.starting import in_force, read_files
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
