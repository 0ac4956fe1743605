"""Commands that ask a running server, and those that work on a deployment itself; what a command
finds is printed as JSON (``--json``), or for people.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.options import (
    PARAMETERS,
    config_option,
    json_option,
    server_options,
    server_url,
)
from sensorstream.cli.terminal import print_json, print_table
from sensorstream.client.deployment_operations import Kind
from sensorstream.client.operation import Operation
from sensorstream.settings.settings_file import load_settings

Function: TypeAlias = Callable[..., Any]
Subject: TypeAlias = tuple[
    Callable[[Function], Function], Callable[..., AbstractContextManager[Any]]
]
"""The subject of a command: the options that give it, and the way to open it."""


def served(
    make: Callable[[Callable[..., None]], click.Command],
    show: Callable[[Any], object] | None = None,
    *,
    json: bool = False,
    last: Callable[[Function], Function] | None = None,
    is_first: bool = False,
    fails: Callable[[Any], bool] | None = None,
    about: Subject = (server_options, lambda config, url: CommandClient(server_url(url, config))),
) -> Callable[[Function], click.Command]:
    """Make a command of a function; its first argument is a :class:`.CommandClient`, or ``about``.

    The result of the function is printed by ``show`` or as JSON (``--json``); with ``json``, it
    gets ``as_json`` itself. The command exits with 1 if the result ``fails``. Its own options come
    first, or those of the server (``is_first``); those that ``last`` adds come last.
    """
    options, subject = about

    def decorated(command: Function) -> click.Command:
        own = vars(command).pop(PARAMETERS, [])
        run = command if last is None else last(command)

        @wraps(command)
        def do(config: Path, url: str | None = None, **given: Any) -> None:
            as_json = show is not None and given.pop("as_json")
            with subject(config, url) as it:
                found = run(it, **given)
                if show is not None:
                    (print_json if as_json else show)(found)
            if fails is not None and fails(found):
                raise click.exceptions.Exit(1)

        # Click keeps them in reverse order.
        kept = vars(do)[PARAMETERS] = vars(run).pop(PARAMETERS, [])
        if show is not None or json:
            json_option(do)
        if is_first:
            kept += own
        options(do)
        if not is_first:
            kept += own
        return make(do)

    return decorated


deployed: Final = partial(
    served, about=(config_option, lambda config, _url: nullcontext(load_settings(config)))
)
"""Like :func:`served`, for a function whose first argument is the deployment's settings."""


def asks(
    group: click.Group,
    name: str,
    operation: Operation[..., Any],
    told: str,
    *parameters: click.Parameter,
    show: Callable[[Any], object] | str | None = None,
    says: str = "",
) -> None:
    """Add a command that does one operation; its parameters are the arguments by name.

    ``show`` prints the result, or is a text with the result's fields in braces; where there is no
    result, ``says`` is printed, a text with the arguments. ``told`` is the command's help.
    """

    def ask(client: CommandClient, **given: Any) -> Any:
        found = operation.__get__(client, CommandClient)(**given)
        if says:
            click.echo(says.format(**given))
        return found

    written = (lambda found: click.echo(show.format(**found))) if isinstance(show, str) else show
    served(group.command(name, help=cleandoc(told), params=list(parameters)), written)(ask)


def limit(default: int = 20, most: int = 1000) -> click.Parameter:
    """``--limit N``."""
    kind = click.IntRange(1, most)
    return click.Option(["--limit"], type=kind, default=default, show_default=True)


def before(what: str, name: str = "SEQ") -> click.Parameter:
    """``--before SEQ``: where the page that was shown ends."""
    return click.Option(
        ["--before"], type=int, metavar=name, help=f"Only {what} older than this one."
    )


def after(what: str) -> click.Parameter:
    """``--after SEQ``: where the page that was shown ends, of a list whose oldest come first."""
    told = f"Only {what} after this one."
    return click.Option(["--after"], type=int, default=0, metavar="SEQ", help=told)


def show_page(found: dict[str, Any], name: str, show: Callable[[Any], object]) -> None:
    """Print the page of a list with this name, and how to go on."""
    show(found[name])
    if found["next"] is not None:
        click.echo(f"there may be more: --after {found[name][-1]['seq']}", err=True)


def add_versions(group: click.Group, kind: Kind) -> None:
    """Add ``versions`` and ``restore``; all but the ontology have a name as first argument."""

    def versions(client: CommandClient, as_json: bool, change: str | None, name: str = "") -> None:
        """The versions that were put, oldest first.

        Each is named by its change: the id of the journal's entry that put it.
        """
        if change is not None:
            text, _ = client.version(kind, change, name)
            click.echo(text, nl=False)
            return
        found = client.versions(kind, name)
        if as_json:
            print_json(found)
        else:
            rows = [[e["change"], e["at"], e["by"], e["digest"] or "removed"] for e in found]
            print_table(("change", "at", "by", "digest"), rows)

    def restore(client: CommandClient, change: str, as_json: bool, name: str = "") -> None:
        """Put an earlier version in force again: the one that CHANGE has put.

        "versions" lists them. It is a change like any other, and is checked like any other.
        """
        text, media_type = client.version(kind, change, name)
        made = client.put(kind, text, name, media_type=media_type)
        if as_json:
            print_json(made)
            return
        click.echo(f"{name or kind} is again as {change} has put it")
        if "secret" in made:
            click.echo(f"its secret, shown only now: {made['secret']}")

    named = click.argument("name", metavar="ID" if kind == "webhooks" else "NAME")
    text = click.option("--text", "change", metavar="CHANGE", help="Print this version's text.")
    changed = click.argument("change")
    for name, function, own in (("versions", versions, text), ("restore", restore, changed)):
        own(function)
        if kind != "ontology":
            named(function)
        served(group.command(name), json=True)(function)
