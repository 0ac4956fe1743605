"""``sensorstream why-not``: what keeps a rule from firing, or a query from a solution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client


@served(click.command("why-not"), lambda found: click.echo("\n".join(lines(found))))
@click.argument("rule")
@click.argument("individual", metavar="IRI")
@click.option("--variable", default="", help="The variable of the rule that is the individual.")
def command(client: Client, rule: str, individual: str, variable: str) -> dict[str, Any]:
    """Show what keeps a rule from firing for an individual.

    The parts of the semantic rule are tried one after the other on what the server knows now; the
    first that leaves nothing is told, with what is known instead. RULE may also be a continuous
    query, and its parts.
    """
    return client.why_not(rule, individual, variable)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What a server tells of a rule, for people."""
    yield found["answer"]
    yield ""
    for each in found["steps"]:
        count = each["solutions"]
        left = "" if count is None else f"  ({count} solution{'' if count == 1 else 's'})"
        yield f"{'yes' if each['held'] else 'no':<5}{each['kind']}  {each['text']}{left}"
        yield from (f"       {line}" for line in (*each["found"], each["note"]) if line)
