"""``sensorstream apply``: put the rule files of a folder in force on a running server."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from sensorstream.cli.options import json_option, server_options, server_url


@click.command("apply")
@click.option("--diff", "only_diff", is_flag=True, help="Show what differs; change nothing.")
@click.option("--dry-run", is_flag=True, help="Also show what it would do to recent messages.")
@click.option("--watch", "again", is_flag=True, help="Apply again whenever a file changes.")
@server_options
@json_option
def command(
    only_diff: bool, dry_run: bool, again: bool, url: str | None, config: Path, as_json: bool
) -> None:
    """Put the rule files of a folder in force on a running server.

    Shows what differs between the rule files of the settings (*.rules) and those in force, then
    puts them in force together: all, or none if the server refuses one. Files that the settings do
    not name go out of force. RML files, stylesheets and the ontology are left alone.
    """
    if again and as_json:
        raise click.UsageError("--watch and --json do not go together")

    def run() -> None:
        if dry_run:
            _try(url, config, as_json=as_json)
        else:
            _apply(url, config, only_diff=only_diff, as_json=as_json)

    if not again:
        run()
        return
    from sensorstream.cli.watching import files_of_settings, watch

    watch(run, lambda: files_of_settings(config))


def _apply(url: str | None, config: Path, *, only_diff: bool, as_json: bool) -> None:
    from sensorstream.app.rule_texts import read_texts
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json
    from sensorstream.settings_file import load_settings

    ours = read_texts(load_settings(config))
    with Client(server_url(url, config)) as client:
        found = client.rule_files()
        theirs = {each["name"]: client.rule_file(each["name"]) for each in found["files"]}
        same = list(ours.items()) == list(theirs.items())
        lines = list(_difference(theirs, ours))
        change = None
        if not as_json:
            for line in lines:
                click.echo(line)
        if not same and not only_diff:
            # Somebody else may have changed them since they were read.
            change = client.put_rule_files(ours, found["digest"])
    if as_json:
        print_json({"same": same, "difference": lines, "change": change})
    elif same:
        click.echo(f"in force already, as {found['origin']}")
    elif change is not None:
        click.echo(f"in force, as {change}")


def _try(url: str | None, config: Path, *, as_json: bool) -> None:
    from sensorstream.app.rule_texts import read_texts
    from sensorstream.cli.client import Client
    from sensorstream.cli.console import print_json
    from sensorstream.settings_file import load_settings

    ours = read_texts(load_settings(config))
    with Client(server_url(url, config)) as client:
        found = client.try_rule_files(ours)
    if as_json:
        print_json(found)
    else:
        for each in found["faults"]:
            place = each["position"]
            where = "{file}:{line}:{column}: ".format(**place) if place else ""
            click.echo(f"{where}{each['detail']}")
        for each in found["differences"]:
            click.echo(f"{each['message']}:")
            for sign, side in (("-", each["before"]), ("+", each["after"])):
                reason = f": {side['reason']}" if side["reason"] else ""
                click.echo(f"  {sign} {side['status']}{reason}")
                for line in (*side["statements"], *(f"alert {text}" for text in side["alerts"])):
                    click.echo(f"  {sign} {line}")
        if not found["faults"]:
            click.echo(f"{found['different']} of {found['messages']} recent messages differ")
    if found["faults"]:
        raise click.exceptions.Exit(1)


def _difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[str]:
    """What differs, as the lines of a unified diff; in another order, a line that says so."""
    for name in dict.fromkeys([*theirs, *ours]):
        yield from difflib.unified_diff(
            theirs.get(name, "").splitlines(),
            ours.get(name, "").splitlines(),
            f"{name} in force" if name in theirs else "/dev/null",
            name if name in ours else "/dev/null",
            lineterm="",
        )
    if sorted(theirs) == sorted(ours) and list(theirs) != list(ours):
        yield f"order: {', '.join(theirs)} becomes {', '.join(ours)}"
