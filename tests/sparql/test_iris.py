from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.sparql.iris import resolve

segments = st.lists(st.sampled_from(["a", "b;c", "..", ".", "x=1", "e:f"]), max_size=5).map(
    "/".join
)
references = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "/", "//h/", "./"]),
    segments,
    st.sampled_from(["", "?q", "?q/../r"]),
    st.sampled_from(["", "#f", "#../f"]),
)


@pytest.mark.parametrize(
    ("reference", "resolved"),
    [
        ("", "http://a/b/c/d;p?q"),
        ("g", "http://a/b/c/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("#", "http://a/b/c/d;p?q#"),
        ("../../../g", "http://a/g"),
        ("urn:x", "urn:x"),
        ("g;x=1/../y", "http://a/b/c/y"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../..", "http://a/"),
    ],
)
def test_relative_iris_are_resolved_as_in_rfc_3986(reference: str, resolved: str) -> None:
    assert resolve("http://a/b/c/d;p?q", reference) == resolved


@given(references)
def test_a_reference_means_what_the_standard_library_makes_of_it(reference: str) -> None:
    for base in ("http://a/b/c/d;p?q", "http://a/b/", "http://a/"):
        assert resolve(base, reference) == urljoin(base, reference)


@pytest.mark.parametrize(
    ("reference", "resolved"),
    [("g", "urn:g"), ("#g", "urn:a:b#g"), ("?g", "urn:a:b?g"), ("x:g", "x:g")],
)
def test_resolution_knows_every_scheme(reference: str, resolved: str) -> None:
    assert resolve("urn:a:b", reference) == resolved
