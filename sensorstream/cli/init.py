"""``sensorstream init``: a working folder to start from."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.workspace import TEMPLATES, make_empty, make_from, make_workspace


@click.command("init")
@click.argument("names", metavar="DIR", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    help="; ".join(f"{each.name}: {each.sentence}" for each in TEMPLATES.values())
    + ".  [default: tracking]",
)
@click.option(
    "--from",
    "samples",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="MESSAGE...",
    help="Draft an ontology and mapping rules for these XML messages instead: the more, the "
    "better is known what tells them apart.",
)
@click.option("--empty", is_flag=True, help="Make an empty ontology and no rules instead.")
def command(
    names: tuple[Path, ...], template: str | None, samples: tuple[Path, ...], empty: bool
) -> None:
    """Make a working folder: settings, ontology, rules and sample messages.

    DIR must be new or empty.
    """
    if (template is not None) + bool(samples) + empty > 1:
        raise click.UsageError("expected only one of --template, --from and --empty")
    # 'init --from *.xml DIR': all but the first of the messages stand where DIR does.
    messages = [each for each in names if samples and each.is_file()]
    folder, *others = [each for each in names if each not in messages] or [Path()]
    if len(messages) == len(names) or others or folder.is_file():
        told = ", ".join(map(str, (*others, folder) if others else names))
        raise click.UsageError(f"expected one new DIR, and messages after --from: got {told}")
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(
            f"'{folder}' is not empty; give a new folder, so that nothing is overwritten",
            param_hint="DIR",
        )
    steps = ["check -c {path}", "map -c {path} {folder}/messages/*.xml", "serve -c {path}"]
    if samples:
        path, told_of = make_from(folder, (*samples, *messages))
        count = len(samples) + len(messages)
        what = samples[0].name if count == 1 else f"{count} messages"
        click.echo(f"made {folder}: a draft of an ontology and mapping rules for {what}")
        for each in told_of:
            click.echo(each, err=True)
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
