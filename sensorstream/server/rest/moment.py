"""A time of the calendar that a request asks for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, AwareDatetime


def _in_utc(time: datetime) -> datetime:
    """PostgreSQL takes no zone beyond 15:59, which RFC 3339 allows."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is before the year 1 or after 9999 in UTC") from None


Moment: TypeAlias = Annotated[AwareDatetime, AfterValidator(_in_utc)]
