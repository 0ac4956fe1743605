"""``sensorstream validate``: whether RDF files conform to shapes of SHACL."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.command_group import CommandFailure
from sensorstream.cli.options import FILE, json_option
from sensorstream.cli.terminal import print_json
from sensorstream.errors import ShapesError


class _WrongShapes(CommandFailure):
    exit_code = 2


@click.command("validate")
@click.option(
    "--shapes",
    type=FILE,
    multiple=True,
    required=True,
    metavar="FILE",
    help="The shapes, as Turtle, N-Triples or RDF/XML; may be given several times.",
)
@click.argument("data", metavar="DATA...", nargs=-1, required=True, type=FILE)
@json_option
def command(shapes: tuple[Path, ...], data: tuple[Path, ...], as_json: bool) -> None:
    """Check whether RDF files conform to shapes (SHACL).

    Prints the report as Turtle, or as JSON. All DATA together are one graph: .ttl, .nt, .rdf. Exits
    with 0 if it conforms, with 1 if it does not, with 2 if the shapes are wrong.
    """
    from sensorstream.shapes.shape_graph import read_shapes
    from sensorstream.shapes.validation import Validator
    from sensorstream.streams.background_graphs import Background

    background = Background()
    background.read(data)
    try:
        report = Validator(read_shapes(shapes)).report(background.triples())
    except ShapesError as error:
        raise _WrongShapes(error.code, str(error), error.page) from None
    if as_json:
        print_json(report.data())
    else:
        click.echo(report.turtle.rstrip())
    if not report.conforms:
        raise click.exceptions.Exit(1)
