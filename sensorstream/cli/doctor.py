"""``sensorstream doctor``: what could keep a deployment from its work, and the way out."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.errors import SettingsError
from sensorstream.settings_file import load_settings


@click.command("doctor")
@config_option
@json_option
def command(config: Path, as_json: bool) -> None:
    """Look for what keeps a deployment from its work, and tell the way out.

    Settings, packages, permissions, disks, port, certificate, clock, Java, PostgreSQL and webhooks;
    beside a running server or without one. Exits with 1 if there is a fault; a warning is none.
    """
    from sensorstream.cli.findings import Finding, Level, findings
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.terminal import print_json

    found: list[Finding] = []
    with lasting("looking at the deployment", quiet=as_json):
        try:
            settings = load_settings(config)
        except SettingsError as error:
            remedy = "correct it: nothing else can be looked at before"
            found.append(Finding("settings", Level.FAULT, str(error), remedy))
        else:
            found.append(Finding("settings", Level.OK, f"{config} can be read"))
            found += findings(settings)
    if as_json:
        print_json(
            [
                {
                    "name": each.name,
                    "level": each.level.value,
                    "told": each.told,
                    "remedy": each.remedy or None,
                }
                for each in found
            ]
        )
    else:
        for each in found:
            click.echo(f"{each.level.value:8}{each.name}: {each.told}")
            if each.remedy:
                click.echo(f"        → {each.remedy}")
    if any(each.level is Level.FAULT for each in found):
        raise click.exceptions.Exit(1)
