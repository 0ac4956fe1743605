from __future__ import annotations

from lxml import etree

from sensorstream.server.soap import element_of


def test_lists_repeat_and_mappings_nest() -> None:
    element = element_of("answer", {"one": 1, "many": ["a", "b"], "none": [], "in": {"x": 0.5}})
    assert [(etree.QName(each).localname, each.text) for each in element.iter()] == [
        ("answer", None),
        ("one", "1"),
        ("many", "a"),
        ("many", "b"),
        ("in", None),
        ("x", "0.5"),
    ]


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    assert (
        element_of("text", "a\x00b\x1fc\td\ufffee😀\ud800").text
        == "a\ufffdb\ufffdc\td\ufffde😀\ufffd"
    )
