"""``sensorstream ruleset``: the entailment rules that come along; ``rml``: mapping rules as RML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.options import json_option
from sensorstream.cli.terminal import print_json
from sensorstream.errors import LanguageError, SettingsError
from sensorstream.settings.settings import Settings

if TYPE_CHECKING:
    from sensorstream.reasoning.rulesets.rule_set import RuleSet

_FILE = click.Path(path_type=Path)


@click.group("ruleset")
def command() -> None:
    """List, show, copy and minimise sets of entailment rules, to edit them."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rule sets that come along, with the number of their rules and facts."""
    from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, bundled_rules

    found = {name: bundled_rules(name) for name in SUMMARIES}
    if as_json:
        print_json([_described(rule_set) for rule_set in found.values()])
        return
    width = max(map(len, found))
    for name, rule_set in found.items():
        counts = f"{len(rule_set.rules):>3} rules {len(rule_set.facts):>3} facts"
        click.echo(f"{name:<{width}}  {counts}  {SUMMARIES[name]}")


@command.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--names", is_flag=True, help="Print only where each rule stands, and its name.")
def show(name: str, names: bool) -> None:
    """Print a rule set that comes along, or one of a FILE (*.ru, *.dlog), once it can be used.

    A text that is no rule set is an error with its line and column.
    """
    from sensorstream.reasoning.rulesets.rule_set_reader import read

    text = _text(name)
    rule_set = read(text, name)
    if not names:
        click.echo(text, nl=not text.endswith("\n"))
        return
    for rule, note in rule_set.notes.items():
        click.echo(f"{note.position}: {rule}")


@command.command("copy")
@click.argument("name")
@click.argument("target", type=_FILE, required=False)
def copy(name: str, target: Path | None) -> None:
    """Copy a rule set to a file, NAME.ru in the current folder or TARGET, to edit it."""
    from sensorstream.reasoning.rulesets.rule_set_reader import text_of

    text = text_of(name)
    file = Path(f"{name}.ru") if target is None else target
    if file.is_dir():
        file /= f"{name}.ru"
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise SettingsError(
            f"{file} exists: nothing was written; expected another name, as the second argument"
        ) from None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(f"wrote {file}")


@command.command("minimise")
@click.argument("rulesets", metavar="RULESETS")
@click.option(
    "--ontology", "ontologies", type=_FILE, multiple=True, required=True, help="Its files."
)
@click.option("--query", "queries", type=_FILE, multiple=True, help="What is asked (*.rq).")
def minimise(rulesets: str, ontologies: tuple[Path, ...], queries: tuple[Path, ...]) -> None:
    """Print the rules of RULESETS that an ontology needs, and queries if there are some.

    RULESETS are names and files with commas between them. What streams may have the names of the
    ontology as properties and classes. Then the rules that are printed conclude all that RULESETS
    do, or all that the queries can ask for; contradictions in any case.
    """
    from textwrap import wrap

    from sensorstream.errors import ProgramError
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.reasoning.rulesets.minimising import kinds_asked, minimised
    from sensorstream.reasoning.rulesets.rule_blocks import excerpt
    from sensorstream.reasoning.rulesets.rule_set import combined
    from sensorstream.reasoning.rulesets.rule_set_reader import question_of, read
    from sensorstream.settings.settings import OntologySettings
    from sensorstream.sparql.query_parser import parse_query

    texts = {name: _text(name) for name in map(str.strip, rulesets.split(","))}
    sets = {name: read(text, name) for name, text in texts.items()}
    whole = combined(sets.values())
    questions = [parse_query(_read(path), file=str(path)) for path in queries]
    questions += map(question_of, whole.state_rules)
    asked = [kind for question in questions for kind in kinds_asked(question)]
    static = deployed_ontology(OntologySettings(ontologies)).triples
    found = minimised(whole, static, asked if queries else None)
    if not found.kept and not whole.state_rules:
        raise ProgramError(
            f"no rule of {rulesets} is needed: without inference (reasoning.profile = none) the "
            "answers are the same"
        )
    # Rules that delete stay: what they do is not a matter of answers.
    kept = {whole.notes[name].position for name in (*found.kept, *whole.state_names)}
    what = ", ".join(path.name for path in ontologies)
    asking = f" with {', '.join(path.name for path in queries)}" if queries else ""
    click.echo(f"# The rules of {rulesets} that {what} needs{asking}:")
    click.echo(f"# {len(found.kept)} of {len(whole.rules)}.")
    for told, names in (
        ("they cannot fire" + (", or reach no query" if queries else ""), found.idle),
        ("the others say the same", found.implied),
    ):
        if names:
            click.echo(f"# Left out, as {told}:")
            for line in wrap(", ".join(names), 96, break_on_hyphens=False):
                click.echo(f"#   {line}")
    click.echo("")
    for name, rule_set in sets.items():
        places = {note.position for note in rule_set.notes.values()}
        if places & kept or rule_set.facts:
            click.echo(excerpt(texts[name], name, places - kept))


