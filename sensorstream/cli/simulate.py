"""``sensorstream simulate``: streams to try a deployment with.

A stream that is sent begins after the latest time that the server knows: its messages are not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import click

from sensorstream.cli.options import Command, json_option, server_options, server_url

_Option: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
_PAUSE: Final = timedelta(milliseconds=250)


def _stream_options(command: Command) -> Command:
    for option in (
        click.option(
            "--seed", type=int, default=2678, show_default=True, help="Seed of the random numbers."
        ),
        click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Messages/s."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Write the messages into a folder instead of sending them.",
        ),
        json_option,
        server_options,
    ):
        command = option(command)
    return command


_count_option: Final[_Option] = click.option(
    "--count", type=click.IntRange(min=1), default=100, show_default=True
)


@click.group("simulate")
def command() -> None:
    """Simulate messages: faces, a city, auctions, stocks, deliveries, buoys, fires."""


@command.command("tracker")
@_count_option
@click.option("--people", type=click.IntRange(min=1), help="Number of known people, who return.")
@_stream_options
def tracker(
    count: int,
    people: int | None,
    seed: int,
    rate: float | None,
    out: Path | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """The face tracker of the SensorStream paper, one person in each message."""
    from sensorstream.simulation.tracker import tracker_messages

    now = _latest(out, url, config)
    start = now + 1 if isinstance(now, int) else 1
    messages = tracker_messages(count, seed=seed, people=people, start=start)
    _run(messages, count, rate, out, url, config, as_json)


@command.command("city")
@click.option("--count", type=click.IntRange(min=1), help="The most messages to make.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder of the CityBench benchmark: its recorded streams instead of simulated data.",
)
@click.option("--from", "start", metavar="TIME", help="The first time, such as 2014-08-12T05:00.")
@click.option("--to", "end", metavar="TIME", help="The end, exclusive.")
@_stream_options
def city(
    count: int | None,
    data: Path | None,
    start: str | None,
    end: str | None,
    seed: int,
    rate: float | None,
    out: Path | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Traffic, weather and air of a city; three hours of a morning by default."""
    from sensorstream.simulation.city import city_messages, following

    begin, until = _time(start, "--from"), _time(end, "--to")
    if begin is None:
        now = _latest(out, url, config)
        begin = following(now, data) if isinstance(now, datetime) else None
    messages = city_messages(data, start=begin, end=until, count=count, seed=seed)
    _run(messages, count, rate, out, url, config, as_json)


class _Messages(Protocol):
    """Makes the messages of a stream."""

    def __call__(self, count: int, *, seed: int, start: datetime) -> Iterator[bytes]: ...


_Stream: TypeAlias = Callable[..., tuple[datetime, _Messages]]
"""Says when a stream starts, and what makes its messages; its name is that of the command."""


def _application(*options: _Option) -> Callable[[_Stream], click.Command]:
    """Make a stream a command; ``options`` are those of its own, which it is given."""

    def made(stream: _Stream) -> click.Command:
        def simulate(
            count: int,
            seed: int,
            rate: float | None,
            out: Path | None,
            url: str | None,
            config: Path,
            as_json: bool,
            **own: Any,
        ) -> None:
            first, messages = stream(**own)
            start = _start(first, _latest(out, url, config))
            _run(messages(count, seed=seed, start=start), count, rate, out, url, config, as_json)

        found = _stream_options(simulate)
        for option in (*options, _count_option):
            found = option(found)
        return command.command(stream.__name__, help=stream.__doc__)(found)

    return made


@_application(
    click.option(
        "--auctions",
        type=click.IntRange(min=1),
        default=12,
        show_default=True,
        help="How many run at a time.",
    )
)
def auctions(auctions: int) -> tuple[datetime, _Messages]:
    """The bids of an auction house, in the format of eBay's findItemsByKeywords."""
    from sensorstream.simulation.auctions import START, auction_messages

    return START, partial(auction_messages, auctions=auctions)


@_application()
def stocks() -> tuple[datetime, _Messages]:
    """Prices, ratings and acquisitions of a stock exchange."""
    from sensorstream.simulation.stocks import START, stock_messages

    return START, stock_messages


@_application()
def delivery() -> tuple[datetime, _Messages]:
    """Roads that are closed and opened, and agents who ask for their way."""
    from sensorstream.simulation.deliveries import START, delivery_messages

    return START, delivery_messages


@_application()
def buoys() -> tuple[datetime, _Messages]:
    """Buoys that measure the water above them, with the tide and now and then a tsunami."""
    from sensorstream.simulation.buoys import START, buoy_messages

    return START, buoy_messages


@_application()
def fires() -> tuple[datetime, _Messages]:
    """Sensors of smoke and temperature in the rooms of a building."""
    from sensorstream.simulation.fires import START, fire_messages

    return START, fire_messages


def _start(first: datetime, now: int | datetime | None) -> datetime:
    """When a stream begins, whose first message would have a time of its own."""
    return max(first, now + _PAUSE) if isinstance(now, datetime) else first


def _time(text: str | None, option: str) -> datetime | None:
    from sensorstream.simulation.observation import read_time

    try:
        return None if text is None else read_time(text)
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is not a time: expected e.g. 2014-08-12T05:00", param_hint=option
        ) from None


def _latest(out: Path | None, url: str | None, config: Path) -> int | datetime | None:
    """The latest time that the server knows; None before the first message, or for a folder."""
    if out is not None:
        return None
    from sensorstream.cli.client import Client

    with Client(server_url(url, config)) as client:
        now = client.window(limit=0)["now"]
    return datetime.fromisoformat(now) if isinstance(now, str) else now


def _run(
    messages: Iterator[bytes],
    count: int | None,
    rate: float | None,
    out: Path | None,
    url: str | None,
    config: Path,
    as_json: bool,
) -> None:
    if out is not None:
        from sensorstream.cli.sources import write_messages

        write_messages(messages, out)
        return
    from sensorstream.cli.client import Client
    from sensorstream.cli.delivery import at_rate, deliver, numbered, report

    outgoing = numbered(messages)
    with Client(server_url(url, config)) as client:
        tally = deliver(client, at_rate(outgoing, rate) if rate else outgoing, count)
    report(tally, as_json=as_json)
    if not tally.clean:
        raise click.exceptions.Exit(1)
