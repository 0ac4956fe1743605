"""Regular expressions of PostgreSQL as Java reads them.

They come from :mod:`sensorstream.sql.sparql`: its own, and those of REGEX and REPLACE, where it
allows only what each system reads the same way. What is left are the options at the beginning, the
ends of lines and what Java finds in a class of characters.
"""

from __future__ import annotations

import re
from typing import Final

_OPTIONS: Final = re.compile(r"\(\?([isw]+)\)")
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_ENDS: Final = {"^": r"\A", "$": r"\z"}
# At lines: Java itself sees no line after a last line break.
_LINE_ENDS: Final = {"^": r"(?:\A|(?<=\n))", "$": r"(?:\z|(?=\n))"}
# Java takes two of these for an intersection, and a bracket for a class within the class.
_IN_CLASS: Final = re.compile(r"\\.|[&\[\]]", re.DOTALL)


def java_pattern(written: str) -> str:
    """A pattern for Java."""
    found = _OPTIONS.match(written)
    options = found[1] if found else "s"
    ends = _LINE_ENDS if "w" in options else _ENDS
    made = []
    for part in _PART.findall(written[found.end() :] if found else written):
        if len(part) > 1 and part[0] == "[":
            inner = _IN_CLASS.sub(lambda m: m[0] if len(m[0]) > 1 else f"\\{m[0]}", part[1:-1])
            made.append(f"[{inner}]")
        else:
            made.append(ends.get(part, part))
    # U: \d and \s are those of Unicode; s: a dot is any character.
    return f"(?sU{'i' if 'i' in options else ''}{'u' if 'i' in options else ''}){''.join(made)}"


def java_replacement(written: str) -> str:
    """What a match is replaced by: ``\\1`` is a group, ``\\&`` the match, ``\\\\`` a backslash."""

    def exchange(match: re.Match[str]) -> str:
        if match[0] == "$":
            return r"\$"
        if match[1] == "&":
            return "$0"
        # A digit that follows is no part of the group's number.
        return f"${match[1]}" if match[1].isdigit() else r"\\"

    return re.sub(r"\\(.)|\$", exchange, written)
