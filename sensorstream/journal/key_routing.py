"""The key of an entry of the journal, which names its engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.errors import MessageError, SettingsError

SOURCE: Final = "source"
"""How the settings name the key that is the message's source."""
CONTROL: Final = ""
"""The key of all entries that are not messages. A message's key begins with :data:`_OF_MESSAGE`,
that of an event for a later stage with the name of the stage and this sign."""
_OF_MESSAGE: Final = "="

_MESSAGE: Final = "message"
"""The kind of the entries that are messages."""

_EVENT: Final = "event"
"""The kind of the entries that are events for a later stage; their source is the key."""

TAKEOVERS: Final = ("ontology", "rules")
"""The kinds of entries by which another ontology or other rules take over."""
QUERIES: Final = ("query", "query-end")
"""The kinds of entries by which continuous queries begin and end."""
CONTROLS: Final = (*QUERIES, *TAKEOVERS)
"""The kinds of entries that go to every engine."""
OF_FIRST: Final = (*QUERIES, "rules")
"""The kinds of entries that concern the first engines only, and no later stages."""

TIME: Final = "time"
"""The kind of entry that goes to the engines that wait for it: time has passed."""

TOPIC: Final = "topic"
"""The kind of entry that stands for messages which stay in a topic."""
ASK: Final = "ask"
"""The kind of entry that engines answer: the one of the key that is its source, "": all."""
ANSWERED: Final = timedelta(minutes=10)
"""The age from which on a question is not answered: whoever asked has gone."""

KeyOf: TypeAlias = Callable[[str, str, bytes], str]
"""The key of an entry, from its kind, source and content."""


def stage_name(key: str) -> str:
    """The name of the stage of an engine's key; "": it is one of the first engines."""
    return key.partition(_OF_MESSAGE)[0]


def key_reader(text: str, prefixes: Mapping[str, str], max_depth: int) -> KeyOf:
    """Make the function that gives the key of an entry: its ``source``, or the first result of an
    XPath 1.0 expression, as text. The key of a message that is not well-formed, is nested deeper
    than ``max_depth``, or has no result is the empty text. Raises SettingsError for another text.
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

    def by_path(kind: str, source: str, content: bytes) -> str:
        if kind != _MESSAGE:
            return _by_source(kind, source, content)
        try:
            document = parse_document(content, max_depth=max_depth)
            return _OF_MESSAGE + _text(path(document))
        except (MessageError, etree.XPathError):
            # The engine says what is wrong with it.
            return _OF_MESSAGE

    return by_path


def key_named(name: str, stages: Collection[str]) -> str:
    """The key that a user calls so: of messages, or of one of these stages, as ``stage=value``."""
    stage, sign, _ = name.partition("=")
    return name if sign and stage in stages else _OF_MESSAGE + name


def name_of(key: str) -> str:
    """The name by which a user calls a key."""
    return key.removeprefix(_OF_MESSAGE)


def _by_source(kind: str, source: str, _content: bytes) -> str:
    if kind == _EVENT:
        return source
    return _OF_MESSAGE + source if kind == _MESSAGE else CONTROL


def _text(found: object) -> str:
    if isinstance(found, list):
        found = found[0] if found else ""
    if isinstance(found, etree._Element):  # noqa: SLF001 - lxml gives it no public name
        return "".join(map(str, found.itertext())).strip()
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    return str(found).strip()
