"""What a message costs beside 1, 100 and 1000 rules that differ in one place of their paths."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from lxml import etree

from sensorstream.language.rule_parser import parse
from sensorstream.mapping import MappingPlan, compile_mapping, parse_document
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

_EVENT: Final = "id='a' v='1'><n>x</n>"
SHAPES: Final = {
    "/K{i}": f"<K{{i}} {_EVENT}</K{{i}}>",
    "/M[K='k{i}']/E": f"<M><K>k{{i}}</K><E {_EVENT}</E></M>",
    "/M/E{i}": f"<M><E{{i}} {_EVENT}</E{{i}}></M>",
    "//E{i}": f"<M><E{{i}} {_EVENT}</E{{i}}></M>",
    "/M[@k='k{i}']/E": f"<M k='k{{i}}'><E {_EVENT}</E></M>",
    "/M/E[@k='k{i}' and @id]": f"<M><E k='k{{i}}' {_EVENT}</E></M>",
    "/M/E/T[@k='k{i}']": f"<M><E><T k='k{{i}}' {_EVENT}</T></E></M>",
}
"""Paths, each with a message that the rule with that number is for."""
_RULE: Final = """
mapping r{i}
on message {{{path}}}
then
  insert individual :e-{{@id}} a :E at {{@v}}
    ; :v {{@v}}
    ; :n {{n}} .
"""
MESSAGES: Final = 60
"""In a turn, of each way."""


@dataclass(frozen=True, slots=True)
class Row:
    """CPU microseconds a message, by number of rules, and milliseconds to compile one of them.

    ``floor`` is what the message costs with lxml alone: parsed, its path and its values found by
    compiled XPaths, the triples as tuples.
    """

    shape: str
    sizes: tuple[int, ...]
    micros: tuple[float, ...]
    floor: float
    compiling: float

    @property
    def growth(self) -> float:
        return self.micros[-1] / self.micros[0]

    @property
    def over_floor(self) -> float:
        return self.micros[0] / self.floor


def measure(shape: str, sizes: Sequence[int], turns: int) -> Row:
    """All numbers of rules and the floor, in turns; the median turn counts."""
    message = SHAPES[shape].format(i=sizes[0] // 2).encode()
    plans, compiling = [], 0.0
    for size in sizes:
        begun = time.process_time()
        plans.append(plan(shape, size))
        compiling = (time.process_time() - begun) * 1e3 / size
    ways = [_floor(shape.format(i=sizes[0] // 2), message)]
    for each, size in zip(plans, sizes, strict=True):
        ways.append(_mapping(each, SHAPES[shape].format(i=size // 2).encode()))
    spent: list[list[float]] = [[] for _ in ways]
    for _ in range(turns):
        for way, times in zip(ways, spent, strict=True):
            begun = time.process_time()
            way()
            times.append((time.process_time() - begun) * 1e6 / MESSAGES)
    floor, *micros = (median(times) for times in spent)
    return Row(shape, tuple(sizes), tuple(micros), floor, compiling)


def plan(shape: str, size: int) -> MappingPlan:
    """So many rules of a shape."""
    rules = (_RULE.format(i=i, path=shape.format(i=i)) for i in range(size))
    text = "prefix : <http://example.org/>\n" + "".join(rules)
    return compile_mapping([parse(text)], Schema(), Timeline.INTEGER)


def _mapping(mapping: MappingPlan, content: bytes) -> Callable[[], None]:
    def run() -> None:
        for _ in range(MESSAGES):
            message = Message("m1", content, 1)
            mapped = mapping.apply(parse_document(content, max_depth=100), message)
            assert len(mapped.events[0].triples) == 3

    return run


def _floor(path: str, content: bytes) -> Callable[[], None]:
    paths = (path, "string(@id)", "string(@v)", "n/text()")
    compiled: list[Any] = [etree.XPath(each) for each in paths]
    find, identity, value, name = compiled

    def run() -> None:
        for _ in range(MESSAGES):
            for node in find(etree.fromstring(content)):
                subject = f"http://example.org/e-{identity(node)}"
                time = int(value(node))
                triples = (
                    (subject, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "E"),
                    (subject, "http://example.org/v", value(node)),
                    (subject, "http://example.org/n", name(node)[0]),
                )
                assert time
                assert len(triples) == 3

    return run


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    sizes = rows[0].sizes
    head = "".join(f"{size:>8}" for size in sizes)
    lines = [
        f"{'CPU us a message, rules:':<27}{head}   growth   lxml   1 / lxml   ms to compile a rule"
    ]
    for row in rows:
        micros = "".join(f"{each:8.1f}" for each in row.micros)
        lines.append(
            f"{row.shape:<27}{micros}{row.growth:9.2f}{row.floor:7.1f}{row.over_floor:11.2f}"
            f"{row.compiling:23.2f}"
        )
    return "\n".join(lines)
