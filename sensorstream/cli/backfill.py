"""``sensorstream backfill``: history from folders of XML."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.cli.terminal import print_fields, print_json, progress
from sensorstream.settings_file import load_settings


@click.command("backfill")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--source",
    default="rest",
    show_default=True,
    help="The source of the messages, which selects the schema and the stylesheets.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many processes map; by default as many as there are processors.",
)
@click.option(
    "--spark/--no-spark",
    "on_spark",
    default=None,
    help="Map in Spark's executors; by default if spark.master is a cluster.",
)
@config_option
@json_option
def command(
    folder: Path,
    source: str,
    processes: int | None,
    on_spark: bool | None,
    config: Path,
    as_json: bool,
) -> None:
    """Fill history from folders and archives of XML messages.

    Takes *.xml, also in *.zip, *.tar, *.tar.gz, *.tar.bz2 and *.tar.xz, from FOLDER and the folders
    in it. The mapping rules of the settings say what a message means; it goes straight to history,
    without window, reasoner and rules. Each content is stored once, so a run that was broken off is
    simply started again. Works beside a running server. Exits with 1 if a message was not taken.
    """
    from sensorstream.app.control.wiring import read_deployment
    from sensorstream.backfill.documents import Refused
    from sensorstream.backfill.filling import backfill
    from sensorstream.history.opening import open_shown

    settings = load_settings(config)
    if on_spark is None:
        on_spark = processes is None and not settings.spark.master.startswith("local")
    if on_spark and processes is not None:
        raise click.UsageError(
            "--processes goes without Spark: spark.master says how many map there"
        )
    bad: list[Refused] = []

    def tell(refused: Refused) -> None:
        bad.append(refused)
        if not as_json:
            click.echo(f"{refused.name}: {refused.reason}", err=True)

    with ExitStack() as stack:
        url = open_shown(
            settings.history,
            settings.time.timeline,
            lambda: read_deployment(settings).ontology.schema,
            stack,
        )
        step = stack.enter_context(progress("filling history", None))

        def advance(done: int) -> None:
            for _ in range(done):
                step()

        filled = backfill(
            url,
            folder,
            settings,
            source,
            tell=tell,
            advance=advance,
            processes=processes,
            on_spark=on_spark,
        )
    counts = {"stored": filled.stored, "known": filled.known, "refused": filled.refused}
    if as_json:
        told = [{"name": each.name, "reason": each.reason} for each in bad]
        print_json({**counts, "bad": told})
    else:
        print_fields(counts)
    if bad:
        raise click.exceptions.Exit(1)
