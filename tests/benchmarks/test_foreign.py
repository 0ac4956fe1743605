"""Ontologies of others, where they are: they load, and are reasoned with as owlready2 does."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

import pytest

from benchmarks.foreign.__main__ import BEGIN, END, PAGE, measured
from benchmarks.foreign.cases import FOLDER, load, single_files
from benchmarks.foreign.oracle import inferred_types
from benchmarks.foreign.streams import BASE, Stream, random_messages
from benchmarks.foreign.tables import tables
from sensorstream.errors import Overrun

there = pytest.mark.skipif(
    not FOLDER.is_dir(),
    reason=f"the published ontologies, which have licences of their own, are not in {FOLDER} "
    "(ONTOLOGIES names another folder)",
)


@there
def test_every_published_ontology_loads_with_the_settings_it_needs() -> None:
    found = {case.name: load(case.files) for case in single_files()}
    assert found["koala.owl"].needs == found["wine.owl"].needs == ""
    assert found["primer.owl"].needs == "`leave_out`"
    assert found["food.owl"].needs == "`undeclared`"
    assert found["ssn/core_ssn-actuation.ttl"].needs == "`leave_out`, `undeclared`"
    # Parts of a whole: what they import would declare the properties that they restrict.
    refused = [name for name, each in found.items() if each.ontology is None]
    assert refused == ["ssn/alignments_ssnx-dul_ssn.ttl", "ssn/core_ssn-common.ttl"]
    assert all("use does not show which" in found[name].why for name in refused)


@there
def test_a_stream_over_a_published_ontology_is_reasoned_with_as_owlready2_does() -> None:
    ontology = load([FOLDER / "koala.owl"]).ontology
    assert ontology is not None
    classes = ontology.schema.classes
    stream = Stream.opened(ontology, "hermit", size=8, timeout=60)
    try:
        for message in islice(random_messages(ontology.schema, seed=2), 30):
            with suppress(Overrun):
                stream.take(message)
        found = stream.types(classes)
        theirs = inferred_types(stream.triples(), stream.individuals(), "hermit", BASE, 120)
    finally:
        stream.close()
    assert theirs is not None
    assert found == {(one, kind) for one, kind in theirs if kind in classes}
    assert len(found) > 10


def test_the_page_has_a_place_for_the_tables() -> None:
    page = PAGE.read_text()
    assert page.index(BEGIN) < page.index(END)
    row = {"triples": 3, "loads": True, "needs": "`leave_out`", "why": "imports <urn:x>"}
    assert "Load with `leave_out`: a.owl." in tables({"loaded": {"a.owl": row}})
    row["loads"] = False
    assert "Does not load: a.owl: imports `<urn:x>`." in tables({"loaded": {"a.owl": row}})


def test_a_row_tells_what_was_found_and_why_the_rest_is_empty() -> None:
    begun = {
        "start": "2.1",
        "without_rules": 3,
        "messages": 20,
        "refused": 1,
        "overrun": 0,
        "asked": 4,
    }
    compared = {"types": 9, "missing": 0, "unfounded": 2, "alone": [0.25, 0.1], "hub": [130.4]}
    text = tables({"reasoned": {"a|hermit": {**begun, **compared, "failed": "stopped <late>"}}})
    assert "| a | hermit | 2.1 | 3 | 1 | 0 | 4 | 9 | 2 | 0.1\N{EN DASH}0.25 |  | 130 |  |" in text
    assert text.endswith("- stopped `<late>`: a (hermit)")


@there
def test_a_measurement_keeps_what_it_found_until_its_time_was_over() -> None:
    row = measured("no such ontology", "hermit", 60)
    assert "failed" in row
    assert measured("bot.ttl", "hermit", 0.01) == {"failed": "stopped after 0.01 s"}
