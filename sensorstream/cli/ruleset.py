"""``sensorstream ruleset``: the entailment rules that come along, to read and to copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import json_option
from sensorstream.errors import SettingsError

if TYPE_CHECKING:
    from sensorstream.reasoning.rulesets.rule_set import RuleSet

_FILE = click.Path(path_type=Path)


@click.group("ruleset")
def command() -> None:
    """List, show and copy sets of entailment rules, to edit them."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rule sets that come along, with the number of their rules and facts."""
    from sensorstream.cli.console import print_json
    from sensorstream.reasoning.rulesets.library import SUMMARIES, bundled_rules

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
    from sensorstream.reasoning.rulesets.reader import read

    text = _text(name)
    rule_set = read(text, name)
    if not names:
        click.echo(text, nl=not text.endswith("\n"))
        return
    for rule in rule_set.rules:
        click.echo(f"{rule_set.notes[rule.name].position}: {rule.name}")


@command.command("copy")
@click.argument("name")
@click.argument("target", type=_FILE, required=False)
def copy(name: str, target: Path | None) -> None:
    """Copy a rule set to a file, NAME.ru in the current folder or TARGET, to edit it."""
    from sensorstream.reasoning.rulesets.library import text_of

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


def _text(name: str) -> str:
    from sensorstream.reasoning.rulesets.library import SUMMARIES, text_of

    file = Path(name)
    if name in SUMMARIES or not file.exists():
        return text_of(name)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read as text: {error}") from None


def _described(rule_set: RuleSet) -> dict[str, object]:
    from sensorstream.reasoning.rulesets.library import SUMMARIES

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
