"""Whatever the message: its draft is checked without faults, and maps every value."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lxml import etree

from sensorstream.app.control.file_faults import faults
from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli.init_command import make_from
from sensorstream.mapping.xml_document import Element, parse_document
from sensorstream.model.events import Message
from sensorstream.model.terms import Literal
from sensorstream.settings.settings_file import load_settings

LOCALS = (
    *("a", "b", "item", "id", "ID", "value", "text", "partOf", "time", "Ref", "name", "x.y", "x-y"),
    *("div", "and", "mod", "mapping", "then", "insert", "_1", "_", "Über", "名", "a\u0301b", "a.1"),
    *("for", "message", "or", "count", "A"),
)
SPACES = ("", "", "urn:x", "http://example.org/it's#")
VALUES = st.sampled_from(
    (
        *("7", "007", "-3", "1e3", "2.50", "true", "1", "no", "2024-05-01T10:00:00Z", "2024-05-01"),
        *("2024-13-01", "ä ö", ' "q" \\ {x} ', "#", "<&>", "\u00a0", "  ", "", "9" * 30, "a\nb"),
        *("2024-05-01T25:00:00Z", "+5", "\u2028", "x" * 300),
    )
)
TAGS = st.builds(
    lambda space, local: f"{{{space}}}{local}" if space else local,
    st.sampled_from(SPACES),
    st.sampled_from(LOCALS),
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 4) -> Element:
    element = etree.Element(draw(TAGS), nsmap={"p": "urn:x"} if draw(st.booleans()) else None)
    for name, value in draw(st.dictionaries(TAGS, VALUES, max_size=3)).items():
        element.set(name, value)
    if draw(st.integers(0, 9)) == 0:
        element.set("{http://www.w3.org/XML/1998/namespace}lang", "en")
    element.text = draw(VALUES)
    children = draw(st.lists(elements(depth - 1), max_size=3)) if depth else []
    for child in children:
        child.tail = draw(VALUES)
        element.append(child)
        if draw(st.booleans()):
            # Again, so that there are kinds with several elements.
            element.append(deepcopy(child))
    return element


def values(root: Element) -> Iterator[str]:
    """Every value of a message: attributes, and the texts between tags."""
    for element in root.iter():
        yield from (str(value) for value in element.attrib.values())
        yield from (text for text in (element.text, element.tail) if text)


def mapped_values(content: bytes, folder: Path) -> tuple[set[str], list[str]]:
    """The values that a draft for the message maps, and what it leaves out."""
    sample = folder / "sample.xml"
    sample.write_bytes(content)
    config, told = make_from(folder / "made", [sample])
    left_out = [each for each in told if each.startswith("left out")]
    read = load_settings(config, {})
    assert list(faults(read)) == []
    document = parse_document(content, max_depth=64)
    mapped = read_deployment(read).mapping.apply(document, Message("m1", content, 0, "rest"))
    assert mapped.matched
    assert mapped.warnings == ()
    triples = [triple for event in mapped.events for triple in event.triples]
    return {o.lexical for _, _, o in triples if isinstance(o, Literal)}, left_out


@settings(
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(elements())
def test_every_value_of_a_message_is_mapped(root: Element) -> None:
    content = etree.tostring(root, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = mapped_values(content, Path(folder))
    expected = {text.strip() for text in values(etree.fromstring(content))} - {""}
    assert left_out == []
    assert expected <= found
