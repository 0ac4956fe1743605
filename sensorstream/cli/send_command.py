"""``sensorstream send`` and ``resend``: XML messages from files, folders, archives, standard input
or a deployment's journal to a running server, at a rate, counted.
"""

from __future__ import annotations

import io
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import served
from sensorstream.cli.options import FOLDER, json_option, server_options, server_url
from sensorstream.cli.terminal import print_json, progress
from sensorstream.clock import SystemClock
from sensorstream.errors import MessageError
from sensorstream.model.frozen import asdict, field, frozen, mutable, replace
from sensorstream.settings.settings_file import load_settings


@frozen
class Outgoing:
    """A message to send, read when it is needed; ``name`` is for output.

    ``due`` is in seconds after the first message, ``None`` means immediately. ``source`` is its
    source in REST; with ``None`` the server chooses it.
    """

    name: str
    read: Callable[[], bytes]
    due: float | None = None
    source: str | None = None


def sources(names: Iterable[str]) -> list[Outgoing]:
    """The messages of files, folders and ZIP archives (``*.xml``, by name) and of ``-``.

    Raises:
        click.BadParameter: the file or folder does not exist, or has no message.
    """
    return [source for name in names for source in _sources(name)]


def _sources(name: str) -> Iterator[Outgoing]:
    path = Path(name)
    if name == "-":
        yield Outgoing("standard input", sys.stdin.buffer.read)
    elif path.is_dir():
        files = sorted(path.glob("*.xml"))
        if not files:
            raise click.BadParameter(f"no *.xml file in the folder '{name}'")
        for file in files:
            yield Outgoing(str(file), file.read_bytes)
    elif path.is_file() and zipfile.is_zipfile(path):
        yield from _archived(path)
    elif path.is_file():
        yield Outgoing(name, path.read_bytes)
    else:
        raise click.BadParameter(f"there is no file or folder '{name}'")


def _archived(path: Path) -> Iterator[Outgoing]:
    archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    entries = sorted(each for each in archive.namelist() if each.endswith(".xml"))
    if not entries:
        raise click.BadParameter(f"no *.xml file in the archive '{path}'")
    for entry in entries:
        yield Outgoing(f"{path}/{entry}", partial(archive.read, entry))


def write_messages(messages: Iterable[bytes], folder: Path) -> None:
    """Write messages into a folder as files that :func:`sources` reads back in order."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for number, message in enumerate(messages, 1):
        (folder / f"{number:06}.xml").write_bytes(message)
    click.echo(f"wrote {number} messages to {folder}")


@mutable
class Tally:
    """The outcomes of the messages: ``rejected`` has (name, code, reason), ``unmatched`` (name,
    likely cause); ``held``, ``late`` and ``journalled`` are also counted as accepted.
    """

    sent: int = 0
    accepted: int = 0
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    held: int = 0
    late: int = 0
    journalled: int = 0
    individuals: int = 0
    alerts: int = 0
    expired: int = 0
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether every message was accepted."""
        return not (self.unmatched or self.rejected)

    def count(self, name: str, facts: dict[str, Any]) -> None:
        """Add one answer of the server."""
        journalled = facts["status"] == "journalled"
        if facts["matched"] or journalled:
            self.accepted += 1
        else:
            self.unmatched.append((name, "; ".join(facts["warnings"])))
        self.held += facts["status"] == "held"
        self.late += facts["status"] == "late"
        self.journalled += journalled
        self.individuals += len(facts["individuals"])
        self.alerts += len(facts["alerts"])
        self.expired += facts["expired"]


def numbered(messages: Iterable[bytes]) -> Iterator[Outgoing]:
    """Messages without names, to send immediately."""
    for number, content in enumerate(messages, 1):
        yield Outgoing(f"message {number}", partial(bytes, content))


def at_rate(messages: Iterable[Outgoing], rate: float) -> Iterator[Outgoing]:
    """The same messages, ``rate`` a second."""
    for number, message in enumerate(messages):
        yield replace(message, due=number / rate)


def deliver(
    client: CommandClient,
    messages: Iterable[Outgoing],
    total: int | None,
    *,
    soap: bool = False,
    what: str = "sending",
    answered: Callable[[str, Mapping[str, Any]], None] = lambda _name, _answer: None,
) -> Tally:
    """Send every message in order, one at a time; a refused message does not stop the others.

    ``answered`` is called with the name of each message that was taken, and with the answer.

    Raises:
        ServerUnreachable: the server stopped answering.
    """
    counter = SystemClock().counter
    tally, start = Tally(), counter()
    with progress(what, total) as advance:
        for message in messages:
            if message.due is not None:
                time.sleep(max(0.0, start + message.due - counter()))
            try:
                content = message.read()
                answer = client.post_soap(content) if soap else client.send(content, message.source)
                tally.count(message.name, answer)
                answered(message.name, answer)
            except MessageError as error:
                tally.rejected.append((message.name, error.code, str(error)))
            tally.sent += 1
            advance()
    tally.seconds = counter() - start
    return tally


def end(tally: Tally, *, as_json: bool, answers: Sequence[Mapping[str, Any]] | None = None) -> None:
    """Print the tally; the command exits with 1 if a message was not accepted."""
    report(tally, as_json=as_json, answers=answers)
    if not tally.clean:
        raise click.exceptions.Exit(1)


