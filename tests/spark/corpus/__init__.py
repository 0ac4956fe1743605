"""Texts of queries, and what is said about each of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Text:
    """A query; ``refused`` is a pattern of the reason why Spark refuses it."""

    query: str
    refused: str | None


def sql_texts() -> list[Text]:
    """The queries of ``sql.sql``."""
    file = Path(__file__).with_name("sql.sql")
    blocks = file.read_text(encoding="utf-8").split("\n\n")
    return [text for block in blocks if (text := _text(block)) is not None]


def _text(block: str) -> Text | None:
    lines = block.strip("\n").split("\n")
    query = "\n".join(line for line in lines if not line.startswith("-- "))
    told = [line.removeprefix("-- refused: ") for line in lines if line.startswith("-- refused: ")]
    return Text(query, told[0] if told else None) if query else None
