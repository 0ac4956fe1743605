"""The corpora of questions, and those of the documents, on every engine that answers them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from sensorstream.app.application import Application
from sensorstream.archive.archive_moves import archive
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text
from tests.equivalence import engines
from tests.equivalence.canonical import CHECKOUT
from tests.equivalence.engines import Past
from tests.equivalence.items import Item, Tools, name_of, parametrized
from tests.history import house, oddities
from tests.mapping.test_bundled_rules import apply
from tests.spark.sparql.test_spark_query import EXPRESSIONS, MORE, XSD
from tests.sparql import test_dialects, test_query_parser, test_text_bounds, test_valid_time
from tests.sparql.building import (
    test_dataset_builder,
    test_pattern_builder,
    test_query_builder,
    test_term_builder,
)

_BLOCK: Final = re.compile(r"^```sparql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_QUOTED: Final = re.compile(r"\"((?:PREFIX|SELECT|ASK|CONSTRUCT|DESCRIBE)\s[^\"]*)\"")
_HOUSE: Final = "PREFIX : <http://example.org/house#>\n"
_TRACKING: Final = "PREFIX : <http://sensorstream.example/tracking#>\n"


def of_texts(_: Tools) -> Iterator[Item]:
    """What the texts of the parser's tests mean, as they are printed."""
    for module in (
        test_query_parser,
        test_term_builder,
        test_pattern_builder,
        test_dataset_builder,
        test_query_builder,
        test_dialects,
        test_valid_time,
        test_text_bounds,
    ):
        for text in parametrized(module):
            name = f"{module.__name__.rpartition('.')[2]}/{name_of(text)}"
            yield Item(name, lambda text=text: query_text(parse_query(text)))  # type: ignore[misc]


def of_process(tools: Tools) -> Iterator[Item]:
    """The questions on the network and the cache."""
    odd = engines.now(tools, oddities.triples())
    for text in oddities.questions():
        yield from odd(f"odd/{name_of(text)}", text)
    _, url = _house(tools)
    found = engines.now(tools, [triple for triple, _ in house.stored(url)])
    for case in house.cases():
        yield from found(f"house/{case.name}", query_text(case.question.query))
    for text in _of_house():
        yield from found(f"house/{name_of(text)}", text)
    now = engines.now(tools, tracked())
    for text in documented():
        name = f"docs/{name_of(text)}"
        yield Item(f"text/{name}", lambda text=text: query_text(parse_query(text)))  # type: ignore[misc]
        yield from now(name, text)


def of_history(tools: Tools) -> Iterator[Item]:
    """The questions on PostgreSQL and on DuckDB."""
    yield from _of_past(tools, spark=False)


def of_spark(tools: Tools) -> Iterator[Item]:
    """The questions on Spark."""
    yield from _of_past(tools, spark=True)


def _of_past(tools: Tools, *, spark: bool) -> Iterator[Item]:
    past = engines.past(tools, [oddities.triples(), tracked()])
    asked = past.engines(spark=spark)
    for text in oddities.questions():
        time = engines.at(0)
        yield from engines.question_items(f"odd/{name_of(text)}", text, asked, time=time)
    for text in documented():
        time = engines.at(1)
        yield from engines.question_items(f"docs/{name_of(text)}", text, asked, time=time)
    lived, _ = _house(tools)
    asked = lived.engines(spark=spark)
    for case in house.cases():
        for name, ask in asked.items():
            yield Item(f"{name}/house/{case.name}", partial(ask, case.question))
    for text in _of_house():
        yield from engines.question_items(f"house/{name_of(text)}", text, asked)


def _of_house() -> list[str]:
    """Questions to the house beside those of its file."""
    alone = [f"{XSD} SELECT ({each} AS ?e) {{}}" for each in EXPRESSIONS]
    return [*(_HOUSE + each for each in MORE), *alone]


def _house(tools: Tools) -> tuple[Past, str]:
    """The history that the house's server leaves, twice: one of them is archived."""
    urls = [tools.new_database() for _ in range(2)]
    for url in urls:
        with Application.open(house.settings(tools.new_folder(), url)) as application:
            for each in [application.submit(content, "house") for content in house.messages()]:
                each.result(600)
    folder = tools.new_folder() / "archive"
    archive(urls[1], folder, 10**9, engines.LINE)
    return Past(tools, urls[0], urls[1], folder), urls[0]


def tracked() -> list[Triple]:
    messages = tracker_messages(60)
    events = (event for each in messages for event in apply("tracking", bytes(each)).events)
    return [triple for event in events for triple in event.triples]


def documented() -> list[str]:
    """The SPARQL of the documents: blocks, and texts that a command is given."""
    pages = [*sorted((CHECKOUT / "docs").rglob("*.md")), CHECKOUT / "README.md"]
    pages += sorted((CHECKOUT / "examples").glob("*/README.md"))
    found: list[str] = []
    for page in pages:
        found += _texts(page)
    found += [each.read_text("utf-8") for each in sorted((CHECKOUT / "examples").glob("*/*.rq"))]
    return list(dict.fromkeys(found))


def _texts(page: Path) -> Iterator[str]:
    content = page.read_text("utf-8")
    for text in (*_BLOCK.findall(content), *_QUOTED.findall(content)):
        yield text if "PREFIX : " in text else _TRACKING + text
