"""String templates: ``http://example.org/{@id}``, with backslashes before braces that are text.

Source: RML-Core, "Template (rml:template)": a brace that encloses no reference and every
backslash are escaped by a backslash, inside references too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import Hole, Part

_PIECE: Final = re.compile(r"\\(?P<escaped>[{}\\])|(?P<sign>[{}\\])|(?P<plain>[^{}\\]+)")


def parse_template(text: str, position: Position) -> tuple[Part, ...]:
    """The texts and references of a template; ``position`` is that of its first character.

    Raises:
        LanguageError: a brace or backslash that is neither escaped nor part of a reference, or a
            reference that is empty.
    """
    parts: list[Part] = []
    run: list[str] = []
    opened: int | None = None

    def at(offset: int) -> Position:
        return Position(position.file, position.line, position.column + offset)

    def fail(what: str, offset: int) -> LanguageError:
        return LanguageError(f"rml:template '{text}': {what}", position=at(offset))

    for piece in _PIECE.finditer(text):
        sign, offset = piece["sign"], piece.start()
        if sign == "\\":
            raise fail(r"a lone '\': expected '\\', '\{' or '\}'", offset)
        if sign == "{":
            if opened is not None:
                raise fail(r"'{' within a reference: expected '\{'", offset)
            if run:
                parts.append("".join(run))
            opened = offset + 1
            run = []
        elif sign == "}":
            if opened is None:
                raise fail(r"'}' that closes nothing: expected '\}'", offset)
            reference = "".join(run).strip()
            if not reference:
                raise fail("empty braces: expected an XPath between them", offset)
            parts.append(Hole(reference, position=at(opened)))
            opened, run = None, []
        else:
            run.append(piece["escaped"] or piece["plain"])
    if opened is not None:
        raise fail(r"'{' is not closed: expected '}', or '\{' for a brace", opened - 1)
    if run:
        parts.append("".join(run))
    return tuple(parts)


def print_template(parts: Iterable[Part]) -> str:
    """The text of a template; :func:`parse_template` of it gives equal parts."""
    return "".join(
        _escaped(part) if isinstance(part, str) else f"{{{_escaped(part.text)}}}" for part in parts
    )


def _escaped(text: str) -> str:
    return re.sub(r"[{}\\]", r"\\\g<0>", text)
