"""``sensorstream resend``: send recorded messages again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from sensorstream.cli.client import Client
from sensorstream.cli.delivery import Outgoing, at_rate, deliver, end
from sensorstream.cli.options import FOLDER, json_option, server_options, server_url
from sensorstream.cli.sources import sources, write_messages
from sensorstream.history.opening import open_kept
from sensorstream.history.read_only_sql import run_sql
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings


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
def command(
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
        total, messages = _journal(source, speed, stack) if journal else _files(source)
        if out is not None:
            write_messages((each.read() for each in messages), out)
            return
        client = stack.enter_context(Client(server_url(url, config)))
        if rate is not None:
            messages = at_rate(messages, rate)
        tally = deliver(client, messages, total, what="sending again")
    end(tally, as_json=as_json)


def _journal(source: str, speed: float | None, stack: ExitStack) -> tuple[int, Iterator[Outgoing]]:
    recording = Recording(load_settings(Path(source)), stack)

    def outgoing() -> Iterator[Outgoing]:
        first = None
        for each in recording:
            first = first or each.received_at
            due = (each.received_at - first).total_seconds() / speed if speed else None
            yield Outgoing(each.id, partial(bytes, each.content), due, each.source)

    return len(recording), outgoing()


def _files(source: str) -> tuple[int, Iterator[Outgoing]]:
    found = sources([source])
    return len(found), (Outgoing(each.name, each.read) for each in found)


_BATCH: Final = 500
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message as it arrived, independent of its outcome."""

    id: str
    source: str
    content: bytes
    received_at: datetime


class Recording:
    """A deployment's journal as it is now; stays readable until ``stack`` closes.

    Later messages are not part of it, so a journal may be replayed to its own server.

    Raises:
        HistoryError: the history cannot be opened or read.
    """

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        self._url = open_kept(settings.history, stack)
        statement = "SELECT count(*), coalesce(max(seq), 0) FROM history.messages"
        self._count, self._last = map(int, self._ask(statement)[0])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Recorded]:
        after = 0
        while rows := self._ask(
            "SELECT seq, id, source, content, received_at FROM history.messages "
            f"WHERE seq > {after:d} AND seq <= {self._last:d} ORDER BY seq LIMIT {_BATCH}"
        ):
            for _, name, source, content, received_at in rows:
                yield Recorded(name, source, bytes(content), received_at)
            after = int(rows[-1][0])

    def _ask(self, query: str) -> tuple[tuple[Any, ...], ...]:
        return run_sql(self._url, query, timeout=_SECONDS, row_limit=_BATCH).rows
