"""``sensorstream erase``: an individual leaves everything that is kept."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.clock import SystemClock
from sensorstream.errors import TermError
from sensorstream.settings_file import load_settings


@click.command("erase")
@click.option("--individual", "name", metavar="IRI", required=True, help="The individual to erase.")
@click.option("--dry-run", "dry", is_flag=True, help="Only count what would be erased.")
@config_option
@json_option
def command(name: str, dry: bool, config: Path, as_json: bool) -> None:
    """Erase an individual from journal, history, alerts and archive.

    The server must not run, and the individual must have left the window. Messages that name it go
    whole, also where they name others; what they said of others stays in history. Prints how many
    rows of each place were erased.
    """
    from sensorstream.app.control.wiring import read_deployment
    from sensorstream.archive.erasing import erase
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_fields, print_json
    from sensorstream.engine.arrival import Arrived, Mapper
    from sensorstream.extras import require
    from sensorstream.history.opening import open_kept
    from sensorstream.model.events import Message
    from sensorstream.model.terms import iri

    require("archive", "erasing")
    try:
        individual = iri(name)
    except TermError as error:
        raise click.BadParameter(str(error), param_hint="--individual") from None
    settings = load_settings(config)
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

    with ExitStack() as stack:
        say = stack.enter_context(lasting("opening the history", quiet=as_json))
        found = erase(
            open_kept(settings.history, stack),
            settings.archive.folder,
            individual,
            deployment.timeline,
            mapped,
            dry=dry,
            say=say,
        )
    if as_json:
        print_json(found.counts)
    else:
        print_fields(found.counts)
