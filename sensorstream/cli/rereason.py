"""``sensorstream rereason``: what is inferred in history, computed anew."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from sensorstream.cli.options import config_option, instant_option, json_option
from sensorstream.errors import SettingsError
from sensorstream.settings_file import load_settings


@click.command("rereason")
@click.option("--from", "start", metavar="TIME", help="Begin at this time.")
@click.option("--to", "end", metavar="TIME", help="End before this time.")
@click.option("--apply", "apply_", is_flag=True, help="Store it; without, it is only counted.")
@config_option
@json_option
def command(start: str | None, end: str | None, apply_: bool, config: Path, as_json: bool) -> None:
    """Compute anew what is inferred in history, with the ontology in force now.

    The server must not run. The asserted statements of history and window stay; the intervals of
    inferred ones become those that follow from them. Prints how many statements hold longer and
    shorter than before. A run that was stopped can be repeated.
    """
    settings = load_settings(config)
    line = settings.time.timeline
    first, last = instant_option("--from", start, line), instant_option("--to", end, line)
    if first is not None and last is not None and last <= first:
        raise click.BadParameter(f"'{end}' is not after '{start}'", param_hint="--to")
    if settings.pipeline.runner == "spark":
        raise SettingsError(
            "pipeline.runner is 'spark': no process knows the windows of all keys, which belong "
            "to what held; expected a deployment whose engine is the server's"
        )
    from sensorstream.app.life.start import in_force, read_files
    from sensorstream.app.why.rereasoning import rereason
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_json
    from sensorstream.history.opening import open_kept
    from sensorstream.history.store import PostgresStore

    with ExitStack() as stack:
        say = stack.enter_context(lasting("opening the history", quiet=as_json))
        url = open_kept(settings.history, stack)
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
    if as_json:
        print_json(asdict(found) | {"until": line.format(found.until), "applied": apply_})
        return
    verb = "hold" if apply_ else "would hold"
    click.echo(f"{found.added} inferred statements {verb} longer, {found.removed} shorter")
    if found.standing:
        click.echo(
            f"{found.standing} more do not follow, but are in the window: they end when the "
            "server starts",
            err=True,
        )
    if not apply_ and (found.added or found.removed):
        click.echo("nothing was changed: add --apply to store it", err=True)
