"""``sensorstream rml``: mapping rules as RML, and RML as mapping rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import config_option
from sensorstream.errors import LanguageError
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.model.schema import Schema

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("rml")
def command() -> None:
    """Turn mapping rules into RML, and RML into mapping rules.

    The ontology of the deployment gives datatypes and names. What the other language cannot express
    is listed on standard error, with the reason; then the command exits with 1.
    """


@command.command("export")
@click.argument("rules", type=_FILE)
@config_option
@click.option(
    "--source",
    type=_FILE,
    help="A file with messages, as rml:source: for processors that read files. They may find "
    "values below an iteration only, so values above it get triples maps of their own.",
)
def export(rules: Path, config: Path, source: Path | None) -> None:
    """Print the mapping rules of RULES as RML, in Turtle."""
    from sensorstream.language.parser import parse
    from sensorstream.mapping.check import check
    from sensorstream.mapping.rml.ancestors import without_ancestors
    from sensorstream.mapping.rml.from_rules import from_rules
    from sensorstream.mapping.rml.writer import print_rml

    schema = _schema(config)
    file = parse(rules.read_text(encoding="utf-8"), str(rules))
    for fault in check([file], schema):
        raise fault
    mapping, refused = from_rules(file, schema, "" if source is None else str(source))
    if source is not None:
        mapping = without_ancestors(mapping)
    click.echo(print_rml(mapping), nl=False)
    _report(refused)


@command.command("import")
@click.argument("mapping", type=_FILE)
@config_option
def import_(mapping: Path, config: Path) -> None:
    """Print the RML of MAPPING (Turtle) as mapping rules."""
    from sensorstream.language.printer import print_rules
    from sensorstream.mapping.rml.reader import read_rml
    from sensorstream.mapping.rml.rml_check import faults
    from sensorstream.mapping.rml.to_rules import to_rules

    schema = _schema(config)
    base = load_settings(config).rules.base
    read = read_rml(mapping.read_text(encoding="utf-8"), str(mapping), base)
    for fault in faults(read, schema):
        raise fault
    rules, refused = to_rules(read, schema)
    click.echo(print_rules(rules), nl=False)
    _report(refused)


def _schema(config: Path) -> Schema:
    from sensorstream.reasoning.ontology import deployed_ontology

    return deployed_ontology(load_settings(config).ontology).schema


def _report(refused: Sequence[LanguageError]) -> None:
    for error in refused:
        click.echo(str(error), err=True)
    if refused:
        raise click.exceptions.Exit(1)
