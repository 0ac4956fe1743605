"""``sensorstream init``: a working folder to start from."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.workspace import TEMPLATES, make_empty, make_from, make_workspace


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    help="; ".join(f"{each.name}: {each.sentence}" for each in TEMPLATES.values())
    + ".  [default: tracking]",
)
@click.option(
    "--from",
    "sample",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="MESSAGE",
    help="Draft an ontology and mapping rules for this XML message instead.",
)
@click.option("--empty", is_flag=True, help="Make an empty ontology and no rules instead.")
def command(folder: Path, template: str | None, sample: Path | None, empty: bool) -> None:
    """Make a working folder: settings, ontology, rules and sample messages.

    DIR must be new or empty.
    """
    if (template is not None) + (sample is not None) + empty > 1:
        raise click.UsageError("expected only one of --template, --from and --empty")
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(
            f"'{folder}' is not empty; give a new folder, so that nothing is overwritten",
            param_hint="DIR",
        )
    steps = ["check -c {path}", "map -c {path} {folder}/messages/*.xml", "serve -c {path}"]
    if sample is not None:
        path, left_out = make_from(folder, sample)
        click.echo(f"made {folder}: a draft of an ontology and mapping rules for {sample.name}")
        for place in left_out:
            click.echo(f"left out: {place}", err=True)
        steps[2:] = ["run -c {path} --messages {folder}/messages --watch", "test -c {path}"]
        steps.append("serve -c {path}")
    elif empty:
        path = make_empty(folder)
        click.echo(f"made {folder}: settings, an empty ontology and no rules")
        del steps[1]
    else:
        chosen = TEMPLATES[template or "tracking"]
        path = make_workspace(folder, chosen)
        click.echo(f"made {folder}: {chosen.sentence}")
    click.echo("")
    click.echo("next:")
    for step in steps:
        click.echo(f"  sensorstream {step.format(path=path, folder=folder)}")
