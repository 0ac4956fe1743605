"""Moments as a page shows them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: str | None) -> str:
    """A moment of the HTTP interface, to the second in UTC; "" for none."""
    if at is None:
        return ""
    return f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
