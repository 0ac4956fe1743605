from __future__ import annotations

import pytest

from sensorstream.model.schema import shortened, similar
from sensorstream.model.terms import IRI

PREFIXES = {"": "http://e/", "room": "http://e/room/", "all": "http://e/room/1"}


@pytest.mark.parametrize(
    ("iri", "written"),
    [
        ("http://e/x", ":x"),
        ("http://e/room/7", "room:7"),
        ("http://e/room/1", "room:1"),
        ("http://e/", "<http://e/>"),
        ("urn:x", "<urn:x>"),
    ],
)
def test_the_longest_prefix_that_leaves_a_name_is_taken(iri: str, written: str) -> None:
    assert shortened(iri, PREFIXES) == written


@pytest.mark.parametrize(
    ("name", "guess"),
    [("http://e/Humann", ":Human"), ("http://other/Room", ":Room"), ("http://e/zzz", None)],
)
def test_a_guess_is_written_alike_or_has_the_same_local_name(name: str, guess: str | None) -> None:
    known = [IRI("http://e/Human"), IRI("http://e/Room")]
    assert similar(IRI(name), known, lambda iri: shortened(iri, PREFIXES)) == guess
