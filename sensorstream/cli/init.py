"""``sensorstream init``: a working folder to start from."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.workspace import TEMPLATES, make_workspace


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default="tracking",
    show_default=True,
    help="; ".join(f"{each.name}: {each.sentence}" for each in TEMPLATES.values()) + ".",
)
def command(folder: Path, template: str) -> None:
    """Make a working folder: settings, ontology, rules and sample messages.

    DIR must be new or empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(
            f"'{folder}' is not empty; give a new folder, so that nothing is overwritten",
            param_hint="DIR",
        )
    path = make_workspace(folder, TEMPLATES[template])
    click.echo(f"made {folder}: {TEMPLATES[template].sentence}")
    click.echo("")
    click.echo("next:")
    click.echo(f"  sensorstream check -c {path}")
    click.echo(f"  sensorstream map -c {path} {folder / 'messages'}/*.xml")
    click.echo(f"  sensorstream serve -c {path}")
