"""``sensorstream quarantine``: messages that a running server kept but did not take in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import json_option, server_options, server_url

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS: Final = ("message_id", "received_at", "source", "status", "reason")
_PAGE: Final = 200


@click.group("quarantine")
def command() -> None:
    """Look at and replay the messages that a running server did not take in."""


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only messages older than this one.")
@server_options
@json_option
def list_(limit: int, before: int | None, url: str | None, config: Path, as_json: bool) -> None:
    """The newest messages that were not taken in, or not whole, with the reason."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.quarantine(limit, before)
    if as_json:
        print_json(found)
    else:
        print_table(_COLUMNS, [[each[name] for name in _COLUMNS] for each in found])


@command.command("show")
@click.argument("message_id", metavar="MESSAGE_ID")
@server_options
@json_option
def show(message_id: str, url: str | None, config: Path, as_json: bool) -> None:
    """The content of one of these messages, as it came; its reason is on stderr.

    To take it in once the cause is removed: "sensorstream quarantine replay".
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json

    with Client(server_url(url, config)) as client:
        found = next((each for each in _all(client) if each["message_id"] == message_id), None)
    if found is None:
        raise click.BadParameter(f"'{message_id}' is not in quarantine", param_hint="MESSAGE_ID")
    if as_json:
        print_json(found)
        return
    click.echo(f"{found['status']}: {found['reason']}", err=True)
    for part in ("triples", "axioms"):
        for each in (found["contradiction"] or {}).get(part, []):
            click.echo(f"  {each}", err=True)
    click.echo(found["content"], nl=False)


@command.command("replay")
@click.argument("message_id", metavar="MESSAGE_ID")
@click.option(
    "--with",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The message as it should have been.",
)
@server_options
@json_option
def replay(
    message_id: str, file: Path | None, url: str | None, config: Path, as_json: bool
) -> None:
    """Take one of these messages in anew, once the cause is removed, or corrected."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json

    content = None if file is None else file.read_bytes()
    with Client(server_url(url, config)) as client:
        told = client.replay(message_id, content)
    if as_json:
        print_json(told)
    else:
        click.echo(f"{message_id} came anew as {told['message_id']}: {told['status']}")


def _all(client: Client) -> Iterator[dict[str, Any]]:
    before = None
    while page := client.quarantine(_PAGE, before):
        yield from page
        before = page[-1]["seq"]
