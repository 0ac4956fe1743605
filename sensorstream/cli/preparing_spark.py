"""``sensorstream spark prepare``: Spark's classes in a file, so that it starts sooner."""

from __future__ import annotations

import click


@click.command("prepare")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def prepare(quiet: bool) -> None:
    """Keep Spark's classes in a file, so that it starts in a third of the CPU time.

    Takes a minute or two, and about 230 MB in the folder for caches ($XDG_CACHE_HOME, or ~/.cache).
    Once for each installation; after an update of Spark or Java, call it again.
    """
    from sensorstream.cli.lasting import lasting
    from sensorstream.extras import require

    require("spark", "Spark")
    from sensorstream.spark.preparation import prepare

    with lasting("running Spark once, and keeping its classes", quiet=quiet):
        file = prepare()
    click.echo(f"{file}: {file.stat().st_size / 1e6:.0f} MB")
