"""``sensorstream demo``: the main use case, live, with every claim checked."""

from __future__ import annotations

import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the two deployments in this folder, which must be new or empty.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder of the CityBench benchmark, for recorded instead of simulated city data.",
)
def command(keep: Path | None, data: Path | None) -> None:
    """See the main job live, in about a minute.

    Starts two servers on free ports with a PostgreSQL and a reasoner each, a webhook receiver and
    Spark; sends a tracker's and a city's messages; shows what is inferred, raised and kept. Exits
    with 3 if an expected effect is missing.
    """
    # SIGTERM must also stop the servers of the demo.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))

    from sensorstream.demo.scenario import Scenario
    from sensorstream.simulation.citybench import beside_the_source

    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.BadParameter(f"'{keep}' is not empty; give a new folder", param_hint="--keep")
    with ExitStack() as stack:
        if keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sensorstream-")))
        else:
            folder = keep
        Scenario(folder, data or beside_the_source(), stack).run()
        _farewell(keep)


def _farewell(kept: Path | None) -> None:
    click.echo("\nEvery claim was checked and holds. Next steps:\n")
    if kept is None:
        click.echo("  sensorstream init my-deployment            your own working folder")
        click.echo("  sensorstream demo --keep demo-data         the same, with files to look at")
    else:
        config = f"-c {kept / 'city' / 'sensorstream.toml'}"
        click.echo(f"  sensorstream serve {config}")
        click.echo(f'  sensorstream sql {config} "SELECT * FROM history.congestion"')
    click.echo("  docs/getting-started.md                    the same, step by step")
