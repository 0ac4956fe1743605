"""Patterns of PostgreSQL as those of RE2, which DuckDB has.

The compiler writes only what both read alike, after options such as ``(?is)``; only the names of
options and some classes differ.
"""

from __future__ import annotations

import re
from typing import Final

_OPTIONS: Final = re.compile(r"\(\?([isw]+)\)")
# In PostgreSQL these know all of Unicode; RE2's own are those of ASCII.
_CLASSES: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": r"\t-\r\x{85}\p{Z}",
    "S": r"[^\t-\r\x{85}\p{Z}]",
}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CLASS_OR_ESCAPE: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.", re.DOTALL)


def re2_pattern(pattern: str) -> str:
    """The same pattern for RE2; one without options has nothing that differs."""
    options = _OPTIONS.match(pattern)
    if options is None:
        return pattern
    # s: the dot matches line feeds, too; m: so do the anchors know them.
    written = "i" if "i" in options[1] else ""
    written += "m" if "w" in options[1] else ""
    return f"(?{written}s)" + _CLASS_OR_ESCAPE.sub(_part, pattern[options.end() :])


def _part(match: re.Match[str]) -> str:
    part = match[0]
    if part.startswith("["):
        return _ESCAPE.sub(lambda each: _CLASSES.get(each[1], each[0]), part)
    known = _CLASSES.get(part[1], part)
    return f"[{known}]" if part[1] == "s" else known


def re2_replacement(text: str) -> str:
    r"""The replacement: PostgreSQL writes the whole match ``\&``, RE2 ``\0``."""
    return re.sub(
        r"\\(.)", lambda each: r"\0" if each[1] == "&" else each[0], text, flags=re.DOTALL
    )


def group_of(pattern: str) -> int:
    """The group that PostgreSQL's SUBSTRING gives: the first, or the whole match."""
    return 1 if re.compile(pattern).groups else 0
