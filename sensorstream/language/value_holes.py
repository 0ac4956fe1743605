"""The value functions in a hole: ``{xpath |> function argument … |> …}``. In XPath 1.0 a path must
follow ``|``, so ``|>`` changes the meaning of no XPath.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.language.rule_lexer import LexedText

_PIPE: Final = re.compile(r"""\|>|"[^"]*"|'[^']*'""")
_SPACE: Final = re.compile(r"\s*")
_FUNCTION: Final = re.compile(r"[A-Za-z][\w-]*|[-+*/]")
_ARGUMENT: Final = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')
    |(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?)
    |(?P<word>[A-Za-z_][\w-]*)""",
    re.X,
)


def is_function_name(text: str) -> bool:
    """Whether a text may stand as the name of a value function."""
    return _FUNCTION.fullmatch(text) is not None


class HolePart(NamedTuple):
    """A piece of a hole between pipes, and its offset in the hole."""

    offset: int
    text: str


def split(written: str) -> list[HolePart]:
    """The expression, then every call; pipes inside quotes do not count."""
    parts, start = [], 0
    for match in _PIPE.finditer(written):
        if match.group() == "|>":
            parts.append(HolePart(start, written[start : match.start()]))
            start = match.end()
    return [*parts, HolePart(start, written[start:])]


def call(source: LexedText, start: int, written: str) -> syntax.ValueCall:
    """The call after a pipe; ``start`` is its offset in the file.

    Raises:
        LanguageError: there is no function name, or an argument is not a text, number or word.
    """
    offset = _after_space(written, 0)
    name = _FUNCTION.match(written, offset)
    position = source.position(start + offset)
    if name is None:
        found = f"unexpected '{written[offset]}'" if written[offset:] else "nothing stands here"
        raise LanguageError(f"{found}: expected a value function such as trim", position=position)
    arguments: list[syntax.Argument] = []
    offset = _after_space(written, name.end())
    while offset < len(written):
        place = source.position(start + offset)
        match = _ARGUMENT.match(written, offset)
        if match is None:
            raise LanguageError(
                f"unexpected '{written[offset]}' after {name.group()}: "
                'expected a "text", a number, a word or |>',
                position=place,
            )
        kind: Literal["text", "number", "word"]
        if (text := match["text"]) is not None:
            kind, text = "text", text[1:-1]
        elif (text := match["number"]) is not None:
            kind = "number"
        else:
            kind, text = "word", match["word"]
        arguments.append(syntax.Argument(kind, text, position=place))
        offset = _after_space(written, match.end())
    return syntax.ValueCall(name.group(), tuple(arguments), position=position)


def _after_space(written: str, offset: int) -> int:
    match = _SPACE.match(written, offset)
    assert match is not None
    return match.end()
