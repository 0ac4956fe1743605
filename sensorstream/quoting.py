"""One bound for what is told of others' values: in errors, alerts, warnings and answers.

Texts quote what a message holds, which may be a megabyte, and lists name all of a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

LONGEST: Final = 10_000
"""Characters of a text that is told."""
MOST: Final = 100
"""Texts of a list that is told."""
LONGEST_PATH: Final = 500
"""Characters of the path of a request that are kept of it."""
_END: Final = 1_000
"""Characters of the end that are kept: it often says what was expected."""
_DIGITS: Final = 16


def shortened(text: str) -> str:
    """The text; of a longer one than :data:`LONGEST` the beginning and the end."""
    if len(text) <= LONGEST:
        return text
    told = f"… ({len(text)} characters) …"
    return text[: LONGEST - _END - len(told)] + told + text[-_END:]


def shortened_key(text: str, most: int = LONGEST) -> str:
    """As :func:`shortened`, for names: two that differ stay different."""
    if len(text) <= most:
        return text
    told = sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: most - _DIGITS - 1]}…{told}"


def few(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts, shortened; of more than :data:`MOST` the first, and how many more there are."""
    told = tuple(map(shortened, texts))
    if len(told) <= MOST:
        return told
    return (*told[: MOST - 1], f"and {len(told) - MOST + 1} more")
