"""``sensorstream alerts``: the alerts of a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sensorstream.cli.alert_changes import (
    acknowledge,
    assign,
    clear,
    comment,
    history,
    show,
    silence,
    silences,
    unsilence,
)
from sensorstream.cli.following import count_option, follow
from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.errors import ServerUnreachable

_COLUMNS: tuple[str, ...] = ("seq", "time", "severity", "rule", "key", "text")
_OPEN = ("seq", "id", "count", "last_time", "severity", "rule", "key", "text")


@click.group("alerts")
def command() -> None:
    """List or follow the alerts of a running server, and see to them."""


for _command in (
    *(show, history, acknowledge, clear, comment, assign),
    *(silences, silence, unsilence),
):
    command.add_command(_command)


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only alerts older than this one.")
@click.option(
    "--state",
    type=click.Choice(["open", "acknowledged", "cleared"]),
    help="Not each alert, but what is in this state, with its repeats.",
)
@server_options
@json_option
def list_(
    limit: int, before: int | None, state: str | None, url: str | None, config: Path, as_json: bool
) -> None:
    """The newest alerts, newest first; or what is open, with its repeats."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        if state is None:
            columns, found = _COLUMNS, client.alerts(limit, before)
        else:
            columns, found = _OPEN, client.alerts_in(state, limit, before)
    if as_json:
        print_json(found)
    else:
        print_table(columns, [[each[name] for name in columns] for each in found])


@command.command("messages")
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only messages after this one.")
@server_options
@json_option
def messages(
    alert: str, limit: int, after: int, url: str | None, config: Path, as_json: bool
) -> None:
    """The messages that led to an alert, given by its id (m42-1), oldest first.

    They are those that said, or caused to be inferred, what the alert's rule matched.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.alert_messages(alert, limit, after)
    if as_json:
        print_json(found)
        return
    rows = [
        [
            each["message_id"],
            each["source"],
            each["received_at"],
            "(dropped by retention)" if each["dropped"] else " ".join(each["content"].split()),
        ]
        for each in found["messages"]
    ]
    print_table(("message_id", "source", "received_at", "content"), rows)
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found['messages'][-1]['seq']}", err=True)


@command.command("follow")
@click.option(
    "--after", metavar="SEQ", help='Begin after this alert; "" begins with the oldest kept one.'
)
@click.option("--changes", is_flag=True, help="Not each alert, but what becomes of open ones.")
@count_option
@server_options
@json_option
def follow_(
    after: str | None,
    changes: bool,
    count: int | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Alerts as they are raised, one a line, until Ctrl-C."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    last = after or "0"

    def show(alert: dict[str, Any]) -> None:
        nonlocal last
        last = str(alert["seq"])
        if as_json:
            print_json(alert)
        elif changes:
            click.echo(
                f"{alert['seq']} {alert['at']} {alert['id']} {alert['change']} "
                f"{alert['severity']} {alert['rule'] or alert['kind']} {alert['key']} "
                f"{alert['by']}: {alert['text']}"
            )
        else:
            click.echo(f"{alert['seq']} {alert['time']} {alert['severity']}: {alert['text']}")

    with Client(server_url(url, config)) as client:
        if not follow(client.follow_alerts(after, changes), count, show):
            raise ServerUnreachable(f"the server ended the stream: continue with --after {last}")
