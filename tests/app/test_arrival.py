"""Times of arrival never go back, and catch up with a clock that was set back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.app.application import Application
from sensorstream.app.life.arrival_clock import Arrival
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import RuleSettings, Settings, TimeSettings, WindowSettings
from sensorstream.testing import DAWN
from tests.conftest import database as database

RULES = """prefix : <http://sensorstream.example/tracking#>
mapping person on message {/p} then update individual :{@id} a :Human .
"""


class Machine:
    """A clock that can be set, and a counter that cannot."""

    def __init__(self, now: datetime = DAWN) -> None:
        self.wall = now
        self.passed = 0.0

    def now(self) -> datetime:
        return self.wall

    def counter(self) -> float:
        return self.passed

    def advance(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.passed += seconds


@given(
    st.sampled_from(Timeline),
    st.lists(st.tuples(st.integers(-10_000, 10_000), st.integers(0, 10_000))),
)
def test_arrival_never_goes_back_and_is_the_clocks_where_that_is_not_behind(
    line: Timeline, steps: list[tuple[int, int]]
) -> None:
    machine = Machine()
    arrival = Arrival(machine, line, None)
    told, highest = [arrival.now()], DAWN
    for set_by, passed in steps:
        machine.wall += timedelta(seconds=set_by)
        machine.advance(passed)
        highest = max(highest, machine.wall)
        told.append(arrival.now())
        assert line.of(machine.wall) <= told[-1]
        if machine.wall == highest:
            assert told[-1] <= max(line.of(machine.wall), told[-2] + line.of_wall_time(passed))
    assert told == sorted(told)
    # However far the clock was behind, in twice that time it has caught up.
    machine.advance(2 * 10_000 * (len(steps) + 1))
    assert arrival.now() == line.of(machine.wall)


def test_while_the_clock_is_behind_time_goes_on_at_half_speed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine, line = Machine(), Timeline.DATETIME
    arrival = Arrival(machine, line, None)
    machine.advance(100)
    set_back = arrival.now()
    machine.wall -= timedelta(seconds=60)
    assert arrival.now() == set_back
    machine.advance(20)
    assert arrival.now() == set_back + line.of_wall_time(10)
    machine.advance(100)
    assert arrival.now() == set_back + line.of_wall_time(60)
    machine.advance(1)
    assert arrival.now() == line.of(machine.wall)
    assert [each.message for each in caplog.records] == [
        "the clock was set back: it is 60 s behind the last arrival. Times of arrival go on at "
        "half speed until it has caught up"
    ]


def test_with_the_clock_set_back_no_message_leaves_the_window_early(settings: Settings) -> None:
    rules = settings.path.parent / "people.rules"
    rules.write_text(RULES)
    settings = replace(
        settings,
        rules=RuleSettings((rules,)),
        time=TimeSettings(line="datetime"),
        window=WindowSettings(unit="time", size="PT10M"),
    )
    machine = Machine()

    def there(run: Callable[[Application], None]) -> int:
        with Application.open(settings, machine) as application:
            run(application)
            return application.window_view(10).total

    def send(name: str) -> Callable[[Application], None]:
        def run(application: Application) -> None:
            application.submit(f"<p id='{name}'/>".encode(), "door").result(60)

        return run

    assert there(send("a")) == 1
    machine.wall -= timedelta(hours=1)
    machine.passed = 0.0
    assert there(send("b")) == 2
    assert there(lambda application: None) == 2
    machine.advance(2 * 3600 + 3600)
    assert there(send("c")) == 1
