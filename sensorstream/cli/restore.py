"""``sensorstream restore``: a deployment from a backup."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("restore")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def command(file: Path, folder: Path) -> None:
    """Make a deployment of a backup, in a folder that is new or empty.

    Its database must be empty, too: set SENSORSTREAM_HISTORY_URL to restore into another one than
    that of its settings.
    """
    from sensorstream.app.backup import restore
    from sensorstream.cli.lasting import lasting

    with lasting("restoring the backup"):
        facts, settings = restore(file.absolute(), folder.absolute())
    click.echo(f"made {folder} of the backup of {facts.made_at} (SensorStream {facts.version})")
    for each in facts.outside:
        if not Path(each).exists():
            click.echo(f"missing: {each}", err=True)
    click.echo(f"next: sensorstream serve -c {folder / settings.path.name}")
