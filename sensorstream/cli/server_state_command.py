"""The contents of a running server, and its health: ``messages``, ``quarantine``, ``window`` …"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import asks, before, limit, served
from sensorstream.cli.options import FILE, MOMENTS, as_one
from sensorstream.cli.terminal import print_fields, print_json, print_table, rows_of
from sensorstream.client.operation import given
from sensorstream.errors import Unavailable

_MESSAGES: Final = ("message_id", "received_at", "source", "bytes", "status", "reason")
_KEPT: Final = ("message_id", "received_at", "source", "status", "reason")
_STATUSES: Final = (
    *("accepted", "unmatched", "held", "late", "partial", "journalled", "rejected", "skipped"),
)
_KINDS: Final = ("unmatched", "partial", "rejected", "skipped")
_INDIVIDUALS: Final = ("iri", "time", "entered", "statements", "message_id", "types")
_AUDIT: Final = ("at", "kind", "who", "address", "method", "path", "status")
_VIOLATIONS: Final = ("focus", "path", "value", "message", "shape")
_PAGE: Final = 200


def _aware(
    _context: click.Context, _option: click.Parameter, moment: datetime | None
) -> datetime | None:
    return moment and moment.astimezone()


_source_option = click.option("--source", metavar="NAME", help="Only those of this source.")
_since_option = click.option(
    "--since",
    type=MOMENTS,
    callback=_aware,
    help="Only those received then or later; local time unless it names a zone.",
)

_until_option = click.option(
    "--until", type=MOMENTS, callback=_aware, help="Only those received before."
)

_choosing: Final = as_one(
    "chosen",
    given,
    click.option("--status", type=click.Choice(_KINDS), help="Only those."),
    click.option("--code", metavar="CODE", help="Only those that this error rejected."),
    _source_option,
    _since_option,
    _until_option,
)
"""The options that choose messages."""


@served(click.command("messages"), json=True)
@click.argument("message_id", metavar="[ID]", required=False)
@click.option("--content", is_flag=True, help="Print the message itself, as it came.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only those.")
@_source_option
@_since_option
@_until_option
@click.option("--text", metavar="WORDS", help='Only those with all these words; "…" is one word.')
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--before", type=int, metavar="SEQ", help="Only messages older than this one.")
@click.option("--counts", is_flag=True, help="Print how many there are over time, by status.")
def messages(
    client: CommandClient,
    message_id: str | None,
    content: bool,
    as_json: bool,
    counts: bool,
    limit: int,
    before: int | None,
    **chosen: Any,
) -> None:
    """List the newest messages of a running server, or show what became of one.

    With an ID, such as m42: rules, individuals, alerts, deliveries, statements.
    """
    if content and message_id is None:
        raise click.UsageError("--content needs the ID of a message, such as m42")
    if counts:
        told = client.message_counts(**chosen)
        if as_json:
            print_json(told)
        else:
            rows = [
                [each["at"], *(str(each["counts"].get(status, "")) for status in _STATUSES)]
                for each in told["parts"]
            ]
            print_table(("at", *_STATUSES), rows)
    elif message_id is None:
        found = client.messages(limit, before, **chosen)
        if as_json:
            print_json(found)
        else:
            print_table(_MESSAGES, [[str(each[name]) for name in _MESSAGES] for each in found])
    elif content:
        click.echo(client.message_content(message_id), nl=False)
    elif as_json:
        print_json(client.message(message_id))
    else:
        life = client.message(message_id)
        print_fields({name: _plain(value) for name, value in life.items()})


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        if "state" in value:
            return f"{value['event_id']} to {value['webhook_id']}: {value['state']}"
        if "rule" in value:
            return f"{value['id']} ({value['severity']}: {value['text']})"
        return ", ".join(f"{each} {name}" for name, each in value.items() if each is not None)
    return str(value)


@click.group("quarantine")
def quarantine() -> None:
    """Look at and replay the messages that a running server did not take in."""


@served(
    quarantine.command("list", params=[limit(), before("messages")]),
    rows_of(*_KEPT),
    last=_choosing,
)
def list_(client: CommandClient, chosen: dict[str, Any], **page: Any) -> list[dict[str, Any]]:
    """The newest messages that were not taken in, or not whole, with the reason."""
    return client.quarantine(**page, **chosen)


def _show_one(found: dict[str, Any]) -> None:
    click.echo(f"{found['status']}: {found['reason']}", err=True)
    for part in ("triples", "axioms"):
        for each in (found["contradiction"] or {}).get(part, []):
            click.echo(f"  {each}", err=True)
    click.echo(found["content"], nl=False)


@served(quarantine.command("show"), _show_one)
@click.argument("message_id", metavar="MESSAGE_ID")
def show(client: CommandClient, message_id: str) -> dict[str, Any]:
    """The content of one of these messages, as it came; its reason is on stderr.

    To take it in once the cause is removed: "sensorstream quarantine replay".
    """
    found = next((each for each in _all(client) if each["message_id"] == message_id), None)
    if found is None:
        raise click.BadParameter(f"'{message_id}' is not in quarantine", param_hint="MESSAGE_ID")
    return found


@served(quarantine.command("replay"), json=True, last=_choosing)
@click.argument("message_id", metavar="[MESSAGE_ID]", required=False)
@click.option(
    "--with",
    "file",
    type=FILE,
    help="The message as it should have been.",
)
@click.option("--all", "every", is_flag=True, help="All of them, or all that are chosen below.")
def replay(
    client: CommandClient,
    message_id: str | None,
    file: Path | None,
    every: bool,
    as_json: bool,
    chosen: dict[str, Any],
) -> None:
    """Take one of these messages in anew, once the cause is removed, or corrected.

    Or many by --all, as they came, oldest first: exits with 1 if one was not taken in.
    """
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


@served(quarantine.command("delete"), last=_choosing)
@click.argument("message_id", metavar="[MESSAGE_ID]", required=False)
@click.option("--all", "every", is_flag=True, help="All of them, or all that are chosen below.")
def delete(
    client: CommandClient, message_id: str | None, every: bool, chosen: dict[str, Any]
) -> None:
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


def _replay_all(client: CommandClient, chosen: dict[str, Any], *, as_json: bool) -> None:
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


def _all(client: CommandClient) -> Iterator[dict[str, Any]]:
    before = None
    while page := client.quarantine(_PAGE, before):
        yield from page
        before = page[-1]["seq"]


@served(click.command("window"), json=True)
@click.option("--limit", type=click.IntRange(0, 100_000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
def window(client: CommandClient, limit: int, offset: int, as_json: bool) -> None:
    """Show the window of a running server and its individuals, oldest first."""
    found = client.window(limit, offset)
    if as_json:
        print_json(found)
        return
    print_fields(
        {name: each for name, each in found.items() if name not in ("individuals", "next")}
    )
    click.echo()
    rows = [{**each, "types": " ".join(each["types"])} for each in found["individuals"]]
    rows_of(*_INDIVIDUALS)(rows)
    if found["next"]:
        click.echo(f"{found['total'] - offset - len(rows)} more: use --offset or --limit", err=True)


@click.group("individuals")
def individuals() -> None:
    """Show the latest values of individuals that a running server knows."""


def _show_individuals(found: list[Mapping[str, Any]]) -> None:
    columns = ("valid_from", "valid_to", "message_id")
    print_table(
        ("iri", "property", "value", *columns, "inferred"),
        [
            [
                each["iri"],
                name,
                value["value"],
                *(value[column] for column in columns),
                (value["rule"] or "yes") if value["inferred"] else "",
            ]
            for each in found
            for name, values in each["properties"].items()
            for value in values
        ],
    )


def _show_page(found: Mapping[str, Any]) -> None:
    _show_individuals(found["individuals"])
    if found["after"] is not None:
        click.echo(f"there may be more: --after {found['after']}", err=True)


asks(
    individuals,
    "show",
    CommandClient.individual,
    "Show one individual: the values it has in the window, else those it had last.",
    click.Argument(["iri"], metavar="IRI"),
    click.Option(
        ["--rules"], is_flag=True, help="Name the rules that derive inferred values of now."
    ),
    show=lambda found: _show_individuals([found]),
)
asks(
    individuals,
    "latest",
    CommandClient.latest,
    """Show the individuals of a class, given by its IRI.

    First those in the window, by name; then those in history, who left last first.
    """,
    click.Argument(["class_"], metavar="CLASS"),
    limit(),
    click.Option(["--after"], default="", metavar="TEXT", help="Go on after a page, as it says."),
    show=_show_page,
)


def _show_health(found: dict[str, Any]) -> None:
    rows = [
        [name, "yes" if part["ready"] else "no", part["detail"]]
        for name, part in found["parts"].items()
    ]
    print_table(("part", "ready", "detail"), rows)
    click.echo(f"{found['held']} messages wait for earlier ones")


@served(click.command("health"), json=True)
@click.option(
    "--metrics", is_flag=True, help="Print the metrics instead, as Prometheus reads them."
)
def health(client: CommandClient, metrics: bool, as_json: bool) -> None:
    """Show whether a running server can do its work, part by part.

    Exits with 3 if a part cannot.
    """
    if metrics:
        click.echo(client.metrics(), nl=False)
        return
    held = client.alive()["held"]
    try:
        parts, ready = client.ready(), True
    except Unavailable as error:
        if error.problem is None or "parts" not in error.problem:
            raise
        parts, ready = error.problem["parts"], False
    (print_json if as_json else _show_health)({"ready": ready, "held": held, "parts": parts})
    if not ready:
        raise click.exceptions.Exit(3)


@served(click.command("audit", params=[limit(), before("changes")]), rows_of(*_AUDIT))
def audit(client: CommandClient, **page: Any) -> list[dict[str, Any]]:
    """Show who changed what on a running server.

    The newest changes come first.
    """
    return client.audit(**page)


def _show_report(found: Mapping[str, Any]) -> None:
    rows = [[each[name] for name in _VIOLATIONS] for each in found["results"]]
    if rows:
        print_table(_VIOLATIONS, rows)
    else:
        click.echo("conforms")


@served(click.command("shapes"), _show_report, fails=lambda found: not found["conforms"])
def shapes(client: CommandClient) -> dict[str, Any]:
    """Show which shapes the window of a running server violates.

    Exits with 1 if it violates any.
    """
    return client.shapes_report()
