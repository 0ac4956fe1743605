"""Many events in one document: rules beside lxml alone, RML beside morph-kgc."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import ROOT
from benchmarks.beside import event_documents as documents
from benchmarks.beside import morph_kgc
from benchmarks.beside.turns import Pair, agree, timed
from sensorstream.language.rule_parser import parse
from sensorstream.mapping import MappingPlan, compile_mapping
from sensorstream.mapping.rml.rml_compiler import compile_rml
from sensorstream.mapping.rml.rml_reader import read_rml
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

PEERS: Final = Path(os.environ.get("PEERS", ROOT / "build" / "peers"))
"""An environment of Python for peers that cannot live in ours."""


@contextmanager
def rules_beside_lxml(size: int) -> Iterator[Pair]:
    """Of so many events."""
    content = documents.document(size)
    ours = documents.by(compile_mapping([parse(documents.RULES)], Schema(), Timeline.INTEGER))
    agree("triples", ours(content), documents.lxml_alone(content))
    yield Pair(
        timed(lambda: ours(content), size), timed(lambda: documents.lxml_alone(content), size)
    )


@contextmanager
def rml_beside_morph(size: int) -> Iterator[Pair]:
    """Of so many events; morph-kgc's start is taken off."""
    plan = MappingPlan(compile_rml([read_rml(documents.RML)], Schema(), Timeline.INTEGER))
    content, ours = documents.document(size), documents.by(plan)
    mine = timed(lambda: ours(content), size)
    python = PEERS / "bin" / "python"
    if not python.exists():
        yield Pair(mine, absent="`make bench` could not install it from PyPI")
        return
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:

        def spent(events: int, folder: str) -> float:
            _, mapping = documents.written(documents.document(events), Path(folder))
            return morph_kgc.seconds(python, mapping, documents.STATEMENTS * events)

        yield Pair(mine, lambda: (spent(size, many) - spent(1, one)) / (size - 1))
