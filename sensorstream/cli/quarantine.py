"""``sensorstream quarantine``: messages that a running server kept but did not take in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sensorstream.cli.options import rows_of, served

if TYPE_CHECKING:
    from sensorstream.cli.client import Client

_COLUMNS: Final = ("message_id", "received_at", "source", "status", "reason")
_PAGE: Final = 200
_KINDS: Final = ("unmatched", "partial", "rejected", "skipped")
_TIMES: Final = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"))

Command = TypeVar("Command", bound=Callable[..., Any])


def _choosing(command: Command) -> Command:
    """The options that choose messages, as one argument ``chosen``."""

    def given(
        *arguments: Any,
        status: str | None,
        code: str | None,
        source: str | None,
        since: datetime | None,
        until: datetime | None,
        **options: Any,
    ) -> Any:
        told = {
            "status": status,
            "code": code,
            "source": source,
            "since": since and since.astimezone(),
            "until": until and until.astimezone(),
        }
        chosen = {name: each for name, each in told.items() if each is not None}
        return command(*arguments, chosen=chosen, **options)

    given.__doc__ = command.__doc__
    for option in (
        click.option("--until", type=_TIMES, help="Only those received before."),
        click.option(
            "--since",
            type=_TIMES,
            help="Only those received then or later; local time unless it names a zone.",
        ),
        click.option("--source", metavar="NAME", help="Only those of this source."),
        click.option("--code", metavar="CODE", help="Only those that this error rejected."),
        click.option("--status", type=click.Choice(_KINDS), help="Only those."),
    ):
        given = option(given)
    return given  # type: ignore[return-value]


@click.group("quarantine")
def command() -> None:
    """Look at and replay the messages that a running server did not take in."""


@served(command.command("list"), rows_of(*_COLUMNS), last=_choosing)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only messages older than this one.")
def list_(
    client: Client, limit: int, before: int | None, chosen: dict[str, Any]
) -> list[dict[str, Any]]:
    """The newest messages that were not taken in, or not whole, with the reason."""
    return client.quarantine(limit, before, **chosen)


def _show_one(found: dict[str, Any]) -> None:
    click.echo(f"{found['status']}: {found['reason']}", err=True)
    for part in ("triples", "axioms"):
        for each in (found["contradiction"] or {}).get(part, []):
            click.echo(f"  {each}", err=True)
    click.echo(found["content"], nl=False)


@served(command.command("show"), _show_one)
@click.argument("message_id", metavar="MESSAGE_ID")
def show(client: Client, message_id: str) -> dict[str, Any]:
    """The content of one of these messages, as it came; its reason is on stderr.

    To take it in once the cause is removed: "sensorstream quarantine replay".
    """
    found = next((each for each in _all(client) if each["message_id"] == message_id), None)
    if found is None:
        raise click.BadParameter(f"'{message_id}' is not in quarantine", param_hint="MESSAGE_ID")
    return found


@served(command.command("replay"), json=True, last=_choosing)
@click.argument("message_id", metavar="[MESSAGE_ID]", required=False)
@click.option(
    "--with",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The message as it should have been.",
)
@click.option("--all", "every", is_flag=True, help="All of them, or all that are chosen below.")
def replay(
    client: Client,
    message_id: str | None,
    file: Path | None,
    every: bool,
    as_json: bool,
    chosen: dict[str, Any],
) -> None:
    """Take one of these messages in anew, once the cause is removed, or corrected.

    Or many by --all, as they came, oldest first: exits with 1 if one was not taken in.
    """
    from sensorstream.cli.terminal import print_json

    _check_target(message_id, every, chosen)
    if every and file is not None:
        raise click.UsageError("--with goes with one MESSAGE_ID")
    if message_id is None:
        _replay_all(client, chosen, as_json=as_json)
        return
    told = client.replay(message_id, None if file is None else file.read_bytes())
    if as_json:
        print_json(told)
    else:
        click.echo(f"{message_id} came anew as {told['message_id']}: {told['status']}")


@served(command.command("delete"), last=_choosing)
@click.argument("message_id", metavar="[MESSAGE_ID]", required=False)
@click.option("--all", "every", is_flag=True, help="All of them, or all that are chosen below.")
def delete(client: Client, message_id: str | None, every: bool, chosen: dict[str, Any]) -> None:
    """Take messages out of quarantine that need no work any more; the journal keeps them."""
    _check_target(message_id, every, chosen)
    if message_id is not None:
        client.dismiss(message_id)
        return
    gone = 0
    while True:
        told = client.dismiss_all(**chosen)
        gone += told["dismissed"]
        if not (told["left"] and told["dismissed"]):
            break
    click.echo(f"{gone} messages left the quarantine")


def _check_target(message_id: str | None, every: bool, chosen: dict[str, Any]) -> None:
    if every == (message_id is not None):
        raise click.UsageError("expected a MESSAGE_ID such as m42, or --all")
    if chosen and not every:
        name = next(iter(chosen))
        raise click.UsageError(f"--{name} goes with --all")


def _replay_all(client: Client, chosen: dict[str, Any], *, as_json: bool) -> None:
    from sensorstream.cli.terminal import print_json

    told = client.replay_all(**chosen)
    results = []
    failed = well = 0
    while True:
        results += told["results"]
        well, failed = well + told["replayed"], failed + told["failed"]
        if not as_json:
            for each in told["results"]:
                click.echo(f"{each['replay_of']}: {_became(each)}")
        if told["next"] is None:
            break
        told = client.replay_more(told["next"])
    if as_json:
        print_json({"replayed": well, "failed": failed, "results": results})
    else:
        click.echo(f"{well} taken in, {failed} not")
    if failed:
        raise click.exceptions.Exit(1)


def _became(result: dict[str, Any]) -> str:
    outcome = result.get("outcome")
    if outcome is None:
        return str(result["problem"]["detail"])
    return f"came anew as {outcome['message_id']}: {outcome['status']}"


def _all(client: Client) -> Iterator[dict[str, Any]]:
    before = None
    while page := client.quarantine(_PAGE, before):
        yield from page
        before = page[-1]["seq"]
