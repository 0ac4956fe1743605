"""Writes the tables of the grammars into their packages: ``python -m tests.grammar_tables``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sensorstream.language.rule_parser import GRAMMAR as RULES
from sensorstream.sparql.query_parser import GRAMMAR as SPARQL

GRAMMARS: Final = (RULES, SPARQL)

if __name__ == "__main__":
    for grammar in GRAMMARS:
        if not grammar.current():
            Path(str(grammar.tables)).write_bytes(grammar.compiled())
            print(f"wrote {grammar.package} grammar.tables")
