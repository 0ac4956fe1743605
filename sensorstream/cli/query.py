"""``sensorstream query``: SPARQL over a running server's knowledge base."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from sensorstream.cli.options import server_options, server_url

_FORMATS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "table": "application/sparql-results+json, text/turtle;q=0.9",
        "json": "application/sparql-results+json",
        "xml": "application/sparql-results+xml",
        "csv": "text/csv",
        "tsv": "text/tab-separated-values",
        "turtle": "text/turtle",
        "ntriples": "application/n-triples",
    }
)


@click.command("query")
@click.argument("query", metavar="SPARQL")
@server_options
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="table")
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def command(query: str, url: str | None, config: Path, form: str) -> None:
    """Query a running server's knowledge base in SPARQL.

    SPARQL is the query itself, or "-" to read it from standard input.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_solutions
    from sensorstream.cli.lasting import lasting

    text = sys.stdin.read() if query == "-" else query
    with (
        Client(server_url(url, config)) as client,
        lasting("the server answers", quiet=form == "json"),
    ):
        media_type, answer = client.sparql(text, _FORMATS[form])
    if form == "table" and media_type == "application/sparql-results+json":
        print_solutions(json.loads(answer))
    else:
        click.echo(answer.rstrip("\n"))
