"""``sensorstream webhooks``: the receivers of alerts and reports."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import json_option, server_options, server_url


@click.group("webhooks")
def command() -> None:
    """Register, list and remove the webhooks of a running server."""


@command.command("add")
@click.argument("receiver", metavar="URL")
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="NAME",
    help="Deliver the reports of this continuous query too; may be given several times.",
)
@click.option(
    "--secret",
    help='"whsec_" and base64 of 24 to 64 random bytes; by default the server makes one.',
)
@server_options
@json_option
def add(
    receiver: str,
    queries: tuple[str, ...],
    secret: str | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Deliver the alerts raised from now on to URL.

    The secret that signs the deliveries is shown only once.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json

    with Client(server_url(url, config)) as client:
        made = client.add_webhook(receiver, secret, queries)
    if as_json:
        print_json(made)
    else:
        click.echo(f"registered {made['id']}; its secret, shown only now: {made['secret']}")


@command.command("list")
@server_options
@json_option
def list_(url: str | None, config: Path, as_json: bool) -> None:
    """All webhooks, oldest first."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.webhooks()
    if as_json:
        print_json(found)
        return
    rows = [
        [each["id"], each["created_at"], each["url"], ", ".join(each["queries"])] for each in found
    ]
    print_table(("id", "created_at", "url", "queries"), rows)


@command.command("show")
@click.argument("webhook_id", metavar="ID")
@server_options
@json_option
def show(webhook_id: str, url: str | None, config: Path, as_json: bool) -> None:
    """One webhook, without its secret."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_fields, print_json

    with Client(server_url(url, config)) as client:
        found = client.webhook(webhook_id)
    if as_json:
        print_json(found)
    else:
        print_fields({**found, "queries": ", ".join(found["queries"])})


@command.command("delete")
@click.argument("webhook_id", metavar="ID")
@server_options
def delete(webhook_id: str, url: str | None, config: Path) -> None:
    """Stop delivering to a webhook; its pending deliveries are dropped."""
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        client.delete_webhook(webhook_id)
    click.echo(f"removed {webhook_id}")
