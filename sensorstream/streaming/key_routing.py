"""The key of an entry of the journal, which names its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.errors import MessageError, SettingsError

SOURCE: Final = "source"
"""How the settings name the key that is the message's source."""
CONTROL: Final = ""
"""The key of all entries that are not messages. A message's key begins with :data:`_OF_MESSAGE`."""
_OF_MESSAGE: Final = "="

_MESSAGE: Final = "message"
"""The kind of the entries that are messages."""

TAKEOVERS: Final = ("ontology", "rules")
"""The kinds of entries by which another ontology or other rules take over."""
CONTROLS: Final = ("query", "query-end", *TAKEOVERS)
"""The kinds of entries that go to every engine: continuous queries begin and end, or a takeover."""

TIME: Final = "time"
"""The kind of entry that goes to the engines that wait for it: time has passed."""

KeyOf: TypeAlias = Callable[[str, str, bytes], str]
"""The key of an entry, from its kind, source and content."""


def key_reader(text: str, prefixes: Mapping[str, str], max_depth: int) -> KeyOf:
    """Make the function that gives the key of an entry.

    Args:
        text: ``source``, or an XPath 1.0 expression; its first result, as text, is the key. A
            message that is not well-formed, or has no result, has the empty text.
        prefixes: namespaces that the expression may use.
        max_depth: the deepest nesting of elements that is read.

    Raises:
        SettingsError: the text is not such an expression.
    """
    if text == SOURCE:
        return _by_source
    try:
        path = etree.XPath(text, namespaces=dict(prefixes), smart_strings=False)
    except etree.XPathError as error:
        raise SettingsError(
            f"pipeline.key: expected {SOURCE} or an XPath 1.0 expression, not '{text}': {error}"
        ) from None

    # Most deployments have keys that need no document, and then these modules are not needed.
    from sensorstream.mapping.xml_document import parse_document

    def by_path(kind: str, _source: str, content: bytes) -> str:
        if kind != _MESSAGE:
            return CONTROL
        try:
            document = parse_document(content, max_depth=max_depth)
            return _OF_MESSAGE + _text(path(document))
        except (MessageError, etree.XPathError):
            # The engine says what is wrong with it.
            return _OF_MESSAGE

    return by_path


def _by_source(kind: str, source: str, _content: bytes) -> str:
    return _OF_MESSAGE + source if kind == _MESSAGE else CONTROL


def _text(found: object) -> str:
    if isinstance(found, list):
        found = found[0] if found else ""
    if isinstance(found, etree._Element):  # noqa: SLF001 - lxml gives it no public name
        return "".join(map(str, found.itertext())).strip()
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    return str(found).strip()
