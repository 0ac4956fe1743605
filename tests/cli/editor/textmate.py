"""A reader of TextMate grammars: the part of the format that the project's grammars use.

Source: the TextMate manual, "Language Grammars" (match, begin and end, captures, include).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from sensorstream.installation import bundled

FOLDER: Final = bundled("ontologies").parent / "editors" / "vscode"
Rule = dict[str, Any]


@dataclass(frozen=True)
class Scoped:
    """A piece of a text and its scopes, from outside to inside."""

    text: str
    scopes: tuple[str, ...]


@cache
def grammar(scope: str) -> Rule:
    for path in (FOLDER / "syntaxes").glob("*.tmLanguage.json"):
        read: Rule = json.loads(path.read_text("utf-8"))
        if read["scopeName"] == scope:
            return read
    raise AssertionError(f"no grammar {scope}")


def regexes(rule: Any) -> Iterator[str]:
    """Every regular expression of a grammar."""
    if isinstance(rule, dict):
        for key, value in rule.items():
            if key in ("match", "begin", "end"):
                yield value
            else:
                yield from regexes(value)
    elif isinstance(rule, list):
        for each in rule:
            yield from regexes(each)


def includes(rule: Any) -> Iterator[str]:
    if isinstance(rule, dict):
        yield from ([rule["include"]] if "include" in rule else [])
        rule = list(rule.values())
    if isinstance(rule, list):
        for each in rule:
            yield from includes(each)


@dataclass(frozen=True)
class _Open:
    """A begun rule: what ends it, its own patterns, and the scopes inside."""

    rule: Rule
    home: Rule
    outer: tuple[str, ...]
    inner: tuple[str, ...]


def scoped(text: str, scope: str) -> list[Scoped]:
    """The pieces of a text with their scopes; white space between them is left out."""
    home = grammar(scope)
    stack = [_Open(home, home, (), (scope,))]
    found: list[Scoped] = []

    def put(piece: str, scopes: tuple[str, ...]) -> None:
        if piece.strip():
            found.append(Scoped(piece.strip(), scopes))

    for line in text.split("\n"):
        offset = 0
        stuck = 0
        while True:
            top = stack[-1]
            best = _next(line, offset, top)
            if best is None:
                put(line[offset:], top.inner)
                break
            match, rule, its_home = best
            put(line[offset : match.start()], top.inner)
            if rule is None:
                _captured(match, top.rule.get("endCaptures", {}), top.outer, put)
                stack.pop()
            elif "begin" in rule:
                outer = (*top.inner, *([rule["name"]] if "name" in rule else []))
                _captured(match, rule.get("beginCaptures", {}), outer, put)
                content = (rule["contentName"],) if "contentName" in rule else ()
                stack.append(_Open(rule, its_home, outer, (*outer, *content)))
            else:
                outer = (*top.inner, *([rule["name"]] if "name" in rule else []))
                _captured(match, rule.get("captures", {}), outer, put)
            stuck = stuck + 1 if match.end() == offset else 0
            offset = match.end()
            assert stuck < 20, f"the grammar does not move on at {line[offset:]!r}"
            if offset >= len(line) and match.start() == match.end():
                if rule is None and stack[-1].rule.get("end", "").endswith("$"):
                    continue
                break
    return found


def _next(line: str, offset: int, top: _Open) -> tuple[re.Match[str], Rule | None, Rule] | None:
    best: tuple[re.Match[str], Rule | None, Rule] | None = None
    if "end" in top.rule:
        match = re.compile(top.rule["end"]).search(line, offset)
        best = None if match is None else (match, None, top.home)
    for rule, home in _patterns(top.rule, top.home):
        match = re.compile(rule.get("match") or rule["begin"]).search(line, offset)
        if match is not None and (best is None or match.start() < best[0].start()):
            best = match, rule, home
    return best


def _patterns(rule: Rule, home: Rule) -> Iterator[tuple[Rule, Rule]]:
    for each in rule.get("patterns", ()):
        name = each.get("include")
        if name is None:
            yield each, home
        elif name.startswith("#"):
            named = home["repository"][name[1:]]
            if "match" in named or "begin" in named:
                yield named, home
            else:
                yield from _patterns(named, home)
        else:
            yield from _patterns(grammar(name), grammar(name))


def _captured(match: re.Match[str], captures: Rule, scopes: tuple[str, ...], put: Any) -> None:
    done = match.start()
    for number, capture in sorted(captures.items(), key=lambda item: int(item[0])):
        start, end = match.span(int(number))
        if start < 0:
            continue
        put(match.string[done:start], scopes)
        put(match.string[start:end], (*scopes, capture["name"]))
        done = end
    put(match.string[done : match.end()], scopes)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
