"""Stories as data, and how they are read from Markdown documents.

A block ``story`` is a story, named by the heading above it. A block ``rules`` directly before it
holds the rules that it runs with, a block ``sparql`` a continuous query. A line that begins at the
margin is a step; indented lines continue it.

Source: CommonMark 0.31, sections 4.2 (ATX headings) and 4.5 (fenced code blocks).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from textwrap import dedent
from typing import Final, TypeAlias

from sensorstream.errors import Position, SettingsError, StoryError
from sensorstream.language.rule_parser import parse
from sensorstream.model.events import Status
from sensorstream.model.frozen import field, frozen
from sensorstream.sparql.query_parser import read_query

_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>.*?)[ \t]*\Z")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*?)(?:[ \t]+#+)?[ \t]*\Z")


@frozen
class FencedBlock:
    """A fenced block: its first word of information, its lines, and the line after its fence;
    ``after``: only blank lines stand between the block before and this one.
    """

    language: str
    lines: tuple[str, ...]
    line: int
    heading: str
    after: bool


def blocks(text: str) -> Iterator[FencedBlock]:
    """The blocks in order; the last may lack its closing fence (section 4.5)."""
    heading, fence, language, start, after = "", "", "", 0, False
    held: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if fence:
            if found and not found["info"] and found["fence"].startswith(fence):
                yield FencedBlock(language, tuple(held), start, heading, after)
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
        yield FencedBlock(language, tuple(held), start, heading, after)


class Amount(Enum):
    """The way in which an expectation is compared with the state."""

    AT_LEAST = ""
    """The statements written are there; there may be more."""
    ONLY = "only"
    """The statements written are new since the last expectations, and no others are."""
    NOT = "not"
    """Nothing of what is written is there."""


@frozen
class StoryInput:
    """A step ``message`` or ``event``, which puts something in.

    ``text`` is XML, a path, or Turtle; ``time`` is the arrival of a message or the application time
    of an event; "" for the time of the step before.
    """

    kind: str
    text: str
    source: str
    time: str
    position: Position


@frozen
class BegunQuery:
    """A step ``query FILE``: a continuous query begins.

    If its ``text`` is in the document it has no ``path``; the text starts at the position.
    """

    path: str
    text: str
    position: Position


@frozen
class Advance:
    """``advance to TIME``: nothing from before that time will come; "" ends the streams."""

    time: str
    position: Position


@frozen
class StoryDifference:
    """A difference between a story and what happened.

    ``missing`` was expected and is not there, ``unexpected`` is there and must not be; ``got``
    helps to see why: what there was instead.
    """

    position: Position
    what: str
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    got: tuple[str, ...] = ()


@frozen
class Expectation:
    """``then …``: ``what`` is one of :data:`KINDS`, ask or a status."""

    amount: Amount
    what: str
    text: str
    position: Position

    def __str__(self) -> str:
        words = ("then", self.amount.value, self.what)
        return " ".join(word for word in words if word)

    def differs(
        self,
        missing: tuple[str, ...] = (),
        unexpected: tuple[str, ...] = (),
        got: tuple[str, ...] = (),
    ) -> StoryDifference:
        """The difference of the expectation from what happened."""
        return StoryDifference(self.position, str(self), missing, unexpected, got)


Step: TypeAlias = StoryInput | BegunQuery | Advance | Expectation


@frozen
class Story:
    """A story. ``rules`` are those of the document that it runs with; None: the deployment's. They
    start at line 1 of the document, so that errors name the right line.
    """

    name: str
    steps: tuple[Step, ...]
    position: Position
    prefixes: Mapping[str, str] = field(default_factory=dict)
    rules: str | None = None


@frozen
class Verdict:
    """A story that was played; it holds if there is no difference."""

    story: Story
    differences: tuple[StoryDifference, ...]

    @property
    def holds(self) -> bool:
        return not self.differences


KINDS: Final = ("asserted", "inferred", "alert", "reply", "report", "violation")
"""The subjects of expectations, besides ``ask`` and the statuses."""
STATUSES: Final = tuple(status.value for status in Status)

_STEPS: Final = "message, event, query, advance, finish, then or prefix"
_OPTION: Final = re.compile(r'\s*(from|at)\s+("[^"]*"|\S+)')
_PREFIX: Final = re.compile(r"\s*([\w.-]*):\s*<([^<>\s]*)>\s*\.?\s*\Z")
_THEN: Final = re.compile(r"\s*(?:(only|not|no)\s+)?([a-z]+)\b", re.S)


def read_stories(path: Path) -> list[Story]:
    """The stories of a document, in order.

    Raises:
        SettingsError: the file cannot be read.
        StoryError: a step cannot be read; it has the position of the step.
        LanguageError: the rules of a story cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the stories {path}: {error}") from None
    return stories_of(text, str(path))


def stories_of(text: str, file: str) -> list[Story]:
    """The stories of a document's text; see :func:`read_stories`."""
    found: list[Story] = []
    counts: Counter[str] = Counter()
    before: FencedBlock | None = None
    for block in blocks(text):
        if block.language == "story":
            own = before if block.after else None
            heading = block.heading or Path(file).stem
            counts[heading] += 1
            name = heading if counts[heading] == 1 else f"{heading} ({counts[heading]})"
            found.append(_story(name, block, own, file))
        # The same rules or query may stand before several stories.
        if block.language != "story" or not block.after:
            before = block if block.language in ("rules", "sparql") else None
    return found


