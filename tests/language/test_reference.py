"""The examples and errors of docs/use/mapping-rules.md are as the page shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyoxigraph
import pytest

from sensorstream.app.control.mapping_files import read_functions
from sensorstream.errors import LanguageError
from sensorstream.installation import bundled
from sensorstream.language import parse
from sensorstream.language.rule_lexer import KEYWORDS
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import place
from sensorstream.mapping import check, compile_mapping, parse_document
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.mapping.reference_data import ReferenceData, parse_table, reference_data
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import compile_rules

PAGE: Final = bundled("ontologies").parent / "docs" / "use" / "mapping-rules.md"
TEXT: Final = PAGE.read_text("utf-8")
SEMANTIC: Final = PAGE.with_name("semantic-rules.md").read_text("utf-8")
HEAD: Final = "prefix : <http://example.org/tracking#>\n"


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int


def blocks(page: str = TEXT) -> list[Block]:
    return [
        Block(match[1], match[2], page[: match.start()].count("\n") + 1)
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.S | re.M)
    ]


def followed(kind: str) -> list[tuple[Block, Block]]:
    """Each ``rules`` block with the block of a kind that belongs to it."""
    pairs, last = [], None
    for block in blocks():
        if block.kind == "rules":
            last = block
        elif block.kind == kind:
            assert last is not None
            pairs.append((last, block))
    return pairs


WRONG: Final = followed("error")
RIGHT: Final = [b for b in blocks() if b.kind == "rules" and b not in [w for w, _ in WRONG]]


def reference(rules: Block, file: RuleFile) -> ReferenceData:
    """The tables that an example declares, from the CSV text that follows it; the functions."""
    tables = [table for r, table in followed("csv") if r == rules]
    read = {each.name: parse_table(each, table.text) for each in file.tables for table in tables}
    return reference_data({file.file: read}, (), FUNCTIONS)


def functions() -> dict[str, Definition]:
    """The functions that the page defines, for all its examples."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "functions.py"
        file.write_text("\n".join(block.text for block in blocks() if block.kind == "python"))
        read, faults = read_functions([file])
    assert faults == []
    assert read
    return read


FUNCTIONS: Final = functions()


def with_head(block: Block) -> str:
    # On the first line, so that columns but not lines move.
    return block.text if "prefix" in block.text else HEAD + block.text


def timeline(block: Block) -> Timeline:
    return Timeline.DATETIME if '"PT' in block.text else Timeline.INTEGER


@pytest.mark.parametrize("block", RIGHT, ids=lambda block: f"line {block.line}")
def test_every_example_is_without_fault(block: Block) -> None:
    file = parse(with_head(block))
    assert file.rules
    assert check([file], Schema(), reference(block, file)) == []
    rules = compile_rules([file], Schema(), timeline(block))
    assert len(rules) == len(file.semantic_rules)


def faults(text: str) -> list[LanguageError]:
    try:
        return check([parse(text)], Schema())
    except LanguageError as error:
        return [error]


@pytest.mark.parametrize(("rules", "error"), WRONG, ids=lambda block: f"line {block.line}")
def test_every_error_is_as_printed(rules: Block, error: Block) -> None:
    told = []
    for fault in sorted(faults(HEAD + rules.text), key=place):
        assert fault.position is not None
        told.append(f"{fault.position.line - 1}:{fault.position.column}: {fault.message}")
    assert told == error.text.splitlines()


@pytest.mark.parametrize(
    ("xml", "turtle"),
    [(x, t) for (_, x), (_, t) in zip(followed("xml"), followed("turtle"), strict=True)],
    ids=lambda block: f"line {block.line}",
)
def test_every_message_becomes_the_statements_shown(xml: Block, turtle: Block) -> None:
    (rules,) = (r for r, x in followed("xml") if x == xml)
    file = parse(rules.text)
    plan = compile_mapping([file], Schema(), Timeline.INTEGER, reference(rules, file))
    document = parse_document(xml.text.encode(), max_depth=16)
    (event,) = plan.apply(document, Message("m1", b"", received=1)).events
    written = "\n".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in event.triples)
    assert graph(written) == graph(turtle.text)


def graph(turtle: str) -> pyoxigraph.Dataset:
    quads = pyoxigraph.parse(turtle, format=pyoxigraph.RdfFormat.TURTLE)
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def test_the_grammar_names_every_word_of_the_language() -> None:
    (grammar,) = (block.text for block in blocks() if block.kind == "ebnf")
    assert set(re.findall(r'"([a-z]+)"', grammar)) - {"info", "warning", "critical"} == set(
        KEYWORDS
    )


def test_there_are_examples_of_everything() -> None:
    assert len(RIGHT) >= 8
    assert len([line for _, error in WRONG for line in error.text.splitlines()]) >= 5
    semantic = [block for block in blocks(SEMANTIC) if block.kind == "rules"]
    used = " ".join(block.text for block in (*RIGHT, *semantic))
    assert {word for word in KEYWORDS if not re.search(rf"\b{word}\b", used)} == {"false"}
