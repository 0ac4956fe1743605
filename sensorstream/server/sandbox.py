"""SPARQL from outside may read the cache and nothing else.

Oxigraph fetches from any address a query's SERVICE names and offers no switch against it, so
such queries are refused by their text.
"""

from __future__ import annotations

import re
from typing import Final

from sensorstream.errors import QueryError

# What may hold the letters of a keyword without being one (SPARQL 1.1, section 19.8).
_QUOTED: Final = re.compile(
    r'"""(?:(?:"|"")?(?:[^"\\]|\\.))*"""'
    r"|'''(?:(?:'|'')?(?:[^'\\]|\\.))*'''"
    r'|"(?:[^"\\\n\r]|\\.)*"'
    r"|'(?:[^'\\\n\r]|\\.)*'"
    r'|<[^<>"{}|^`\\\x00-\x20]*>'
    r"|\#[^\n\r]*"
    r"|[?$]\w+"
    r"|:[\w%\\-]*"
    r"|@[A-Za-z-]+",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_SERVICE: Final = re.compile(r"service", re.IGNORECASE)
_UPDATE: Final = re.compile(
    r"\s*(?:(?:prefix\s*[\w.-]*\s*|base\s*))*"
    r"(insert|delete|load|clear|drop|create|add|move|copy|with)\b",
    re.IGNORECASE,
)


def check_query(text: str) -> None:
    """Refuse a SPARQL text that would leave the cache or change it.

    Raises:
        QueryError: the text uses SERVICE, or is an update. It may err on the side of caution:
            a prefix named ``service`` is refused too.
    """
    # Code point escapes count everywhere, before parsing (SPARQL 1.1, section 19.2).
    plain = _QUOTED.sub(" ", _ESCAPE.sub(_unescape, text))
    if _SERVICE.search(plain):
        raise QueryError("SERVICE is not allowed: queries read the cache and nothing else")
    if update := _UPDATE.match(plain):
        raise QueryError(
            f"this is an update ({update[1].upper()}): the cache changes by messages and rules"
            " only, expected SELECT, ASK, CONSTRUCT or DESCRIBE"
        )


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"
