from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sensorstream.mapping.moved_paths import subpaths


@pytest.mark.parametrize(
    ("expression", "paths"),
    [
        ("@x", ["@x"]),
        ("/a/b[@c='d']", ["/a/b/@c", "/a/b[@c='d']"]),
        ("number($p/@x) >= 50", ["$p/@x"]),
        ("count(//b) > 2 and not(c or d)", ["//b", "c", "d"]),
        ("a and (b)", ["a", "b"]),
        ("concat(a, 'x[y]', q:b/@q:c)", ["a", "q:b/@q:c"]),
        ("a/text()", ["a/text()"]),
        ("ancestor::x/@y", ["ancestor::x/@y"]),
        ("a | /b | .", ["a", "/b", "."]),
        ("a * b", ["a", "b"]),
        ("*/b - *", ["*/b", "*"]),
        ("a[b[c]/d = ../e]/f", ["a/b/c", "a/b[c]/d", "a/../e", "a[b[c]/d = ../e]/f"]),
        ("a[$v/x = /y]", ["$v/x", "/y", "a[$v/x = /y]"]),
        ("(a | b)/c", ["a", "b"]),
        ("(a | b)/c + d", ["a", "b", "d"]),
        ("position() = last()", []),
        ("'a/b'", []),
        ("and div or", ["and", "or"]),
    ],
)
def test_an_expression_looks_at_paths(expression: str, paths: list[str]) -> None:
    assert list(subpaths(expression)) == paths


names = st.sampled_from(["a", "b", "@c", "*", ".", "..", "text()", "and"])


def paths_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    step = st.builds(lambda n, p: f"{n}[{p}]" if p and n[0] not in ".@" else n, names, inner)
    return st.lists(step, min_size=1, max_size=3).map("/".join)


predicates = st.recursive(
    st.sampled_from(["1", "'x'"]),
    lambda inner: st.builds(lambda p, q: f"{p} = {q}", inner, paths_of(inner)),
    max_leaves=3,
)


@given(paths_of(predicates))
def test_a_path_is_among_its_own_paths_and_all_are_xpath(path: str) -> None:
    root = etree.fromstring("<a c='1'><b c='2'>x<a>1</a></b><and/></a>")
    found = subpaths(path)
    results = [root.xpath(each) for each in found]
    assert root.xpath(path) == results[-1]
