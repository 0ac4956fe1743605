"""``sensorstream simulate``: streams to try a deployment with.

A stream that is sent begins after the latest time that the server knows: its messages are not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

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


_Latest: TypeAlias = Callable[[], int | datetime | None]
"""Asks for the latest time that the server knows; None before the first message, or for a folder.
"""


def _stream(*options: _Option) -> Callable[[Callable[..., Iterator[bytes]]], click.Command]:
    """Make what makes messages a command of its name.

    It is given a :data:`_Latest`, ``seed``, and its own ``options``, of which one is ``count``.
    """

    def made(stream: Callable[..., Iterator[bytes]]) -> click.Command:
        def simulate(
            rate: float | None,
            out: Path | None,
            url: str | None,
            config: Path,
            as_json: bool,
            **own: Any,
        ) -> None:
            messages = stream(partial(_latest, out, url, config), **own)
            _run(messages, own["count"], rate, out, url, config, as_json)

        found = _stream_options(simulate)
        for option in reversed(options):
            found = option(found)
        return command.command(stream.__name__, help=stream.__doc__)(found)

    return made


@_stream(
    _count_option,
    click.option(
        "--people", type=click.IntRange(min=1), help="Number of known people, who return."
    ),
)
def tracker(latest: _Latest, count: int, people: int | None, seed: int) -> Iterator[bytes]:
    """The face tracker of the SensorStream paper, one person in each message."""
    from sensorstream.simulation.tracker import tracker_messages

    now = latest()
    start = now + 1 if isinstance(now, int) else 1
    return tracker_messages(count, seed=seed, people=people, start=start)


@_stream(
    click.option("--count", type=click.IntRange(min=1), help="The most messages to make."),
    click.option(
        "--data",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="A folder of the CityBench benchmark: its recorded streams instead of simulated data.",
    ),
    click.option(
        "--from", "start", metavar="TIME", help="The first time, such as 2014-08-12T05:00."
    ),
    click.option("--to", "end", metavar="TIME", help="The end, exclusive."),
)
def city(
    latest: _Latest,
    count: int | None,
    data: Path | None,
    start: str | None,
    end: str | None,
    seed: int,
) -> Iterator[bytes]:
    """Traffic, weather and air of a city; three hours of a morning by default."""
    from sensorstream.simulation.city import city_messages, following

    begin, until = _time(start, "--from"), _time(end, "--to")
    if begin is None:
        now = latest()
        begin = following(now, data) if isinstance(now, datetime) else None
    return city_messages(data, start=begin, end=until, count=count, seed=seed)


@_stream(
    _count_option,
    click.option(
        "--auctions",
        type=click.IntRange(min=1),
        default=12,
        show_default=True,
        help="How many run at a time.",
    ),
)
def auctions(latest: _Latest, count: int, seed: int, auctions: int) -> Iterator[bytes]:
    """The bids of an auction house, in the format of eBay's findItemsByKeywords."""
    from sensorstream.simulation.auctions import START, auction_messages

    return auction_messages(count, seed=seed, start=_start(START, latest), auctions=auctions)


@_stream(_count_option)
def stocks(latest: _Latest, count: int, seed: int) -> Iterator[bytes]:
    """Prices, ratings and acquisitions of a stock exchange."""
    from sensorstream.simulation.stocks import START, stock_messages

    return stock_messages(count, seed=seed, start=_start(START, latest))


@_stream(_count_option)
def delivery(latest: _Latest, count: int, seed: int) -> Iterator[bytes]:
    """Roads that are closed and opened, and agents who ask for their way."""
    from sensorstream.simulation.deliveries import START, delivery_messages

    return delivery_messages(count, seed=seed, start=_start(START, latest))


@_stream(_count_option)
def buoys(latest: _Latest, count: int, seed: int) -> Iterator[bytes]:
    """Buoys that measure the water above them, with the tide and now and then a tsunami."""
    from sensorstream.simulation.buoys import START, buoy_messages

    return buoy_messages(count, seed=seed, start=_start(START, latest))


@_stream(_count_option)
def fires(latest: _Latest, count: int, seed: int) -> Iterator[bytes]:
    """Sensors of smoke and temperature in the rooms of a building."""
    from sensorstream.simulation.fires import START, fire_messages

    return fire_messages(count, seed=seed, start=_start(START, latest))


def _start(first: datetime, latest: _Latest) -> datetime:
    """When a stream begins, whose first message would have a time of its own."""
    now = latest()
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
