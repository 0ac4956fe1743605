"""``sensorstream messages``: what became of the messages of a running server."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import click

from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.engine.outcome import Status

_COLUMNS: Final = ("message_id", "received_at", "source", "bytes", "status", "reason")


@click.command("messages")
@click.argument("message_id", metavar="[ID]", required=False)
@click.option("--content", is_flag=True, help="Print the message itself, as it came.")
@click.option("--status", type=click.Choice([each.value for each in Status]), help="Only those.")
@click.option("--source", metavar="NAME", help="Only those of this source.")
@click.option(
    "--since",
    type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z")),
    help="Only those received then or later; local time unless it names a zone.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only messages older than this one.")
@server_options
@json_option
def command(
    message_id: str | None,
    content: bool,
    status: str | None,
    source: str | None,
    since: datetime | None,
    limit: int,
    before: int | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """List the newest messages of a running server, or show what became of one.

    With an ID, such as m42: rules, individuals, alerts, deliveries, statements.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_fields, print_json, print_table

    if content and message_id is None:
        raise click.UsageError("--content needs the ID of a message, such as m42")
    with Client(server_url(url, config)) as client:
        if message_id is None:
            found = client.messages(
                limit, before, status=status, source=source, since=since and since.astimezone()
            )
            if as_json:
                print_json(found)
            else:
                print_table(_COLUMNS, [[str(each[name]) for name in _COLUMNS] for each in found])
        elif content:
            click.echo(client.message_content(message_id), nl=False)
        elif as_json:
            print_json(client.message(message_id))
        else:
            life = client.message(message_id)
            print_fields({name: _plain(value) for name, value in life.items()})


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        if "state" in value:
            return f"{value['event_id']} to {value['webhook_id']}: {value['state']}"
        if "rule" in value:
            return f"{value['id']} ({value['severity']}: {value['text']})"
        return ", ".join(f"{each} {name}" for name, each in value.items() if each is not None)
    return str(value)
