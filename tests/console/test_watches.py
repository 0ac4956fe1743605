from __future__ import annotations

from typing import cast

from sensorstream.console.page_visits import Upstream, Watch, read


def watch_of(*readings: tuple[float, float]) -> Watch:
    """A watch that read how many messages there were at these seconds."""
    watch = Watch(cast(Upstream, None), "")
    for at, messages in readings:
        watch.readings.append(read(f"sensorstream_messages_total {messages}\n", at))
    return watch


def test_rates_stand_at_the_time_of_each_reading() -> None:
    watch = watch_of((10, 0), (11, 5), (12, 5), (13, 25))
    assert watch.rates("messages_total") == [(-2, 5.0), (-1, 0.0), (0, 20.0)]
    assert watch.rate("messages_total") == 20.0


def test_what_came_while_nobody_looked_is_a_gap() -> None:
    watch = watch_of((10, 0), (11, 5), (71, 6005))
    assert watch.rates("messages_total") == [(-60, 5.0), (0, None)]
    assert watch.rate("messages_total") is None
    watch.readings.append(read("sensorstream_messages_total 6008\n", 72))
    assert watch.rates("messages_total") == [(-61, 5.0), (-1, None), (0, 3.0)]
    assert watch.rate("messages_total") == 3.0


def test_a_watch_without_readings_says_nothing() -> None:
    assert watch_of().rates("messages_total") == []
    assert watch_of((10, 7)).rate("messages_total") is None
