"""``sensorstream config``: the settings of a deployment as they are read."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import config_option, json_option, server_options, server_url
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


@command.command("running")
@server_options
@json_option
def running(url: str | None, config: Path, as_json: bool) -> None:
    """Print the settings that a running server has read, and where each comes from.

    The file may have been edited since it started.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.settings()
    if as_json:
        print_json(found)
        return
    rows = [[each["name"], _text(each["value"]), each["origin"]] for each in found]
    print_table(("setting", "value", "origin"), rows)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
