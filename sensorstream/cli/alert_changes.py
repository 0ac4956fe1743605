"""What people do with alerts: ``alerts show``, ``acknowledge``, ``clear`` and so on, silences."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.clock import SystemClock

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_Change: TypeAlias = "Callable[[Client, str, str], dict[str, Any]]"
_FIELDS = (
    *("id", "state", "severity", "escalated", "rule", "kind", "key", "text", "count", "first_at"),
    *("last_at", "acknowledged_by", "assignee", "cleared_at", "silenced", "flapping"),
)


def _show(found: dict[str, Any], as_json: bool) -> None:
    from sensorstream.cli.terminal import print_fields, print_json

    if as_json:
        print_json(found)
    else:
        told = {name: found[name] for name in _FIELDS}
        print_fields({name: "" if each is None else str(each) for name, each in told.items()})


@click.command("show")
@click.argument("alert", metavar="ID")
@server_options
@json_option
def show(alert: str, url: str | None, config: Path, as_json: bool) -> None:
    """The state of what an alert (m42-1) belongs to, and how often it was raised."""
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        _show(client.alert(alert), as_json)


@click.command("history")
@click.argument("alert", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only changes after this one.")
@server_options
@json_option
def history(
    alert: str, limit: int, after: int, url: str | None, config: Path, as_json: bool
) -> None:
    """What became of an alert, oldest first; repeats are only counted."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.alert_history(alert, limit, after)
    if as_json:
        print_json(found)
        return
    columns = ("seq", "at", "change", "by", "count", "text")
    print_table(columns, [[each[name] for name in columns] for each in found["changes"]])
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found['changes'][-1]['seq']}", err=True)


def _change(name: str, sentence: str, what: click.Parameter, do: _Change) -> click.Command:
    """A command that changes an alert, by its id and one more value, and shows it then."""

    @click.command(name, help=sentence, params=[click.Argument(["alert"], metavar="ID"), what])
    @server_options
    @json_option
    def change(alert: str, url: str | None, config: Path, as_json: bool, **value: str) -> None:
        from sensorstream.cli.client import Client

        with Client(server_url(url, config)) as client:
            _show(do(client, alert, *value.values()), as_json)

    return change


def _why() -> click.Parameter:
    return click.Option(["--text"], default="", help="Why, for the history.")


acknowledge = _change(
    "acknowledge",
    "Say that somebody sees to an alert: no more reminders, no escalation.",
    _why(),
    lambda client, alert, text: client.acknowledge(alert, text),
)
clear = _change(
    "clear",
    "Say that what an alert told of has ended.",
    _why(),
    lambda client, alert, text: client.clear_alert(alert, text),
)
comment = _change(
    "comment",
    "Add a text to the history of an alert.",
    click.Argument(["text"]),
    lambda client, alert, text: client.comment(alert, text),
)
assign = _change(
    "assign",
    'Say who is to see to an alert; "" is nobody in particular.',
    click.Argument(["to"], metavar="NAME"),
    lambda client, alert, to: client.assign(alert, to),
)


@click.command("silences")
@server_options
@json_option
def silences(url: str | None, config: Path, as_json: bool) -> None:
    """The silences that have not ended."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.silences()
    if as_json:
        print_json(found)
        return
    columns = ("id", "rule", "key", "severity", "starts_at", "ends_at", "by", "comment")
    print_table(columns, [[each[name] or "" for name in columns] for each in found])


@click.command("silence")
@click.option("--rule", help="The rule, or the kind of an alert of the system; * for any signs.")
@click.option("--key", help="The key; * for any signs.")
@click.option("--severity", type=click.Choice(["info", "warning", "critical"]))
@click.option("--hours", type=click.FloatRange(0, 87_600, min_open=True), default=1.0)
@click.option("--comment", default="", help="Why.")
@server_options
@json_option
def silence(
    rule: str | None,
    key: str | None,
    severity: str | None,
    hours: float,
    comment: str,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Do not tell receivers of alerts that match, for a while (an hour); they are kept."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    until = SystemClock().now() + timedelta(hours=hours)
    with Client(server_url(url, config)) as client:
        made = client.silence(until, rule=rule, key=key, severity=severity, comment=comment)
    if as_json:
        print_json(made)
    else:
        click.echo(f"silence {made['id']} until {made['ends_at']}")


@click.command("unsilence")
@click.argument("silence_id", metavar="ID", type=int)
@server_options
def unsilence(silence_id: int, url: str | None, config: Path) -> None:
    """Tell receivers again of what a silence matched."""
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        client.end_silence(silence_id)
