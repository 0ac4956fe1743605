"""``sensorstream spark``: what concerns Spark itself."""

from __future__ import annotations

import click

from sensorstream.cli.preparing_spark import prepare


@click.group("spark")
def command() -> None:
    """Prepare Spark, so that it starts sooner."""


command.add_command(prepare)
