"""Reads the XML Schemas of messages: only files in one folder, never the network."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml import etree

from sensorstream.errors import SettingsError
from sensorstream.mapping.xsd import MessageSchemas
from sensorstream.settings import Settings

_XS: Final = "{http://www.w3.org/2001/XMLSchema}"
_REFERRING: Final = tuple(f"{_XS}{name}" for name in ("include", "import", "redefine"))


def read_schemas(settings: Settings) -> MessageSchemas | None:
    """The schemas of the settings ``messages.schema`` and ``sources.NAME.schema``, if any.

    Raises:
        SettingsError: a file cannot be read, is not an XML Schema 1.0, or refers to a file outside
            its folder.
    """
    common = settings.messages.schema
    by_source = {
        name: _read(f"sources.{name}.schema", source.schema)
        for name, source in settings.sources.items()
        if source.schema is not None
    }
    if common is None and not by_source:
        return None
    return MessageSchemas(None if common is None else _read("messages.schema", common), by_source)


def _read(label: str, path: Path) -> etree.XMLSchema:
    path = path.resolve()
    # libxml2 would download every reference in a schema, so references are checked first.
    _check_references(label, path, path.parent, set())
    try:
        return etree.XMLSchema(_parse(label, path))
    except etree.XMLSchemaParseError as error:
        raise SettingsError(f"{label}: {path} is not an XML Schema: {error}") from None


def _check_references(label: str, path: Path, folder: Path, seen: set[Path]) -> None:
    seen.add(path)
    for element in _parse(label, path).iter(*_REFERRING):
        location = element.get("schemaLocation")
        if location is None:
            continue
        where = f"{label}: {path}, line {element.sourceline}: '{location}'"
        parts = urlsplit(location)
        target = (path.parent / unquote(parts.path)).resolve()
        if parts.scheme or parts.netloc or not target.is_relative_to(folder):
            raise SettingsError(f"{where} is not a file of the folder {folder}")
        if target not in seen:
            _check_references(label, target, folder, seen)


def _parse(label: str, path: Path) -> etree._ElementTree:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        document = etree.parse(str(path), parser)
    except OSError as error:
        raise SettingsError(f"{label}: cannot read {path}: {error}") from None
    except etree.XMLSyntaxError as error:
        raise SettingsError(f"{label}: {path} is not well-formed XML: {error}") from None
    if document.docinfo.internalDTD is not None:
        raise SettingsError(f"{label}: {path} has a DOCTYPE: expected a plain XML Schema")
    return document
