"""``sensorstream rules``: the rules in force on a running server, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.options import (
    json_option,
    served,
    server_options,
    server_url,
)
from sensorstream.cli.versions import add_versions

if TYPE_CHECKING:
    from sensorstream.cli.client import Client


@click.group("rules", invoke_without_command=True)
@server_options
@json_option
@click.pass_context
def command(context: click.Context, url: str | None, config: Path, as_json: bool) -> None:
    """List the rules of a running server; read and change their files.

    Without a subcommand: the mapping rules and the semantic rules in force.
    """
    if context.invoked_subcommand is not None:
        return
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.rules()
    if as_json:
        print_json(found)
        return
    print_table(
        ("kind", "name", "place"),
        [
            [each["kind"], each["name"], "{file}:{line}:{column}".format(**each["position"])]
            if each["position"]
            else [each["kind"], each["name"], None]
            for each in found
        ],
    )


def _show_files(found: dict[str, Any]) -> None:
    from sensorstream.cli.terminal import print_table

    click.echo(f"origin: {found['origin']}", err=True)
    print_table(
        ("name", "digest", "its file"),
        [[each["name"], each["digest"], each["on_disk"]] for each in found["files"]],
    )


@served(command.command("files"), _show_files)
def files(client: Client) -> dict[str, Any]:
    """The rule files in force, and what the server's own files have now.

    "differs": the file was edited since; "absent": there is no such file. "sensorstream apply"
    puts edited files in force.
    """
    found = client.rule_files()
    return {key: found[key] for key in ("origin", "digest", "files")}


@served(command.command("show"), lambda found: click.echo(found["text"], nl=False))
@click.argument("name")
def show(client: Client, name: str) -> dict[str, str]:
    """The text of the rule file NAME in force."""
    return {"name": name, "text": client.rule_file(name)}


@served(command.command("put"), lambda found: click.echo(f"in force, as {found['change']}"))
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="Of the rule file; by default the name of FILE.")
def put(client: Client, file: Path, name: str | None) -> dict[str, str]:
    """Put the rules of FILE in force, new or instead of those of this name.

    If the server refuses them, the present ones stay.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8: {error}") from None
    return {"change": client.put_rule_file(name or file.name, text)}


@served(command.command("delete"))
@click.argument("name")
def delete(client: Client, name: str) -> None:
    """Take the rule file NAME out of force; what its rules have done stays."""
    click.echo(f"out of force, as {client.delete_rule_file(name)}")


add_versions(command, "rules")
