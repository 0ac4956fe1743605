"""What became of deliveries: ``webhooks deliveries``, ``test``, ``resend`` and ``recover``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from sensorstream.cli.options import json_option, server_options, server_url

_COLUMNS: Final = (
    *("id", "raised_at", "event_id", "state", "attempts", "status", "seconds", "error"),
    "next_attempt_at",
)


def _moment(_context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"expected a date and a time such as 2026-03-01T12:00:00Z, not '{text}'", param=option
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.command("deliveries")
@click.argument("webhook_id", metavar="ID")
@click.option("--state", type=click.Choice(["pending", "delivered", "dead"]))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="DELIVERY", help="Only deliveries older than this one.")
@server_options
@json_option
def deliveries(
    webhook_id: str,
    state: str | None,
    limit: int,
    before: int | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """The newest deliveries of a webhook, each with its last attempt; dead: set aside."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.deliveries(webhook_id, state, limit, before)
    if as_json:
        print_json(found)
        return
    empty = {None: ""}
    rows = [[empty.get(each[name], each[name]) for name in _COLUMNS] for each in found]
    print_table(_COLUMNS, rows)


@click.command("test")
@click.argument("webhook_id", metavar="ID")
@server_options
@json_option
def test(webhook_id: str, url: str | None, config: Path, as_json: bool) -> None:
    """Send a test event to a webhook and tell what came; exits with 1 if it was not taken."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        came = client.test_webhook(webhook_id)
    if as_json:
        print_json(came)
    else:
        told = f"answered {came['status']}" if came["delivered"] else came["error"]
        click.echo(f"{told}, after {came['seconds']:.3f} s")
        if came["answer"]:
            click.echo(came["answer"])
    if not came["delivered"]:
        raise click.exceptions.Exit(1)


@click.command("resend")
@click.argument("delivery_id", metavar="DELIVERY", type=click.IntRange(0))
@server_options
@json_option
def resend(delivery_id: int, url: str | None, config: Path, as_json: bool) -> None:
    """Send one delivery again, by its number in "webhooks deliveries"."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        found = client.resend(delivery_id)
    if as_json:
        print_json(found)
    else:
        click.echo(f"sending {found['event_id']} to {found['webhook_id']} again")


@click.command("recover")
@click.argument("webhook_id", metavar="ID")
@click.option(
    "--since", required=True, callback=_moment, metavar="TIME", help="What was raised from then on."
)
@click.option("--until", callback=_moment, metavar="TIME", help="And before then.  [default: now]")
@server_options
@json_option
def recover(
    webhook_id: str,
    since: datetime,
    until: datetime | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Send all dead deliveries of a span again: after an outage, or while it was disabled.

    A TIME is ISO 8601; without a zone it is UTC.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        count = client.recover(webhook_id, since, until)
    if as_json:
        print_json({"recovered": count})
    else:
        click.echo(f"sending {count} deliveries again")