def _text(name: str) -> str:
    from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, text_of

    file = Path(name)
    if name in SUMMARIES or not file.exists():
        return text_of(name)
    return _read(file)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read as text: {error}") from None


def _described(rule_set: RuleSet) -> dict[str, object]:
    from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES

    return {
        "name": rule_set.name,
        "summary": SUMMARIES[rule_set.name],
        "facts": len(rule_set.facts),
        "rules": [
            {
                "name": rule.name,
                "line": rule_set.notes[rule.name].position.line,
                "comment": rule_set.notes[rule.name].comment,
            }
            for rule in rule_set.rules
        ],
    }


_MAPPING = click.Path(path_type=Path, dir_okay=False)


@click.group("rml")
def rml() -> None:
    """Turn mapping rules into RML, and RML into mapping rules.

    The ontology of the deployment gives datatypes and names. What the other language cannot express
    is listed on standard error, with the reason; then the command exits with 1.
    """


@deployed(rml.command("export"), is_first=True)
@click.argument("rules", type=_MAPPING)
@click.option(
    "--source",
    type=_MAPPING,
    help="A file with messages, as rml:source: for processors that read files. They may find "
    "values below an iteration only, so values above it get triples maps of their own.",
)
def export(settings: Settings, rules: Path, source: Path | None) -> None:
    """Print the mapping rules of RULES as RML, in Turtle."""
    from sensorstream.language.rule_parser import parse
    from sensorstream.mapping.mapping_check import check
    from sensorstream.mapping.rml.from_rules import from_rules, without_ancestors
    from sensorstream.mapping.rml.rml_writer import print_rml
    from sensorstream.reasoning.ontology import deployed_ontology

    schema = deployed_ontology(settings.ontology).schema
    file = parse(rules.read_text(encoding="utf-8"), str(rules))
    for fault in check([file], schema):
        raise fault
    mapping, refused = from_rules(file, schema, "" if source is None else str(source))
    if source is not None:
        mapping = without_ancestors(mapping)
    click.echo(print_rml(mapping), nl=False)
    _report(refused)


@deployed(rml.command("import"))
@click.argument("mapping", type=_MAPPING)
def import_(settings: Settings, mapping: Path) -> None:
    """Print the RML of MAPPING (Turtle) as mapping rules."""
    from sensorstream.language.rule_printer import print_rules
    from sensorstream.mapping.rml.rml_check import faults
    from sensorstream.mapping.rml.rml_reader import read_rml
    from sensorstream.mapping.rml.to_rules import to_rules
    from sensorstream.reasoning.ontology import deployed_ontology

    schema = deployed_ontology(settings.ontology).schema
    read = read_rml(mapping.read_text(encoding="utf-8"), str(mapping), settings.rules.base)
    for fault in faults(read, schema):
        raise fault
    rules, refused = to_rules(read, schema)
    click.echo(print_rules(rules), nl=False)
    _report(refused)


def _report(refused: Sequence[LanguageError]) -> None:
    for error in refused:
        click.echo(str(error), err=True)
    if refused:
        raise click.exceptions.Exit(1)