def _story(name: str, block: FencedBlock, before: FencedBlock | None, file: str) -> Story:
    prefixes: dict[str, str] = {}
    text = None
    steps: list[Step] = []
    if before is not None and before.language == "rules":
        text = "\n" * (before.line - 1) + "\n".join((*before.lines, ""))
        prefixes = dict(parse(text, file).prefix_map)
    elif before is not None:
        start = Position(file, before.line, 1)
        query = "\n".join((*before.lines, ""))
        prefixes = dict(read_query(query, start=start).prefixes)
        steps.append(BegunQuery("", query, start))
    taken = False
    for where, word, rest in _paragraphs(block, file):
        if word == "prefix":
            match = _PREFIX.match(rest)
            if match is None:
                raise StoryError("expected 'prefix name: <iri>'", position=where)
            prefixes[match[1]] = match[2]
            continue
        step = _step(word, rest, where)
        if isinstance(step, Expectation) and not taken:
            raise StoryError("nothing has come in yet: expected message or event", position=where)
        taken = taken or isinstance(step, StoryInput | Advance)
        steps.append(step)
    start = Position(file, block.line - 1, 1)
    if not any(isinstance(each, Expectation) for each in steps):
        raise StoryError("a story that expects nothing: expected 'then …'", position=start)
    return Story(name, tuple(steps), start, prefixes, text)


def _paragraphs(block: FencedBlock, file: str) -> Iterator[tuple[Position, str, str]]:
    """The steps of a block: place, first word, and the rest of the text."""
    held: list[str] = []
    start = block.line
    for number, line in enumerate((*block.lines, "end"), block.line):
        if line[:1] in (" ", "\t") or not line.strip():
            if held:
                held.append(line)
            elif line.strip():
                raise StoryError(
                    f"an indented line continues a step, but there is none: expected {_STEPS}",
                    position=Position(file, number, 1),
                )
            continue
        if held:
            first, *rest = held
            word, _, tail = first.partition(" ")
            text = f"{tail.strip()}\n{dedent(chr(10).join(rest))}".strip()
            yield Position(file, start, 1), word, text
        held, start = ([] if line.startswith("#") else [line]), number


def _step(word: str, rest: str, where: Position) -> Step:
    match word:
        case "message" | "event":
            return _given(word, rest, where)
        case "query":
            if not rest:
                raise StoryError("expected 'query FILE'", position=where)
            return BegunQuery(rest, "", where)
        case "advance":
            to, _, time = rest.partition(" ")
            if to != "to" or not time.strip():
                raise StoryError("expected 'advance to TIME'", position=where)
            return Advance(time.strip(), where)
        case "finish":
            if rest:
                raise StoryError(f"unexpected '{rest}' after 'finish'", position=where)
            return Advance("", where)
        case "then":
            return _expectation(rest, where)
    raise StoryError(f"unexpected '{word}': expected {_STEPS}", position=where)


def _given(kind: str, rest: str, where: Position) -> StoryInput:
    options: dict[str, str] = {}
    while match := _OPTION.match(rest):
        if match[1] in options:
            raise StoryError(f"'{match[1]}' is written twice", position=where)
        options[match[1]] = match[2].strip('"')
        rest = rest[match.end() :]
    text = rest.strip()
    if not text:
        what = "XML or a file" if kind == "message" else "Turtle"
        raise StoryError(f"expected '{kind} [from SOURCE] [at TIME]' and {what}", position=where)
    return StoryInput(kind, text, options.get("from", ""), options.get("at", ""), where)


def _expectation(rest: str, where: Position) -> Expectation:
    kinds = ", ".join((*KINDS, "ask"))
    expected = f"expected one of {kinds}, or a status: {', '.join(STATUSES)}"
    match = _THEN.match(rest)
    if match is None:
        raise StoryError(f"'then {rest}': {expected}", position=where)
    word, what, text = match[1] or "", match[2], rest[match.end() :].strip()
    if what not in (*KINDS, "ask", *STATUSES):
        raise StoryError(f"'then {what}': {expected}", position=where)
    if word == "no":
        if text or what not in KINDS:
            raise StoryError(f"expected 'then no {'|'.join(KINDS)}'", position=where)
        return Expectation(Amount.ONLY, what, "", where)
    amount = Amount(word)
    if amount is Amount.ONLY and what not in KINDS:
        raise StoryError(f"'only' goes with {', '.join(KINDS)}, not with {what}", position=where)
    if not text and what not in STATUSES:
        raise StoryError(f"'then {what}': expected what it is", position=where)
    if text and what in STATUSES and what != Status.REJECTED.value:
        raise StoryError(f"unexpected '{text}' after '{what}'", position=where)
    return Expectation(amount, what, text, where)


def find_stories(paths: Iterable[Path]) -> list[Path]:
    """The Markdown documents of files and folders (all below them, by name); raises SettingsError
    if there is no such file or folder.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(sorted(path.rglob("*.md"))))
        elif path.is_file():
            found[path] = None
        else:
            raise SettingsError(f"there is no file or folder '{path}' with stories")
    return list(found)
