r"""Regular expressions of people and of data: RE2's, in time linear in the text.

Python's own take exponential time for some (``^(a+)+$``), and nothing can interrupt them. RE2 has
neither back-references nor look-around (those of XPath and SPARQL have back-references). Further
bounds: the size of a compiled expression, and the work of one search and of one replacement.

Source: XPath and XQuery Functions and Operators 3.1, section 5.6.1; XML Schema 1.1 part 2, appendix
G.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sensorstream.errors import TermError

_MEMORY: Final = 1 << 20
"""Bytes of one compiled expression and what it remembers while it searches; 10 times \\w fit."""
_KEPT: Final = 128
"""Compiled expressions that are remembered, as many as MiB at most."""
_MOST_VISITED: Final = 500_000_000
"""Instructions times characters of one search: at worst some 5 s."""
_MOST_SEARCHED: Final = 2_000_000_000
"""Matches times characters of one replacement: each may be sought to the end of the text."""
LONGEST_TEXT: Final = 1_000_000
"""The most characters of a text that a function may make; messages are no longer. Without it
doubling a text thirty times takes all memory.
"""

# The classes of Python, since RE2's know ASCII only: a word has letters, digits of all kinds and
# the underscore.
_SPACE: Final = r"\t-\r\x1c-\x20\x{85}\p{Z}"
_WORD: Final = r"\p{L}\p{N}_"
_CLASSES: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
}
_IN_BRACKETS: Final = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE, "w": _WORD}
_SPECIAL: Final = re.compile(r"[\\|.?*+(){}\[\]^$-]")
_INVALID: Final = "is not a valid regular expression"
_LETTERS: Final = frozenset("nrtfvaxpP")
"""Letters that RE2 reads after a backslash as XPath or Python do."""


class Regex:
    """A compiled expression."""

    __slots__ = ("_pattern", "groups", "written")

    def __init__(self, written: str, pattern: Any) -> None:
        self.written = written
        self._pattern = pattern
        self.groups: int = pattern.groups

    def search(self, text: str) -> Any:
        """The first match in a text, or None.

        Raises:
            TermError: the text is too long for the expression, or not Unicode.
        """
        return self._pattern.search(self._bounded(text))

    def fullmatch(self, text: str) -> Any:
        """The match of a whole text, or None.

        Raises:
            TermError: as :meth:`search`.
        """
        return self._pattern.fullmatch(self._bounded(text))

    def replaced(self, text: str, by: Callable[[Any], str]) -> str:
        """A text with each match replaced by ``by(match)``, O(matches * text) at worst.

        Raises:
            TermError: as :meth:`search`, too many matches in so long a text, or replacements of
                more than :data:`LONGEST_TEXT` characters.
        """
        left, room = _MOST_SEARCHED, LONGEST_TEXT

        def counted(match: Any) -> str:
            nonlocal left, room
            left -= len(text)
            if left < 0:
                raise TermError(
                    f"'{self.written}' matches too often in a text of {len(text)} characters: "
                    f"expected at most {_MOST_SEARCHED:,} matches times characters"
                )
            made = by(match)
            room -= len(made)
            if room < 0:
                raise TermError(
                    f"the replacements of '{self.written}' are longer than {LONGEST_TEXT:,} "
                    "characters together"
                )
            return made

        replaced: str = self._pattern.sub(counted, self._bounded(text))
        return replaced

    def _bounded(self, text: str) -> str:
        most = _MOST_VISITED // max(1, self._pattern.programsize)
        if len(text) > most:
            raise TermError(
                f"a text of {len(text)} characters is too long for '{self.written}': "
                f"expected at most {most}"
            )
        if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
            raise TermError("a text with half a surrogate pair is not Unicode")
        return text


@lru_cache(maxsize=_KEPT)
def re2_regex(written: str) -> Regex:
    """An expression as RE2 reads it.

    Raises:
        TermError: RE2 does not accept it, with its reason.
    """
    return _compiled(written, written, "not a regular expression of RE2")


@lru_cache(maxsize=_KEPT)
def xpath_regex(written: str, flags: str = "") -> Regex:
    r"""An expression as XPath and SPARQL read it, with flags of ``imsxq``; ``\d``, ``\s`` and
    ``\w`` are those of Unicode.

    Raises:
        TermError: it is not valid, or has a part that cannot run in linear time, with the reason.
    """
    if not set(flags) <= set("imsxq"):
        raise TermError(f"has the flags '{flags}': expected some of i, m, q, s and x")
    if "q" in flags:
        made = _SPECIAL.sub(r"\\\g<0>", written)
    else:
        made = _Translation(written, "x" in flags).made()
    options = "".join(each for each in "ims" if each in flags)
    return _compiled(written, f"(?{options}){made}" if options else made, _INVALID)


def _compiled(written: str, made: str, fault: str) -> Regex:
    # The library is loaded only by deployments that use expressions.
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return Regex(written, re2.compile(made, options))
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise TermError(f"{fault}: {reason}") from None
    except UnicodeEncodeError:
        raise TermError(f"{fault}: it has half a surrogate pair") from None


class _Translation:
    """An expression of XPath, read from left to right and written for RE2."""

    def __init__(self, written: str, spaced: bool) -> None:
        self._written = written
        self._spaced = spaced

    def made(self) -> str:
        written, made, place = self._written, list[str](), 0
        while place < len(written):
            character = written[place]
            if character == "\\":
                made.append(self._escape(place, _CLASSES))
                place += 2
            elif character == "[":
                part, place = self._brackets(place)
                made.append(part)
            elif self._spaced and character in " \t\n\r":
                place += 1
            else:
                if written.startswith("{,", place):
                    raise self._fault("'{,' begins no quantifier: expected '{0,'")
                if written.startswith(("(?=", "(?!", "(?<=", "(?<!"), place):
                    raise self._fault("there is no look-around: use two tests, joined by && or !")
                made.append(character)
                place += 1
        return "".join(made)

    def _brackets(self, place: int) -> tuple[str, int]:
        """The class that begins at a place, and where it ends."""
        written, end = self._written, place + 1
        opening = "["
        if written.startswith("^", end):
            opening, end = "[^", end + 1
        made: list[str] = []
        other = False
        first = True
        while first or not written.startswith("]", end):
            if end >= len(written):
                raise self._fault("missing closing ]")
            if written.startswith("-[", end):
                raise self._fault("a class without another ('-[') is not supported: name the rest")
            if written[end] != "\\":
                # RE2 knows [[:alpha:]], so a bracket within brackets needs a backslash.
                made.append(f"\\{written[end]}" if written[end] in "[]" else written[end])
                end += 1
            elif written.startswith("W", end + 1):
                if opening == "[^":
                    raise self._fault(
                        r"[^\W...] is not supported: expected [\p{L}\p{N}], for instance"
                    )
                other, end = True, end + 2
            elif written.startswith("S", end + 1):
                raise self._fault(r"\S is not supported within [...]: expected (\S|...)")
            else:
                made.append(self._escape(end, _IN_BRACKETS))
                end += 2
            first = False
        text = f"{opening}{''.join(made)}]" if made else ""
        if other:
            text = f"(?:{text}|{_CLASSES['W']})" if text else _CLASSES["W"]
        return text, end + 1

    def _escape(self, place: int, classes: dict[str, str]) -> str:
        following = self._written[place + 1 : place + 2]
        if following in classes:
            return classes[following]
        if following.isdigit():
            raise self._fault(
                "there are no back-references: they cannot be matched in linear time; "
                "compare the parts with = instead"
            )
        if following == "b":
            raise self._fault(r"there is no \b in XPath: expected (^|\W)word(\W|$)")
        if following in _LETTERS or (following.isascii() and not following.isalnum() and following):
            return f"\\{following}"
        raise self._fault(f"unknown escape \\{following}")

    def _fault(self, reason: str) -> TermError:
        return TermError(f"{_INVALID}: {reason}")
