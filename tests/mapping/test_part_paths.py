"""Paths in a part of a document: the oracle is the same path in a document of that part alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from sensorstream.errors import NotMovable
from sensorstream.mapping.moved_paths import ROOT, at_part, looks_up

tests = st.sampled_from(["a", "b", "*", "node()", "text()", "div", "and", "n:a"])
inner = st.sampled_from(
    [
        "1",
        "last()",
        "@i",
        "a",
        "position() > 1",
        "/a/@i = @i",
        "count(//b) > 1",
        "b or not(a)",
        "//a[1]",
    ]
)
steps = st.builds(
    lambda axis, test, predicates: axis + test + "".join(f"[{each}]" for each in predicates),
    st.sampled_from(["", "", "", "child::", "descendant::", "self::", "descendant-or-self::"]),
    tests,
    st.lists(inner, max_size=2),
) | st.sampled_from(["@i", "@*", "."])
paths = st.builds(
    lambda start, first, rest: start + first + "".join(rest),
    st.sampled_from(["/", "//", "", ".//"]),
    steps,
    st.lists(st.builds(str.__add__, st.sampled_from(["/", "//"]), steps), max_size=3),
)
expressions = st.one_of(
    paths,
    st.builds("{} | {}".format, paths, paths),
    st.builds("({})[1]".format, paths),
    st.builds("count({}) div 2 * count({})".format, paths, paths),
    st.builds("{} = {} and {}".format, paths, paths, paths),
    st.builds("concat({}, '/a', string({}))".format, paths, paths),
)
trees = st.recursive(
    st.just("x"),
    lambda inside: st.builds(
        lambda name, number, children: f"<{name} i='{number}'>{''.join(children)}</{name}>",
        st.sampled_from(["a", "b", "div", "and", "n:a"]),
        st.integers(1, 3),
        st.lists(inside, max_size=3),
    ),
    max_leaves=8,
)
SPACES = {"n": "urn:n"}


def evaluated(text: str, node: etree._Element, **variables: Any) -> object:
    """What an expression gives, with nodes by their place under the root of the message."""
    root = variables.get(ROOT, node)
    places = {each: number for number, each in enumerate(root.iter())}

    def shown(each: object) -> object:
        if isinstance(each, etree._Element):
            return places[each]
        parent = each.getparent()  # type: ignore[attr-defined]
        return places[parent], str(each), each.attrname, each.is_tail  # type: ignore[attr-defined]

    found = etree.XPath(text, namespaces=SPACES)(node, **variables)
    return [shown(each) for each in found] if isinstance(found, list) else repr(found)


@settings(max_examples=150)
@given(expressions, trees, trees)
def test_a_path_finds_in_a_part_what_it_finds_in_a_document_of_its_own(
    text: str, part: str, other: str
) -> None:
    xml = f"<b xmlns:n='urn:n' i='9'>{other}<a i='1'>{part}</a>{other}</b>"
    within = next(etree.fromstring(xml).iterchildren("a", reversed=True))
    alone = deepcopy(within)
    alone.tail = None
    try:
        moved = at_part(text)
    except NotMovable:
        return
    assert evaluated(moved, within, **{ROOT: within}) == evaluated(text, alone)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/a/b", f"${ROOT}[self::a]/b"),
        ("@i", "@i"),
        ("a/b div div/c", "a/b div div/c"),
        ("'/a'", "'/a'"),
        ("//a", f"${ROOT}/descendant-or-self::a"),
        ("count(/a) > 1 and /b", f"count(${ROOT}[self::a]) > 1 and ${ROOT}[self::b]"),
        ("string(/)", f"string(${ROOT} )"),
    ],
)
def test_only_what_begins_with_a_slash_is_written_anew(text: str, moved: str) -> None:
    assert at_part(text) == moved


@pytest.mark.parametrize("text", ["/.", "//..", "/self::node()", "/descendant-or-self::node()/a"])
def test_a_path_that_needs_the_document_node_is_refused(text: str) -> None:
    with pytest.raises(NotMovable, match="expected /NAME"):
        at_part(text)


@pytest.mark.parametrize(
    "text", ["..", "ancestor::a", "a[../b]", "preceding-sibling::a", "lang('e')"]
)
def test_what_may_leave_the_part_is_known(text: str) -> None:
    assert looks_up(text)


@pytest.mark.parametrize("text", ["a/b", "//a[@i]", "'..'", "parent", "ancestor/a", ". = 1"])
def test_what_stays_in_the_part_is_known(text: str) -> None:
    assert not looks_up(text)
