"""``sensorstream config``: the settings of a deployment as they are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import config_option, json_option, served
from sensorstream.settings_file import read_settings

if TYPE_CHECKING:
    from sensorstream.cli.client import Client


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
                each.name: {"value": each.shown(), "origin": each.origin}
                if origin
                else each.shown()
                for each in given
            }
        )
        return
    rows = [[each.name, _text(each.shown()), *([each.origin] if origin else [])] for each in given]
    print_table(("setting", "value", *(["origin"] if origin else [])), rows)


def _show_running(found: list[dict[str, Any]]) -> None:
    from sensorstream.cli.terminal import print_table

    rows = [[each["name"], _text(each["value"]), each["origin"]] for each in found]
    print_table(("setting", "value", "origin"), rows)


@served(command.command("running"), _show_running)
def running(client: Client) -> list[dict[str, Any]]:
    """Print the settings that a running server has read, and where each comes from.

    The file may have been edited since it started.
    """
    return client.settings()


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
