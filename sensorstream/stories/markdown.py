"""The fenced blocks of a Markdown document, each with the heading above it.

Source: CommonMark 0.31, sections 4.2 (ATX headings) and 4.5 (fenced code blocks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>.*?)[ \t]*\Z")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*?)(?:[ \t]+#+)?[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its first word of information, its lines, and the line after its fence.

    ``after`` tells whether only blank lines stand between the block before and this one.
    """

    language: str
    lines: tuple[str, ...]
    line: int
    heading: str
    after: bool


def blocks(text: str) -> Iterator[Block]:
    """The blocks in order; the last may lack its closing fence (section 4.5)."""
    heading, fence, language, start, after = "", "", "", 0, False
    held: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if fence:
            if found and not found["info"] and found["fence"].startswith(fence):
                yield Block(language, tuple(held), start, heading, after)
                fence, after = "", True
            else:
                held.append(line)
        elif found and not (found["fence"][0] == "`" and "`" in found["info"]):
            fence, held, start = found["fence"], [], number + 1
            language = found["info"].split()[0].lower() if found["info"] else ""
        elif line.strip():
            after = False
            if title := _HEADING.match(line):
                heading = title["text"]
    if fence:
        yield Block(language, tuple(held), start, heading, after)
