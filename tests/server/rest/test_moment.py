"""Times that requests ask for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from sensorstream.server.operation_routes import Moment

TIMES = TypeAdapter[datetime](Moment)


def test_a_time_is_taken_in_any_zone_and_given_in_utc() -> None:
    found = TIMES.validate_python("0100-04-19T16:08:59-16:26")
    assert found == datetime(100, 4, 20, 8, 34, 59, tzinfo=UTC)
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00", "2026-01-01T00:00:00"]
)
def test_a_time_that_utc_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        TIMES.validate_python(text)
