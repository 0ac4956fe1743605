from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from starlette.exceptions import HTTPException

from sensorstream.server.batches import read_batch

NAMES = st.sampled_from(["a", "b", "p:a", "q:b", "Messages", "p:Messages"])
SPACES = st.sampled_from(["", " xmlns='urn:x'", " xmlns:p='urn:p&amp;x'", " xmlns=''"])
BETWEEN = st.sampled_from(["", " ", "\r\n", "<!-- <a> -->", "<?pi <a/>?>", "x/>", "&lt;&#65;", "é"])
INSIDE = st.one_of(BETWEEN, st.just("<![CDATA[<a/>]]>"), st.just("𝄞"))


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    """The text of an element, whose prefixes p and q are declared by no one or by its parents."""
    name, space = draw(NAMES), draw(SPACES)
    attribute = draw(st.sampled_from(["", " é='&quot;&gt;/>'", "\n p:k='1' ", " "]))
    head = f"<{name}{space}{attribute}"
    if draw(st.booleans()):
        return f"{head}/>"
    parts = [INSIDE] if depth == 1 else [INSIDE, elements(depth=depth - 1)]
    content = draw(st.lists(st.one_of(parts), max_size=3))
    return f"{head}>{''.join(content)}</{name} >"


@given(
    st.lists(st.one_of(BETWEEN.filter(lambda text: text != "x/>"), elements()), max_size=6),
    st.sampled_from(["", "\ufeff", "<?xml version='1.0' encoding='UTF-8'?><!-- x -->"]),
)
def test_each_child_is_the_document_that_it_was(parts: list[str], prolog: str) -> None:
    declared = "xmlns='urn:d' xmlns:p='urn:p' xmlns:q='urn:&apos;&amp;' own='1'"
    body = f"{prolog}<q:Messages {declared}>{''.join(parts)}</q:Messages>\n".encode()
    root = etree.fromstring(body)
    expected = [canonical(each) for each in root.iterchildren(tag=etree.Element)]
    found = read_batch(body, "application/vnd.example+xml; charset=UTF-8")
    assert [canonical(etree.fromstring(each)) for each in found] == expected


def canonical(element: etree._Element) -> bytes:
    copied = etree.fromstring(etree.tostring(element, encoding="utf-8", with_tail=False))
    return bytes(etree.tostring(copied, method="c14n"))


def test_a_message_is_kept_as_it_was_written() -> None:
    body = b"<Messages>\n <A  b = '1'>\t<!-- c -->&#65;</A >\n <B/></Messages>"
    assert read_batch(body, "text/xml") == [b"<A  b = '1'>\t<!-- c -->&#65;</A >", b"<B/>"]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"", 400, "no element found"),
        (b"<Messages><a></Messages>", 400, "line 1"),
        (b"<A/>", 400, "the root is A, expected Messages"),
        (b"<!DOCTYPE Messages><Messages/>", 400, "DOCTYPE"),
        (
            b"<!DOCTYPE Messages [<!ENTITY a 'x'>]><Messages b='&a;'><a>&a;</a></Messages>",
            400,
            "DOCTYPE",
        ),
        ("<Messages/>".encode("utf-16"), 400, "expected UTF-8"),
        ("<Messages/>".encode("utf-16-be"), 400, "expected UTF-8"),
        (b"<?xml version='1.0' encoding='UTF-7'?><Messages/>", 400, "expected UTF-8"),
        (b"<Messages>" + b"<a>" * 1001, 400, "nested"),
        (b"<Messages>" + b"<a/>" * 10_001 + b"</Messages>", 413, "10000"),
        (b"<Messages xmlns='" + b"x" * 4096 + b"'/>", 400, "4096"),
    ],
)
def test_what_is_no_batch_of_xml_is_refused(body: bytes, status: int, told: str) -> None:
    with pytest.raises(HTTPException, match=told) as refused:
        read_batch(body, "application/xml")
    assert refused.value.status_code == status


def test_a_batch_that_is_deep_or_wide_ends_early() -> None:
    for part, told in ((b"<a>", "nested"), (b"<a/>", "10000")):
        with pytest.raises(HTTPException, match=told):
            read_batch(b"<Messages>" + part * 4_000_000, "text/xml")
