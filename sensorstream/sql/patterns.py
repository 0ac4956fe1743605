"""Patterns of PostgreSQL as those of RE2, which DuckDB has, and those of Java, which Spark has.

They come from :mod:`sensorstream.sql.sparql`: its own, and those of REGEX and REPLACE, where it
allows only what each system reads the same way. What is left are the options at the beginning, the
ends of lines and what is found in a class of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sqlglot import exp

_OPTIONS: Final = re.compile(r"\(\?([isw]+)\)")
# In PostgreSQL these know all of Unicode; RE2's own are those of ASCII.
_CLASSES: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": r"\t-\r\x{85}\p{Z}",
    "S": r"[^\t-\r\x{85}\p{Z}]",
}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CLASS: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\."
_CLASS_OR_ESCAPE: Final = re.compile(_CLASS, re.DOTALL)
_PART: Final = re.compile(f"{_CLASS}|.", re.DOTALL)
_ENDS: Final = {"^": r"\A", "$": r"\z"}
# At lines: Java itself sees no line after a last line break.
_LINE_ENDS: Final = {"^": r"(?:\A|(?<=\n))", "$": r"(?:\z|(?=\n))"}
# Java takes two of these for an intersection, and a bracket for a class within the class.
_IN_CLASS: Final = re.compile(r"\\.|[&\[\]]", re.DOTALL)


def re2_pattern(pattern: str) -> str:
    """The same pattern for RE2; one without options has nothing that differs."""
    options = _OPTIONS.match(pattern)
    if options is None:
        return pattern
    # s: the dot matches line feeds, too; m: so do the anchors know them.
    written = "i" if "i" in options[1] else ""
    written += "m" if "w" in options[1] else ""
    return f"(?{written}s)" + _CLASS_OR_ESCAPE.sub(_re2_part, pattern[options.end() :])


def _re2_part(match: re.Match[str]) -> str:
    part = match[0]
    if part.startswith("["):
        return _ESCAPE.sub(lambda each: _CLASSES.get(each[1], each[0]), part)
    known = _CLASSES.get(part[1], part)
    return f"[{known}]" if part[1] == "s" else known


def re2_replacement(text: str) -> str:
    r"""The replacement: PostgreSQL writes the whole match ``\&``, RE2 ``\0``."""
    return _ESCAPE.sub(lambda each: r"\0" if each[1] == "&" else each[0], text)


def java_pattern(written: str) -> str:
    """The same pattern for Java."""
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


def group_of(pattern: str) -> int:
    """The group that PostgreSQL's SUBSTRING gives: the first, or the whole match."""
    return 1 if re.compile(pattern).groups else 0


def exchanged(pattern: exp.Expr, change: Callable[[str], str]) -> exp.Expr:
    """A pattern, or a choice of patterns, with each changed."""
    if isinstance(pattern, exp.Literal):
        return exp.Literal.string(change(pattern.this))
    if isinstance(pattern, exp.Paren):
        pattern.set("this", exchanged(pattern.this, change))
    if isinstance(pattern, exp.Case):
        for each in pattern.args["ifs"]:
            each.set("true", exchanged(each.args["true"], change))
        if pattern.args.get("default") is not None:
            pattern.set("default", exchanged(pattern.args["default"], change))
    return pattern
