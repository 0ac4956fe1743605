"""Parses bytes to an XML tree, without external access and without entity expansion."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.errors import MalformedMessage

# lxml gives its classes no public names.
Element: TypeAlias = etree._Element  # noqa: SLF001
Document: TypeAlias = etree._ElementTree  # noqa: SLF001

FEW: Final = 4
"""So many names or children are compared faster one by one than found by their names."""

# A DOCTYPE comes before the document element, after processing instructions and comments.
_DOCTYPE: Final = re.compile(r"\ufeff?(?>\s|<\?(?>.*?\?>)|<!--(?>.*?-->))*+<!DOCTYPE", re.S)
# The beginnings of documents that do not contain ASCII (XML 1.0, appendix F).
_ENCODINGS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARATION: Final = re.compile(r"\A\ufeff?<\?xml\s[^>]*\?>")
_LAST_PLACE: Final = re.compile(r",? line \d+, column \d+$")


def parse_document(content: bytes, *, max_depth: int) -> Document:
    """The XML document of a message, without comments and processing instructions. Elements may be
    nested ``max_depth`` deep (the root is 1 deep; libxml2 itself allows 256).

    Raises:
        MalformedMessage: not well-formed (with line and column), too deep, or with a DOCTYPE (which
            could define entities; messages need none).
    """
    # Once before parsing, which expands entities in attributes; and again after it, for encodings
    # that are none of Unicode's and do not contain ASCII.
    if _has_doctype(content):
        raise _doctype()
    try:
        root = etree.fromstring(content, _parser())
    except etree.XMLSyntaxError as error:
        raise _malformed(error) from None
    document = root.getroottree()
    if document.docinfo.internalDTD is not None:
        raise _doctype()
    # A document cannot be deeper than its number of tags.
    if not content.startswith(b"<") or content.count(b"<") > max_depth:
        _check_depth(root, max_depth)
    return document


def encoded(text: str) -> bytes:
    """A document that came as text, in UTF-8; the encoding that it declares no longer applies."""
    return _DECLARATION.sub("", text, count=1).encode(errors="replace")


def written_name(name: str | bytes, namespaces: Mapping[str, str]) -> str:
    """A name of lxml, ``{uri}local``, as in XPath if its namespace has a prefix."""
    qualified = etree.QName(name)
    prefixes = (prefix for prefix, uri in namespaces.items() if uri == qualified.namespace)
    prefix = next(prefixes, None)
    return str(name) if prefix is None else f"{prefix}:{qualified.localname}"


def _has_doctype(content: bytes) -> bool:
    """Whether a DOCTYPE is at its place; in a comment or a CDATA section it is text."""
    # Nearly all messages begin with two characters of ASCII.
    encoding = "latin-1"
    if not content[:2].isascii() or b"\0" in content[:2]:
        begun = (name for start, name in _ENCODINGS if content.startswith(start))
        encoding = next(begun, encoding)
    if encoding == "latin-1":
        if b"<!DOCTYPE" not in content:
            return False
        content = content.removeprefix(codecs.BOM_UTF8)
    return _DOCTYPE.match(content.decode(encoding, "replace")) is not None


@cache
def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def _doctype() -> MalformedMessage:
    return MalformedMessage("the message has a DOCTYPE, which is refused: expected plain XML")


def _malformed(error: etree.XMLSyntaxError) -> MalformedMessage:
    line, column = error.position
    reason = _LAST_PLACE.sub("", error.msg or "no XML at all")
    return MalformedMessage(f"not well-formed XML at line {line}, column {column}: {reason}")


def _check_depth(root: Element, max_depth: int) -> None:
    level, depth = [root], 1
    while level:
        if depth > max_depth:
            raise MalformedMessage(
                f"the message nests elements deeper than {max_depth}, at line "
                f"{level[0].sourceline}: expected a flatter document or a higher max_depth"
            )
        level = [child for element in level for child in element]
        depth += 1
