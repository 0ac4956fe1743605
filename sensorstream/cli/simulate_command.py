"""``sensorstream simulate``: streams to try a deployment with; those that are sent begin after the
latest time that the server knows, so that no message is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.options import FOLDER, all_of, json_option, server_options, server_url
from sensorstream.cli.send_command import at_rate, deliver, end, numbered, write_messages

_Option: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
_PAUSE: Final = timedelta(milliseconds=250)


_stream_options: Final = all_of(
    server_options,
    json_option,
    click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        help="Write the messages into a folder instead of sending them.",
    ),
    click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Messages/s."),
    click.option(
        "--seed", type=int, default=2678, show_default=True, help="Seed of the random numbers."
    ),
)
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
    """Make a command of a function that makes messages, with its name and docstring.

    The function gets a :data:`_Latest`, ``seed``, and its ``options``, of which one is ``count``.
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
            if out is not None:
                write_messages(messages, out)
                return
            outgoing = numbered(messages)
            with CommandClient(server_url(url, config)) as client:
                paced = at_rate(outgoing, rate) if rate else outgoing
                tally = deliver(client, paced, own["count"])
            end(tally, as_json=as_json)

        found = all_of(*options, _stream_options)(simulate)
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
    from sensorstream.cli.simulation.tracker_messages import tracker_messages

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
    from sensorstream.cli.simulation.city_messages import city_messages, following

    begin, until = _time(start, "--from"), _time(end, "--to")
    if begin is None:
        now = latest()
        begin = following(now, data) if isinstance(now, datetime) else None
    return city_messages(data, start=begin, end=until, count=count, seed=seed)


def _plain(name: str, messages: str, told: str, *options: _Option) -> None:
    """Add a stream of :mod:`.application_streams`, from a time of its own or a later one on."""

    def stream(latest: _Latest, count: int, **given: Any) -> Iterator[bytes]:
        from sensorstream.cli.simulation import application_streams

        made = getattr(application_streams, messages)
        now, start = latest(), made.__kwdefaults__["start"]
        later = max(start, now + _PAUSE) if isinstance(now, datetime) else start
        found: Iterator[bytes] = made(count, start=later, **given)
        return found

    stream.__name__, stream.__doc__ = name, told
    _stream(_count_option, *options)(stream)


_plain(
    "auctions",
    "auction_messages",
    "The bids of an auction house, in the format of eBay's findItemsByKeywords.",
    click.option(
        "--auctions",
        type=click.IntRange(min=1),
        default=12,
        show_default=True,
        help="How many run at a time.",
    ),
)
_plain("stocks", "stock_messages", "Prices, ratings and acquisitions of a stock exchange.")
_plain(
    "delivery",
    "delivery_messages",
    "Roads that are closed and opened, and agents who ask for their way.",
)
_plain(
    "buoys",
    "buoy_messages",
    "Buoys that measure the water above them, with the tide and now and then a tsunami.",
)
_plain("fires", "fire_messages", "Sensors of smoke and temperature in the rooms of a building.")


def _time(text: str | None, option: str) -> datetime | None:
    from sensorstream.cli.simulation.city_messages import read_time

    try:
        return None if text is None else read_time(text)
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is not a time: expected e.g. 2014-08-12T05:00", param_hint=option
        ) from None


def _latest(out: Path | None, url: str | None, config: Path) -> int | datetime | None:
    if out is not None:
        return None
    with CommandClient(server_url(url, config)) as client:
        now = client.window(limit=0)["now"]
    return datetime.fromisoformat(now) if isinstance(now, str) else now
