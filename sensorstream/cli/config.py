"""``sensorstream config``: the settings of a deployment as they are read."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.logs import without_secrets
from sensorstream.settings_file import Given, read_settings


@click.group("config")
def command() -> None:
    """Show the settings of a deployment, and where each comes from."""


@command.command("show")
@click.option(
    "--origin", is_flag=True, help="Say where each comes from: file and line, variable, default."
)
@config_option
@json_option
def show(origin: bool, config: Path, as_json: bool) -> None:
    """Print every setting with its value.

    Passwords are shown as ***. Paths are absolute, patterns of files are the files they match.
    """
    from sensorstream.cli.terminal import print_json, print_table

    given = read_settings(config)[1]
    if as_json:
        print_json(
            {
                each.name: {"value": _plain(each), "origin": each.origin}
                if origin
                else _plain(each)
                for each in given
            }
        )
        return
    rows = [[each.name, _text(each), *([each.origin] if origin else [])] for each in given]
    print_table(("setting", "value", *(["origin"] if origin else [])), rows)


def _plain(given: Given) -> object:
    """The value as JSON has it."""
    if given.secret:
        return "***"
    value = given.value
    if isinstance(value, tuple):
        return [without_secrets(str(each)) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return without_secrets(str(value))


def _text(given: Given) -> str:
    value = _plain(given)
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
