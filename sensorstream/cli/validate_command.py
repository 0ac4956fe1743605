"""``sensorstream validate``: whether files, window or history conform to shapes of SHACL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from sensorstream.cli.command_group import CommandFailure
from sensorstream.cli.options import FILE, json_option, server_options
from sensorstream.cli.terminal import print_json
from sensorstream.client.question_operations import AskedOf
from sensorstream.errors import ShapesError
from sensorstream.model.rdf_formats import RDF_ENDINGS
from sensorstream.model.terms import Triple
from sensorstream.settings.settings_file import load_settings


class _WrongShapes(CommandFailure):
    exit_code = 2


@click.command("validate")
@click.argument("data", metavar="[DATA...]", nargs=-1, type=FILE)
@click.option(
    "--shapes",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help=f"The shapes: {RDF_ENDINGS}; may be given several times. By default those of the "
    "settings.",
)
@click.option(
    "--on",
    "place",
    type=click.Choice(["cache", "history", "all"]),
    help="Instead of DATA: what holds now on the running server; what has left the window; both.",
)
@click.option("--at", metavar="TIME", help="Of history: what held at a time of the time line.")
@server_options
@json_option
def command(
    data: tuple[Path, ...],
    shapes: tuple[Path, ...],
    place: str | None,
    at: str | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Check whether data conform to shapes (SHACL).

    Prints the report as Turtle, or as JSON. All DATA together are one graph; their formats are
    those of the shapes. With --on the window of a running server is checked, or history, where
    --at says a time. Exits with 0 if it conforms, with 1 if it does not, with 2 if the shapes are
    wrong.
    """
    if bool(data) is (place is not None):
        raise click.UsageError("expected DATA, or --on cache, history or all")
    if at is not None and place not in ("history", "all"):
        raise click.UsageError("--at needs --on history or all: files and the window have one time")
    from sensorstream.shapes.shape_graph import read_shapes
    from sensorstream.shapes.validation import Validator

    shapes = shapes or load_settings(config).shapes.files
    if not shapes:
        raise click.UsageError(f"expected --shapes FILE: {config} names no shapes.files")
    try:
        validator = Validator(read_shapes(shapes))
        if place is None:
            from sensorstream.streams.background_graphs import Background

            background = Background()
            background.read(data)
            report = validator.report(background.triples())
        else:
            scope = AskedOf(on=place, at=at, during=None)
            report = validator.report(tuple(_held(scope, url, config, as_json)))
    except ShapesError as error:
        raise _WrongShapes(error.code, str(error), error.page) from None
    if as_json:
        print_json(report.data())
    else:
        click.echo(report.turtle.rstrip())
    if not report.conforms:
        raise click.exceptions.Exit(1)


def _held(scope: AskedOf, url: str | None, config: Path, quiet: bool) -> Iterator[Triple]:
    """The statements of a place. History does not have those of the ontology, which say what is a
    subclass of what: they come from the files of the settings, if there are any.
    """
    from sensorstream.cli.query_command import statements
    from sensorstream.kb.graph_text import GraphReader
    from sensorstream.reasoning.ontology import deployed_ontology

    yield from GraphReader().read(statements(scope, url, config, quiet), "")
    if scope["on"] == "history" and config.exists():
        yield from deployed_ontology(load_settings(config).ontology).triples
