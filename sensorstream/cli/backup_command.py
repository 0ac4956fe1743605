"""``sensorstream backup`` and ``restore``: a deployment as one file, and of one."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.terminal import lasting
from sensorstream.clock import SystemClock
from sensorstream.settings.settings import Settings


@deployed(click.command("backup"))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
def command(settings: Settings, file: Path) -> None:
    """Write a deployment, its database and its archive to one file.

    Beside a running server, which goes on, or without one. The database is that of one moment: all
    that was acknowledged before is in it. Keep the file safe: it has the secrets of webhooks.
    """
    from sensorstream.app.life.backup import back_up

    with lasting("writing the backup"):
        facts = back_up(settings, file.absolute(), SystemClock().now())
    click.echo(f"wrote {file}: {file.stat().st_size} bytes")
    for each in facts.outside:
        click.echo(f"not in it: {each}", err=True)


@click.command("restore")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def restore(file: Path, folder: Path) -> None:
    """Make a deployment of a backup, in a folder that is new or empty.

    Its database must be empty, too: set SENSORSTREAM_HISTORY_URL to restore into another one than
    that of its settings.
    """
    from sensorstream.app.life.backup import restore

    with lasting("restoring the backup"):
        facts, settings = restore(file.absolute(), folder.absolute())
    click.echo(f"made {folder} of the backup of {facts.made_at} (SensorStream {facts.version})")
    for each in facts.outside:
        if not Path(each).exists():
            click.echo(f"missing: {each}", err=True)
    click.echo(f"next: sensorstream serve -c {folder / settings.path.name}")
