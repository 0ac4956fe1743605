"""``sensorstream send``: post XML messages to a running server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from sensorstream.cli.client import Client
from sensorstream.cli.delivery import Outgoing, deliver, end
from sensorstream.cli.served import served
from sensorstream.cli.sources import sources


@served(click.command("send"), json=True, is_first=True)
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@click.option(
    "--source",
    metavar="NAME",
    help="The source of the messages, which selects the schema and the stylesheets.  "
    "[default: rest, or soap]",
)
@click.option("--soap", is_flag=True, help="Send by SOAP instead of REST.")
def command(
    client: Client, messages: tuple[str, ...], source: str | None, soap: bool, as_json: bool
) -> None:
    """Send XML messages to a running server.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. Prints
    the alerts, replies and warnings of each message, and a summary. Exits with 1 if a message was
    not accepted.
    """
    if soap and source is not None:
        raise click.UsageError("--source goes with REST: messages by SOAP have the source soap")
    outgoing = [Outgoing(each.name, each.read, source=source) for each in sources(messages)]
    answers: list[dict[str, Any]] = []

    def answered(name: str, facts: Mapping[str, Any]) -> None:
        if as_json:
            answers.append({"message": name, **facts})
        else:
            _show(name, facts)

    tally = deliver(client, outgoing, len(outgoing), soap=soap, answered=answered)
    end(tally, as_json=as_json, answers=answers)


def _show(name: str, facts: Mapping[str, Any]) -> None:
    """Print what a message has caused; nothing, if it was just accepted."""
    from sensorstream.stories.wording import written_alert

    lines = [
        f"  alert   {written_alert(alert['severity'], alert['text'], alert['key'])}"
        for alert in facts["alerts"]
        if alert["kind"] == "rule"
    ]
    lines += [f"  reply   {reply}" for reply in facts["replies"]]
    if facts["matched"]:
        # The reason why no rule matched is told in the summary.
        lines += [f"  warning {warning}" for warning in facts["warnings"]]
    if lines:
        click.echo("\n".join((f"{name}: {facts['status']}", *lines)))
