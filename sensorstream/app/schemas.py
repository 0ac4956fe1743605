"""Reads the XML Schemas of messages: only files in one folder, never the network."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml import etree

from sensorstream.errors import SettingsError
from sensorstream.mapping.xsd import MessageSchema, MessageSchemas, SchemaFiles
from sensorstream.settings import Settings

_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
_REFERRING: Final = tuple(f"{_XS}{name}" for name in ("include", "import", "redefine"))


def read_schemas(settings: Settings, seconds: float | None = None) -> MessageSchemas | None:
    """The schemas of the settings ``messages.schema`` and ``sources.NAME.schema``, if any.

    ``seconds`` is how long the validation of a message may take; see :class:`.MessageSchema`.

    Raises:
        SettingsError: a file cannot be read, is not an XML Schema 1.0, or refers to a file outside
            its folder.
    """
    common = settings.messages.schema
    by_source = {
        name: _read(f"sources.{name}.schema", source.schema, seconds)
        for name, source in settings.sources.items()
        if source.schema is not None
    }
    if common is None and not by_source:
        return None
    return MessageSchemas(
        None if common is None else _read("messages.schema", common, seconds), by_source
    )


def _read(label: str, path: Path, seconds: float | None) -> MessageSchema:
    path = path.resolve()
    texts: dict[str, bytes] = {}
    _collect(label, path, path.parent, texts)
    try:
        return MessageSchema(SchemaFiles(str(path), texts), seconds)
    except etree.XMLSchemaParseError as error:
        raise SettingsError(f"{label}: {path} is not an XML Schema: {error}") from None


def _collect(label: str, path: Path, folder: Path, texts: dict[str, bytes]) -> None:
    """The texts of a schema and of what it refers to."""
    texts[str(path)] = content = _content(label, path)
    for element in _parse(label, path, content).iter(*_REFERRING):
        location = element.get("schemaLocation")
        if location is None:
            continue
        where = f"{label}: {path}, line {element.sourceline}: '{location}'"
        parts = urlsplit(location)
        target = (path.parent / unquote(parts.path)).resolve()
        if parts.scheme or parts.netloc or not target.is_relative_to(folder):
            raise SettingsError(f"{where} is not a file of the folder {folder}")
        if str(target) not in texts:
            _collect(label, target, folder, texts)


def _content(label: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{label}: cannot read {path}: {error}") from None


def _parse(label: str, path: Path, content: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise SettingsError(f"{label}: {path} is not well-formed XML: {error}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise SettingsError(f"{label}: {path} has a DOCTYPE: expected a plain XML Schema")
    return root
