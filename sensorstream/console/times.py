"""Moments as a page shows them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: str | None) -> str:
    """A moment of the HTTP interface, to the second in UTC; "" for none."""
    if at is None:
        return ""
    return f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def seconds(at: object) -> float:
    """A moment of the time line as a number: an integer as it is, a time in seconds since 1970."""
    if isinstance(at, int | float):
        return float(at)
    return (at if isinstance(at, datetime) else datetime.fromisoformat(str(at))).timestamp()
