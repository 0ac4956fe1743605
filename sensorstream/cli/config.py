"""``sensorstream config``: the settings of a deployment as they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sensorstream.cli.client import Client
from sensorstream.cli.options import config_option, json_option
from sensorstream.cli.served import asks
from sensorstream.cli.terminal import print_json, print_table
from sensorstream.settings_file import read_settings


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
    given = read_settings(config)[1]
    told = [{"name": each.name, "value": each.shown(), "origin": each.origin} for each in given]
    if not as_json:
        _show(told, origin)
        return
    print_json({each.pop("name"): each if origin else each["value"] for each in told})


def _show(found: list[dict[str, Any]], origin: bool = True) -> None:
    columns = ("setting", "value", "origin") if origin else ("setting", "value")
    rows = [[each["name"], _text(each["value"]), each["origin"]] for each in found]
    print_table(columns, [row[: len(columns)] for row in rows])


asks(
    command,
    "running",
    Client.settings,
    """Print the settings that a running server has read, and where each comes from.

    The file may have been edited since it started.
    """,
    show=_show,
)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
