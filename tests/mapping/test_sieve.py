"""The sieve lets every rule through that matches, and few others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from sensorstream.mapping.sieve import Mark, Sieve

NAMESPACES = {"m": "urn:m", "n": "urn:n"}

names = st.sampled_from(["a", "b", "m:a", "n:b"])
attributes = st.sampled_from(["k", "m:k"])
values = st.sampled_from(["x", "y", "", "x y"])


@dataclass(frozen=True)
class Rule:
    path: str

    @property
    def mark(self) -> Mark | None:
        return Mark.of(self.path, NAMESPACES)


@st.composite
def paths(draw: st.DrawFn) -> str:
    steps = "".join(f"/{name}" for name in draw(st.lists(names, min_size=1, max_size=3)))
    attribute, value = draw(attributes), draw(values)
    end = draw(
        st.sampled_from(
            [
                "",
                f"[@{attribute}='{value}']",
                f'[ @{attribute} = "{value}" ]',
                f"[@{attribute}!='{value}']",
                f"[@{attribute}]",
                "[1]",
                f"[@{attribute}='{value}'][1]",
                f"[@{attribute}='{value}' or @k='y']",
                f"[@{attribute}='{value}']/b",
                f"[@{attribute}='{value}'] | /a",
                f"/@{attribute}",
            ]
        )
    )
    return draw(st.sampled_from([f"{steps}{end}", f"/{steps}{end}", f"{steps} | //b"]))


alike = st.builds("/a/b[@k='{}']".format, values) | st.builds("/a[@m:k='{}']".format, values)
"""Rules that only a value tells apart."""


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> etree._Element:
    def expanded(name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return f"{{{NAMESPACES[prefix]}}}{local}" if prefix else local

    element = etree.Element(expanded(draw(names)))
    for name, value in draw(st.dictionaries(attributes, values, max_size=2)).items():
        element.set(expanded(name), value)
    if depth:
        for child in draw(st.lists(elements(depth=depth - 1), max_size=2)):
            element.append(child)
    return element


@settings(deadline=None)
@given(rules=st.lists(paths() | alike, max_size=12), root=elements())
def test_no_rule_that_matches_is_left_out_and_the_order_stays(
    rules: list[str], root: etree._Element
) -> None:
    known = [Rule(path) for path in rules]
    found = Sieve(known).may_match(root)
    matching = [rule for rule in known if root.xpath(rule.path, namespaces=NAMESPACES)]
    left = iter(found)
    assert all(any(rule is each for each in left) for rule in matching)
    places = [next(n for n, rule in enumerate(known) if rule is each) for each in found]
    assert places == sorted(set(places))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/Message", Mark("Message")),
        ("/m:Message/Event", Mark("{urn:m}Message")),
        ("/Message[@type='a']", Mark("Message", (), "type", "a")),
        (
            '/Message/m:Event/Tracker[@m:type = "it\'s"]',
            Mark("Message", ("{urn:m}Event", "Tracker"), "{urn:m}type", "it's"),
        ),
        ("/Message[@a='b' and @c='d']", Mark("Message")),
        ("/Message[@a='b']/x", Mark("Message")),
        ("//Message", None),
        ("/*", None),
        ("/Message | /Other", None),
        ("/child::Message", None),
        ("Message", None),
    ],
)
def test_a_mark_is_read_off_a_plain_path_only(path: str, expected: Mark | None) -> None:
    assert Mark.of(path, NAMESPACES) == expected


def test_rules_for_other_values_are_left_out() -> None:
    rules = [Rule(f"/M/T[@type='{number}']") for number in range(100)]
    root = etree.fromstring("<M><T type='7'/><T/><T type='3'/></M>")
    assert [rule.path for rule in Sieve(rules).may_match(root)] == [
        "/M/T[@type='3']",
        "/M/T[@type='7']",
    ]
