"""``sensorstream demo``: the main use case, live, with every claim checked."""

from __future__ import annotations

import contextlib
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from sensorstream.installation import require


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the servers running to look around.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Put the two deployments into this folder, which must be new or empty, and leave them.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder of the CityBench benchmark, for recorded instead of simulated city data.",
)
def command(keep: bool, folder: Path | None, data: Path | None) -> None:
    """See the main job live, in about a minute.

    Starts two servers on free ports with a PostgreSQL and a reasoner each, a webhook receiver and
    Spark; sends a tracker's and a city's messages; shows what is inferred, raised and kept. Exits
    with 3 if an expected effect is missing.
    """
    # These signals must also stop the servers of the demo.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: sys.exit(1))

    for extra in ("console", "geo", "reasoners", "shapes", "spark"):
        require(extra, "the demonstration")
    from sensorstream.cli.demo.scenario import Scenario
    from sensorstream.cli.simulation.city_messages import beside_the_source
    from sensorstream.processes.own_folders import own_folder

    if folder is not None and folder.exists() and any(folder.iterdir()):
        told = f"'{folder}' is not empty; give a new folder"
        raise click.BadParameter(told, param_hint="--folder")
    with ExitStack() as stack:
        place = folder
        if place is None:
            place = stack.enter_context(own_folder("sensorstream-demo-"))
        wait = _until_interrupted if keep else None
        Scenario(place, data or beside_the_source(), stack, wait).run()
        _farewell(folder)


def _until_interrupted() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


def _farewell(kept: Path | None) -> None:
    click.echo("\nEvery claim was checked and holds. Next steps:\n")
    if kept is None:
        click.echo("  sensorstream init my-deployment            your own working folder")
        click.echo("  sensorstream demo --keep                   the same, and it stays to look at")
    else:
        config = f"-c {kept / 'city' / 'sensorstream.toml'}"
        click.echo(f"  sensorstream serve {config}")
        click.echo(f'  sensorstream sql {config} "SELECT * FROM history.congestion"')
    click.echo("  docs/start/getting-started.md                    the same, step by step")
