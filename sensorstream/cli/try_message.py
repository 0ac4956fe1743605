"""``sensorstream try-message``: what the rules of a running server would make of a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import json_option, server_options, server_url

if TYPE_CHECKING:
    from sensorstream.mapping.rule_report import Explanation


@click.command("try-message")
@click.argument("message", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("rules", type=click.Path(path_type=Path, exists=True, dir_okay=False), nargs=-1)
@click.option("--source", default="rest", show_default=True, help="The source of the message.")
@click.option(
    "--after",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Take in the last N messages of the server first, so that its window is not empty.",
)
@server_options
@json_option
def command(
    message: Path,
    rules: tuple[Path, ...],
    source: str,
    after: int,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Show what a server's rules, or others, would make of a message.

    MESSAGE is a file. RULES are rule files that count instead of those of the same name, or beside
    them. An engine of its own takes the message in; the server keeps nothing of it. Exits with 1 if
    a rule file has a fault, or the message would not be accepted.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    files = {each.name: each.read_text(encoding="utf-8") for each in rules}
    with Client(server_url(url, config)) as client:
        found = client.try_message(message.read_text(encoding="utf-8"), files, source, after=after)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(_lines(found)))
    if found["faults"] or found["status"] != "accepted":
        raise click.exceptions.Exit(1)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What a server tells of a message that was tried, as Turtle with comments."""
    from sensorstream.cli.explanation import lines_of

    for fault in found["faults"]:
        at = fault["position"]
        place = "" if at is None else f"{at['file']}:{at['line']}:{at['column']}: "
        yield f"{place}{fault['detail']}"
    if found["faults"]:
        return
    reason = f": {found['reason']}" if found["reason"] else ""
    yield f"# {found['status']}{reason}"
    if found["preceding"]:
        yield f"# after {found['preceding']} messages"
    yield from (f"# warning: {each}" for each in found["warnings"])
    yield from (f"{each} ." for each in found["statements"])
    for title, sort in (
        ("inserted by semantic rules", "added"),
        (f"inferred ({found['reasoner']})", "inferred"),
    ):
        if found[sort]:
            yield f"# {title}:"
            yield from (f"{each} ." for each in found[sort])
    if found["left_out"]:
        yield f"# {found['left_out']} statements are left out"
    for alert in found["alerts"]:
        yield f"# alert {alert['severity']} {alert['rule']}: {alert['text']}"
    if found["unexplained"]:
        yield f"# {found['unexplained']}"
    for each in found["explanations"]:
        yield from lines_of(_explanation(each))


def _explanation(told: Mapping[str, Any]) -> Explanation:
    from sensorstream.mapping.rule_report import (
        Explanation,
        ExpressionReport,
        RuleReport,
        Unmapped,
        Yield,
    )

    rules = tuple(
        RuleReport(
            each["rule"],
            each["matched"],
            each["cause"],
            tuple(
                ExpressionReport(**{**one, "values": tuple(one["values"])})
                for one in each["expressions"]
            ),
        )
        for each in told["rules"]
    )
    yields = tuple(Yield(**{**each, "missing": tuple(each["missing"])}) for each in told["yields"])
    unmapped = tuple(Unmapped(**each) for each in told["unmapped"])
    return Explanation(told["line"], rules, unmapped, told["error"], yields)
