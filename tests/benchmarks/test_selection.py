"""The benchmark of many rules and many events, at a tiny size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.selection import bulk, processors, shapes
from benchmarks.selection.__main__ import main


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_it_measures_every_shape(shape: str) -> None:
    row = shapes.measure(shape, [1, 4], turns=2)
    assert row.sizes == (1, 4)
    assert all(micros > 0 for micros in row.micros)
    assert row.growth > 0
    assert row.over_floor > 0
    assert shapes.table([row]).splitlines()[1].startswith(shape)


def test_all_ways_make_the_same_triples(tmp_path: Path) -> None:
    content = bulk.document(4)
    assert bulk.lxml_alone(content) == 4 * bulk.STATEMENTS
    assert list(bulk.seconds(content, turns=1)) == ["lxml alone", "rules", "message each", "RML"]
    source, mapping = bulk.written(content, tmp_path)
    assert str(source) in mapping.read_text(encoding="utf-8")


def test_a_processor_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho not installed >&2\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    main(["--sizes", "1", "2", "--events", "3", "--turns", "1", "--sdm-rdfizer", str(python)])
    printed = capsys.readouterr().out
    assert "morph-kgc          not measured: no Python with it was named" in printed
    assert "sdm-rdfizer        not measured: sdm-rdfizer: not installed" in printed


def test_a_processor_that_makes_other_triples_is_said(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '<a> <b> <c> .' > {tmp_path}/morph.nt\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(processors.ProcessorFailed, match="made 1 triples: expected 6"):
        processors.seconds(processors.MORPH_KGC, python, tmp_path / "mapping.ttl", 6)
