"""``sensorstream send``: post XML messages to a running server."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import json_option, server_options, server_url


@click.command("send")
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@server_options
@click.option("--soap", is_flag=True, help="Send by SOAP instead of REST.")
@json_option
def command(
    messages: tuple[str, ...], url: str | None, config: Path, soap: bool, as_json: bool
) -> None:
    """Send XML messages to a running server.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. Exits
    with 1 if a message was not accepted.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.delivery import Outgoing, deliver, report
    from sensorstream.cli.sources import sources

    outgoing = [Outgoing(each.name, each.read) for each in sources(messages)]
    with Client(server_url(url, config)) as client:
        tally = deliver(client, outgoing, len(outgoing), soap=soap)
    report(tally, as_json=as_json)
    if not tally.clean:
        raise click.exceptions.Exit(1)