def report(
    tally: Tally, *, as_json: bool, answers: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Print the tally and a line on stderr for each message that was not accepted; ``answers`` of
    the server are for JSON.
    """
    if as_json:
        keys = ("message", "code", "reason")
        data = {
            **asdict(tally),
            "unmatched": [name for name, _ in tally.unmatched],
            "rejected": [dict(zip(keys, each, strict=True)) for each in tally.rejected],
            "seconds": round(tally.seconds, 3),
        }
        print_json(data if answers is None else {**data, "messages": answers})
        return
    for name, cause in tally.unmatched:
        click.echo(f"{name}: {cause or 'no mapping rule matched'}", err=True)
    for name, code, reason in tally.rejected:
        click.echo(f"{name}: {code}: {reason}", err=True)
    states = {
        "held": tally.held,
        "late": tally.late,
        "journalled for the pipeline on Spark": tally.journalled,
    }
    told = ", ".join(f"{count} {state}" for state, count in states.items() if count)
    waiting = f" ({told})" if told else ""
    rate = tally.sent / tally.seconds if tally.seconds else 0.0
    click.echo(
        f"sent {tally.sent} in {tally.seconds:.1f} s ({rate:.0f}/s): "
        f"{tally.accepted} accepted{waiting}, {len(tally.unmatched)} unmatched, "
        f"{len(tally.rejected)} rejected; "
        f"{tally.individuals} individuals, {tally.alerts} alerts, {tally.expired} expired"
    )


@served(click.command("send"), json=True, is_first=True)
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@click.option(
    "--source",
    metavar="NAME",
    help="The source of the messages, which selects the schema and the stylesheets.  "
    "[default: rest, or soap]",
)
@click.option("--soap", is_flag=True, help="Send by SOAP instead of REST.")
def command(
    client: CommandClient, messages: tuple[str, ...], source: str | None, soap: bool, as_json: bool
) -> None:
    """Send XML messages to a running server.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. Prints
    the alerts, replies and warnings of each message, and a summary. Exits with 1 if a message was
    not accepted.
    """
    if soap and source is not None:
        raise click.UsageError("--source goes with REST: messages by SOAP have the source soap")
    outgoing = [replace(each, source=source) for each in sources(messages)]
    answers: list[dict[str, Any]] = []

    def answered(name: str, facts: Mapping[str, Any]) -> None:
        if as_json:
            answers.append({"message": name, **facts})
        else:
            _show_answer(name, facts)

    tally = deliver(client, outgoing, len(outgoing), soap=soap, answered=answered)
    end(tally, as_json=as_json, answers=answers)


def _show_answer(name: str, facts: Mapping[str, Any]) -> None:
    """Print what a message has caused; nothing, if it was just accepted."""
    from sensorstream.cli.stories.story_wording import written_alert

    lines = [
        f"  alert   {written_alert(alert['severity'], alert['text'], alert['key'])}"
        for alert in facts["alerts"]
        if alert["kind"] == "rule"
    ]
    lines += [f"  reply   {reply}" for reply in facts["replies"]]
    if facts["matched"]:
        # The summary tells why no rule matched.
        lines += [f"  warning {warning}" for warning in facts["warnings"]]
    if lines:
        click.echo("\n".join((f"{name}: {facts['status']}", *lines)))


@click.command("resend")
@click.argument("source", metavar="SOURCE")
@server_options
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    help="Keep the gaps between arrivals: 1 as recorded, 60 one minute per second (journals only).",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), help="Messages per second instead."
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Write the messages into a folder instead of sending them, without their sources.",
)
@json_option
def resend(
    source: str,
    url: str | None,
    config: Path,
    speed: float | None,
    rate: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Send recorded messages again.

    SOURCE is the settings file of a deployment, whose whole journal is sent, in order, each message
    with its source, independent of its outcome; or a folder, a ZIP archive or a file of XML. The
    server is that of --url or -c and should not be the one that recorded the messages. They are
    sent as fast as the server takes them, or slower with --speed or --rate.
    """
    journal = source.endswith(".toml")
    if speed is not None and not journal:
        raise click.BadParameter(
            "files have no times of arrival: use --rate instead", param_hint="--speed"
        )
    if speed is not None and rate is not None:
        raise click.UsageError("--speed and --rate are both given: expected only one of them")
    with ExitStack() as stack:
        if journal:
            total, messages = _of_journal(source, speed, stack)
        else:
            found = sources([source])
            total, messages = len(found), iter(found)
        if out is not None:
            write_messages((each.read() for each in messages), out)
            return
        client = stack.enter_context(CommandClient(server_url(url, config)))
        if rate is not None:
            messages = at_rate(messages, rate)
        tally = deliver(client, messages, total, what="sending again")
    end(tally, as_json=as_json)


_BATCH: Final = 500
_SECONDS: Final = 60.0
_EXTENT: Final = "SELECT count(*), coalesce(max(seq), 0) FROM history.messages"


def _of_journal(
    source: str, speed: float | None, stack: ExitStack
) -> tuple[int, Iterator[Outgoing]]:
    """The messages of a deployment's journal as it is now, which stays open for ``stack``.

    Later messages are not among them, so a journal may be sent to its own server.

    Raises:
        HistoryError: the history cannot be opened or read.
    """
    from sensorstream.history.journal_rows import journal_rows
    from sensorstream.history.open_history import open_kept
    from sensorstream.history.read_only_sql import run_sql

    url = open_kept(load_settings(Path(source)).history, stack)
    extent: Sequence[Any] = run_sql(url, _EXTENT, timeout=_SECONDS, row_limit=1).rows[0]
    count, last = map(int, extent)

    def outgoing() -> Iterator[Outgoing]:
        first, after = None, 0
        # In batches: they may be sent for hours, and a snapshot would make others wait.
        while rows := list(islice(journal_rows(url, after, last, ["message"]), _BATCH)):
            for _, name, of, received_at, _, content, *_ in rows:
                first = first or received_at
                due = (received_at - first).total_seconds() / speed if speed else None
                yield Outgoing(name, partial(bytes, content), due, of)
            after = rows[-1][0]

    return count, outgoing()
