"""IRIs of mapping rules: constants, templates, and whole IRIs from messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import InvalidValue, LanguageError
from sensorstream.language import parse, parse_with_faults
from sensorstream.mapping import compile_mapping, parse_document
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Timeline

HEAD = "prefix : <http://e.org/>\n"


def triples(rules: str, xml: str) -> tuple[Triple, ...]:
    plan = compile_mapping([parse(rules, "f")], Schema(), Timeline.INTEGER)
    events = plan.apply(parse_document(xml.encode(), max_depth=9), Message("m1", b"", 1)).events
    return events[0].triples if events else ()


def links(value: str, xml: str, head: str = HEAD) -> list[str]:
    """The values of ``:p`` for a message."""
    rules = f"{head}mapping m on message {{/m}} then insert individual :i a :C ; :p {value} ."
    return [str(o) for _, p, o in triples(rules, xml) if p == "http://e.org/p"]


def test_a_whole_iri_is_taken_as_it_is_written() -> None:
    xml = "<m><r h=' http://x/a%20b?q=1#é '/><r h='urn:uuid:7'/></m>"
    assert links("<{r/@h}>", xml) == ["http://x/a%20b?q=1#é", "urn:uuid:7"]


def test_a_relative_iri_is_resolved_against_the_base() -> None:
    xml = "<m><r h='../c'/><r h='#d'/><r h='urn:x:y'/></m>"
    head = f"base <http://b.org/x/y/>\n{HEAD}"
    assert links("<{r/@h}>", xml, head) == ["http://b.org/x/c", "http://b.org/x/y/#d", "urn:x:y"]


def test_a_base_of_an_unknown_scheme_resolves_as_any_other() -> None:
    assert links("<{@h}>", "<m h='#c'/>", f"base <urn:a:b>\n{HEAD}") == ["urn:a:b#c"]
    assert links("<{@h}>", "<m h='../c'/>", f"base <coap://h/a/b/>\n{HEAD}") == ["coap://h/a/c"]


def test_an_iri_that_is_none_is_an_error_with_its_place() -> None:
    xml = "<m>\n<r h='urn:x:y'/>\n<r h='the lake'/></m>"
    with pytest.raises(InvalidValue) as error:
        links("<{r/@h}>", xml)
    assert str(error.value) == (
        "f:2:65: rule m, {r/@h}, message line 3: 'the lake' is not an absolute IRI: "
        "expected a scheme such as http:"
    )


@pytest.mark.parametrize(
    "value",
    ["relative", "http://a b", "http://a/<b>", "http://a/%zz", "http://h:x/", "x:\ue000", "1:x"],
)
def test_what_is_no_iri_follows_the_policy_of_its_value(value: str) -> None:
    xml = f"<m h='{value.replace('<', '&lt;')}'/>"
    with pytest.raises(InvalidValue):
        links("<{@h}>", xml)
    assert links("<{@h}> if valid", xml) == []
    assert links("<{@h}> if valid or :other", xml) == ["http://e.org/other"]
    assert links("<{@h}> if valid or skip individual", xml) == []


def test_a_missing_iri_follows_the_policy_too() -> None:
    assert links("<{@h}> or :other", "<m/>") == ["http://e.org/other"]


def test_the_name_of_an_individual_may_be_a_whole_iri() -> None:
    rules = f"{HEAD}mapping m on message {{/m}} then insert individual <{{@h}}> a :C ."
    assert triples(rules, "<m h='urn:x:y'/>")[0][0] == IRI("urn:x:y")
    with pytest.raises(InvalidValue, match="'y' is not an absolute IRI"):
        triples(rules, "<m h='y'/>")


def test_a_value_that_spoils_the_host_of_a_name_is_invalid() -> None:
    assert links("<http://h:{@p}/x>", "<m p='80'/>") == ["http://h:80/x"]
    with pytest.raises(InvalidValue, match="message line 1: 'http://h:a/x' is not an IRI"):
        links("<http://h:{@p}/x>", "<m p='a'/>")


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1))
def test_no_value_spoils_a_name_behind_its_host(text: str) -> None:
    value = "".join(f"&#{ord(each)};" for each in text)
    for name in ("<x:{@v}>", "<http://h/{@v}>", ":a.{@v}"):
        for made in links(name, f"<m v='{value}'/>"):
            assert IRI(made) == made


@given(st.sampled_from([".", "..", "a", "%2E", "./b"]))
def test_a_value_is_no_segment_of_a_relative_name(value: str) -> None:
    head = f"base <http://b.org/x/y/>\n{HEAD}"
    (made,) = links("<c/{@v}>", f"<m v='{value}'/>", head)
    assert made.startswith("http://b.org/x/y/c/")
    assert len(made) > len("http://b.org/x/y/c/")


def faults(rules: str) -> list[str]:
    return [str(fault) for fault in parse_with_faults(rules, "f")[1]]


RULE = "mapping m on message {{/m}} then insert individual {} a :C ."


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("<foo>", "'foo' is not an absolute IRI: expected a scheme such as http:, or 'base <iri>'"),
        ("<foo/{@x}>", "'foo/0' is not an absolute IRI"),
        ("<http://h:x/>", "'http://h:x/' is not an IRI"),
        ("<http://e/%zz>", "'http://e/%zz' is not an IRI"),
        ("<{@b}/x>", "an IRI cannot begin with a hole"),
    ],
)
def test_a_constant_that_is_no_iri_is_found_by_the_check(name: str, fault: str) -> None:
    (found,) = faults(HEAD + RULE.format(name))
    assert found.startswith(f"f:2:50: {fault}")


def test_a_base_makes_the_names_and_prefixes_of_its_file_absolute() -> None:
    head = "base <http://b.org/x/>\nprefix : <#>\n"
    ((subject, _, kind),) = triples(head + RULE.format("<foo>"), "<m/>")
    assert (subject, kind) == ("http://b.org/x/foo", "http://b.org/x/#C")


def test_a_prefix_or_base_that_is_no_iri_is_found_once() -> None:
    assert faults("prefix : <foo>\n" + RULE.format(":i")) == [
        "f:1:8: 'foo' is not an absolute IRI: expected a scheme such as http:, "
        "or 'base <iri>' at the head of the file"
    ]
    assert faults("base <foo>") == [
        "f:1:6: 'foo' is not an absolute IRI: expected a scheme such as http:"
    ]
    assert faults("base <x:y>\nbase <x:z>") == ["f:2:6: base is declared twice"]


def test_a_base_has_no_holes() -> None:
    with pytest.raises(LanguageError, match=r"1:6: a base has no holes"):
        parse("base <http://{@x}>", "f")


def test_the_words_of_declarations_are_still_names_elsewhere() -> None:
    rules = """prefix base: <http://e.org/>
xmlns base = "urn:b"
mapping base on message {/base:m} then insert individual base:base a base:C ."""
    assert triples(rules, "<m xmlns='urn:b'/>")[0][0] == "http://e.org/base"
