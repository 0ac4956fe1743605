"""What became of deliveries: ``webhooks deliveries``, ``test``, ``resend`` and ``recover``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import asks_server, json_option, prints, rows_of

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

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
@asks_server
@prints(rows_of(*_COLUMNS))
def deliveries(
    client: Client, webhook_id: str, state: str | None, limit: int, before: int | None
) -> list[dict[str, Any]]:
    """The newest deliveries of a webhook, each with its last attempt; dead: set aside."""
    return client.deliveries(webhook_id, state, limit, before)


@click.command("test")
@click.argument("webhook_id", metavar="ID")
@asks_server
@json_option
def test(client: Client, webhook_id: str, as_json: bool) -> None:
    """Send a test event to a webhook and tell what came; exits with 1 if it was not taken."""
    from sensorstream.cli.terminal import print_json

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
@asks_server
@prints(lambda sent: click.echo(f"sending {sent['event_id']} to {sent['webhook_id']} again"))
def resend(client: Client, delivery_id: int) -> dict[str, Any]:
    """Send one delivery again, by its number in "webhooks deliveries"."""
    return client.resend(delivery_id)


@click.command("recover")
@click.argument("webhook_id", metavar="ID")
@click.option(
    "--since", required=True, callback=_moment, metavar="TIME", help="What was raised from then on."
)
@click.option("--until", callback=_moment, metavar="TIME", help="And before then.  [default: now]")
@asks_server
@prints(lambda found: click.echo(f"sending {found['recovered']} deliveries again"))
def recover(
    client: Client, webhook_id: str, since: datetime, until: datetime | None
) -> dict[str, int]:
    """Send all dead deliveries of a span again: after an outage, or while it was disabled.

    A TIME is ISO 8601; without a zone it is UTC.
    """
    return {"recovered": client.recover(webhook_id, since, until)}
