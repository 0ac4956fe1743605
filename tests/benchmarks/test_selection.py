"""The benchmark of many rules and many events, at a tiny size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.beside import event_documents, morph_kgc
from benchmarks.selection import shapes


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_it_measures_every_shape(shape: str) -> None:
    row = shapes.measure(shape, [1, 4], turns=2)
    assert row.sizes == (1, 4)
    assert all(micros > 0 for micros in row.micros)
    assert row.growth > 0
    assert row.over_floor > 0
    assert shapes.table([row]).splitlines()[1].startswith(shape)


def test_a_processor_that_makes_other_triples_is_said(tmp_path: Path) -> None:
    source, mapping = event_documents.written(event_documents.document(1), tmp_path)
    assert str(source) in mapping.read_text(encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '<a> <b> <c> .' > {tmp_path}/morph.nt\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(morph_kgc.ProcessorFailed, match="made 1 triples: expected 6"):
        morph_kgc.seconds(python, mapping, event_documents.STATEMENTS)
