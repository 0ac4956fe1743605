from __future__ import annotations

from sensorstream.console.page_addresses import local_name, short


def test_a_name_is_the_end_of_an_iri() -> None:
    assert local_name("http://example.org/a#B") == "B"
    assert local_name("http://example.org/a/B/") == "B"
    assert local_name("urn:x") == "urn:x"


def test_a_statement_is_short_but_for_its_texts() -> None:
    said = '<http://e.org/a#s> <http://e.org/p> "see <b>\\" x"^^<http://e.org/#t>'
    assert short(said.replace("<b>", "b")) == 's p "see b\\" x"'
    kind = "<http://e.org/a#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C>"
    assert short(kind) == "s a C"
