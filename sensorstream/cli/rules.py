"""``sensorstream rules``: the rules in force on a running server, and their files."""

from __future__ import annotations

from pathlib import Path

import click

from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.cli.versions import add_versions


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


@command.command("files")
@server_options
@json_option
def files(url: str | None, config: Path, as_json: bool) -> None:
    """The rule files in force, and what the server's own files have now.

    "differs": the file was edited since; "absent": there is no such file. "sensorstream apply"
    puts edited files in force.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json, print_table

    with Client(server_url(url, config)) as client:
        found = client.rule_files()
    if as_json:
        print_json({key: found[key] for key in ("origin", "digest", "files")})
        return
    click.echo(f"origin: {found['origin']}", err=True)
    print_table(
        ("name", "digest", "its file"),
        [[each["name"], each["digest"], each["on_disk"]] for each in found["files"]],
    )


@command.command("show")
@click.argument("name")
@server_options
@json_option
def show(name: str, url: str | None, config: Path, as_json: bool) -> None:
    """The text of the rule file NAME in force."""
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    with Client(server_url(url, config)) as client:
        text = client.rule_file(name)
    if as_json:
        print_json({"name": name, "text": text})
    else:
        click.echo(text, nl=False)


@command.command("put")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="Of the rule file; by default the name of FILE.")
@server_options
@json_option
def put(file: Path, name: str | None, url: str | None, config: Path, as_json: bool) -> None:
    """Put the rules of FILE in force, new or instead of those of this name.

    If the server refuses them, the present ones stay.
    """
    from sensorstream.cli.client import Client
    from sensorstream.cli.terminal import print_json

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8: {error}") from None
    with Client(server_url(url, config)) as client:
        change = client.put_rule_file(name or file.name, text)
    if as_json:
        print_json({"change": change})
    else:
        click.echo(f"in force, as {change}")


@command.command("delete")
@click.argument("name")
@server_options
def delete(name: str, url: str | None, config: Path) -> None:
    """Take the rule file NAME out of force; what its rules have done stays."""
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        change = client.delete_rule_file(name)
    click.echo(f"out of force, as {change}")


add_versions(command, "rules")
