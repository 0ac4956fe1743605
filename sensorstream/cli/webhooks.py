"""``sensorstream webhooks``: the receivers of alerts and reports, and their deliveries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import rows_of, served
from sensorstream.cli.versions import add_versions
from sensorstream.cli.webhook_listener import listen
from sensorstream.webhook_definition import (
    CLOUD_EVENTS,
    FORMATS,
    LABELS,
    Format,
    Grouping,
    Label,
    WebhookDefinition,
)

if TYPE_CHECKING:
    from sensorstream.cli.client import Client


@click.group("webhooks")
def command() -> None:
    """Register webhooks with a running server, and see to their deliveries."""


command.add_command(listen)


@served(
    command.command("add"),
    lambda made: click.echo(
        f"registered {made['id']}; its secret, shown only now: {made['secret']}"
    ),
)
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
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default=CLOUD_EVENTS,
    help="What is sent: CloudEvents (also by default), or alerts as an Alertmanager sends them.",
)
@click.option("--changes", is_flag=True, help="Tell what becomes of open alerts, too.")
@click.option(
    "--group-by",
    multiple=True,
    type=click.Choice(LABELS),
    help="Tell alerts that are alike in this together; may be given several times.",
)
@click.option("--group-wait", type=float, help="Seconds to wait for others (30).")
@click.option("--escalated", is_flag=True, help="Tell of alerts that have escalated alone.")
@click.option("--group-interval", type=float, help="Seconds until a group is told again (300).")
def add(
    client: Client,
    receiver: str,
    queries: tuple[str, ...],
    secret: str | None,
    format: Format,
    changes: bool,
    group_by: tuple[Label, ...],
    group_wait: float | None,
    group_interval: float | None,
    escalated: bool,
) -> dict[str, Any]:
    """Deliver the alerts raised from now on to URL.

    The secret that signs the deliveries is shown only once.
    """
    group: Grouping | None = None
    given = {"wait": group_wait, "interval": group_interval}
    times = {name: each for name, each in given.items() if each is not None}
    if group_by:
        group = Grouping(group_by, **times)
    elif times:
        raise click.UsageError("--group-wait and --group-interval need --group-by")
    told = WebhookDefinition(
        receiver, queries, format=format, changes=changes, group=group, escalated=escalated
    )
    return client.add_webhook(told, secret)


def _show_list(found: list[dict[str, Any]]) -> None:
    from sensorstream.cli.terminal import print_table

    rows = [
        [each["id"], _state(each), _last(each), each["url"], ", ".join(each["queries"])]
        for each in found
    ]
    print_table(("id", "state", "last", "url", "queries"), rows)


@served(command.command("list"), _show_list)
def list_(client: Client) -> list[dict[str, Any]]:
    """All webhooks, oldest first."""
    return client.webhooks()


def _show_one(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_fields

    told = {"state": _state(found), "last": _last(found), "queries": ", ".join(found["queries"])}
    plain = ("id", "url", "created_at", "format", "failing_since")
    print_fields({**{name: found[name] or "" for name in plain}, **told})


@served(command.command("show"), _show_one)
@click.argument("webhook_id", metavar="ID")
def show(client: Client, webhook_id: str) -> dict[str, Any]:
    """One webhook, without its secret."""
    return client.webhook(webhook_id)


@served(command.command("delete"))
@click.argument("webhook_id", metavar="ID")
def delete(client: Client, webhook_id: str) -> None:
    """Stop delivering to a webhook; its deliveries are dropped."""
    client.delete_webhook(webhook_id)
    click.echo(f"removed {webhook_id}")


@served(command.command("enable"))
@click.argument("webhook_id", metavar="ID")
def enable(client: Client, webhook_id: str) -> None:
    """Deliver again to a webhook that was disabled; what waits for it first.

    What was raised meanwhile is set aside: "webhooks recover" sends it.
    """
    client.enable_webhook(webhook_id)
    click.echo(f"enabled {webhook_id}")


@served(command.command("rotate"), json=True)
@click.argument("webhook_id", metavar="ID")
@click.option("--secret", help="The new secret; by default the server makes one.")
def rotate(client: Client, webhook_id: str, secret: str | None, as_json: bool) -> None:
    """Sign with another secret, which is shown only once; for a day the old one signs too."""
    from sensorstream.cli.terminal import print_json

    made = client.rotate_secret(webhook_id, secret)
    if as_json:
        print_json(made)
        return
    click.echo(f"the secret of {webhook_id}, shown only now: {made['secret']}")
    click.echo(f"until {made['old_until']} the old one signs, too", err=True)


def _state(webhook: dict[str, Any]) -> str:
    if not webhook["enabled"]:
        return f"disabled {webhook['disabled_at']}"
    return f"failing since {webhook['failing_since']}" if webhook["failing_since"] else "enabled"


def _last(webhook: dict[str, Any]) -> str:
    last = webhook["last_delivery"]
    if last is None:
        return ""
    return f"{last['attempted_at']} {last['error'] or last['status']}"


add_versions(command, "webhooks")


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


@served(command.command("deliveries"), rows_of(*_COLUMNS))
@click.argument("webhook_id", metavar="ID")
@click.option("--state", type=click.Choice(["pending", "delivered", "dead"]))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="DELIVERY", help="Only deliveries older than this one.")
def deliveries(
    client: Client, webhook_id: str, state: str | None, limit: int, before: int | None
) -> list[dict[str, Any]]:
    """The newest deliveries of a webhook, each with its last attempt; dead: set aside."""
    return client.deliveries(webhook_id, state, limit, before)


@served(command.command("test"), json=True)
@click.argument("webhook_id", metavar="ID")
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


@served(
    command.command("resend"),
    lambda sent: click.echo(f"sending {sent['event_id']} to {sent['webhook_id']} again"),
)
@click.argument("delivery_id", metavar="DELIVERY", type=click.IntRange(0))
def resend(client: Client, delivery_id: int) -> dict[str, Any]:
    """Send one delivery again, by its number in "webhooks deliveries"."""
    return client.resend(delivery_id)


@served(
    command.command("recover"),
    lambda found: click.echo(f"sending {found['recovered']} deliveries again"),
)
@click.argument("webhook_id", metavar="ID")
@click.option(
    "--since", required=True, callback=_moment, metavar="TIME", help="What was raised from then on."
)
@click.option("--until", callback=_moment, metavar="TIME", help="And before then.  [default: now]")
def recover(
    client: Client, webhook_id: str, since: datetime, until: datetime | None
) -> dict[str, int]:
    """Send all dead deliveries of a span again: after an outage, or while it was disabled.

    A TIME is ISO 8601; without a zone it is UTC.
    """
    return {"recovered": client.recover(webhook_id, since, until)}
