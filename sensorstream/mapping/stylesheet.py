"""The reader of stylesheets, which checks them before the first message.

Source: XSLT 1.0 (W3C, 1999). A stylesheet may have one SensorStream element at its top, which
selects its messages: ``<ss:message path="/Message" at="@time"/>``.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

import pyoxigraph as ox
from lxml import etree

from sensorstream.errors import LanguageError, Position
from sensorstream.kb.graph_text import syntax_of
from sensorstream.language.syntax import Hole
from sensorstream.mapping import xpath
from sensorstream.mapping.xml_document import Element
from sensorstream.model.frozen import frozen
from sensorstream.model.rdf_formats import RDF_FORMATS
from sensorstream.model.vocabulary import SENSORSTREAM

_XSL: Final = "http://www.w3.org/1999/XSL/Transform"
_MESSAGE: Final = f"{{{SENSORSTREAM}}}message"
_DECLARED: Final = ("path", "source", "at", "transformation")
_MOST_PREFIXES: Final = 200
_XML: Final = RDF_FORMATS["rdfxml"][0]
_FORMATS: Final = {
    "xml": {"": _XML, _XML: _XML},
    "text": {"": "text/turtle"} | {each: each for each, _ in RDF_FORMATS.values() if each != _XML},
}
"""The media types of RDF by method and ``media-type`` of the output."""
# A message must give the same result each time it is mapped.
_CHANGING: Final = (
    ("http://exslt.org/dates-and-times", r"[\w-]+\(\s*\)", "reads the clock"),
    ("http://exslt.org/math", r"random\(", "makes random numbers"),
    ("http://exslt.org/dynamic", r"[\w-]+\(", "runs text as XPath"),
)
# The text that libxslt prints for every failure, beside the reason.
_NO_REASON: Final = re.compile(r"runtime error|unknown error|XPath evaluation returned no result")


@frozen
class Declaration:
    """``ss:message``: the messages that a stylesheet is for; empty: not given. ``path`` must find
    something, ``source`` must be the source of the message, ``at`` finds the time from there;
    ``transformation`` is an IRI by which messages may ask for the stylesheet.
    """

    path: str = ""
    source: str = ""
    at: str = ""
    transformation: str = ""


@frozen
class StylesheetFailure:
    """The reason why a stylesheet failed on a document, and its line there, if that is known."""

    reason: str
    line: int | None


@frozen
class Stylesheet:
    """A stylesheet that can be run. ``position`` is that of its declaration."""

    file: str
    content: bytes
    transform: etree.XSLT
    format: ox.RdfFormat
    declaration: Declaration
    namespaces: dict[str, str]
    position: Position


def read_stylesheet(content: bytes, file: str) -> Stylesheet:
    """Check and compile a stylesheet; ``file`` names it in errors.

    Raises:
        LanguageError: not XML, not XSLT 1.0, a reference to another file, an XPath that is not
            valid, or a function whose result does not depend on the message alone. It has the line.
    """
    tree = _parse(content, file)
    _check(tree, file)
    etree.clear_error_log()
    # The type stubs of lxml lack access control.
    forbidden = cast(Any, etree.XSLTAccessControl).DENY_ALL
    try:
        transform = etree.XSLT(tree, access_control=forbidden)
    except etree.XSLTParseError as error:
        place = Position(file, _line_of(error) or 1, 1)
        raise LanguageError(f"not XSLT 1.0: {_reason_of(error)}", position=place) from None
    declared = _declared(tree, file)
    element = tree if declared is None else declared
    namespaces = {prefix: uri for prefix, uri in element.nsmap.items() if prefix}
    position = _place(file, element)
    declaration = _declaration(declared, namespaces, position)
    return Stylesheet(
        file, content, transform, _format(tree, file), declaration, namespaces, position
    )


def output_of(transform: etree.XSLT, root: Element) -> bytes | StylesheetFailure:
    """The output of a stylesheet for a document."""
    try:
        return bytes(transform(root))
    except etree.XSLTError as error:
        return StylesheetFailure(_reason_of(error), _line_of(error))


def _parse(content: bytes, file: str) -> Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        tree = etree.fromstring(content, parser, base_url=file)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        reason = (error.msg or "empty").partition(", line")[0]
        place = Position(file, line or 1, max(column, 1))
        raise LanguageError(f"not well-formed XML: {reason}", position=place) from None
    if tree.getroottree().docinfo.internalDTD is not None:
        raise LanguageError(
            "a DOCTYPE is refused: expected namespaces and text written out",
            position=Position(file, 1, 1),
        )
    if tree.tag not in (f"{{{_XSL}}}stylesheet", f"{{{_XSL}}}transform"):
        raise _fault(file, tree, f"{tree.tag} is not a stylesheet: expected xsl:stylesheet")
    return tree


def _check(tree: Element, file: str) -> None:
    if tree.get("version") not in ("1.0", "1.1"):
        raise _fault(file, tree, f"version {tree.get('version')}: expected XSLT 1.0")
    for element in tree.iter(etree.Element):
        name = etree.QName(element)
        if name.namespace == _XSL and name.localname in ("import", "include"):
            raise _fault(file, element, f"xsl:{name.localname}: expected all in one stylesheet")
        prefixes = {prefix: uri for prefix, uri in element.nsmap.items() if prefix}
        if len(prefixes) > _MOST_PREFIXES:
            # Each element is checked with all prefixes in scope.
            raise _fault(file, element, f"more than {_MOST_PREFIXES} prefixes: expected fewer")
        for attribute, written in element.attrib.items():
            text = str(written)
            for prefix, uri in prefixes.items():
                for changing, pattern, why in _CHANGING:
                    found = uri == changing and re.search(rf"\b{prefix}:{pattern}", text)
                    if found:
                        raise _fault(
                            file,
                            element,
                            f"{found.group()}… {why}: expected what the message alone decides",
                        )
            if name.namespace == _XSL and attribute in ("select", "test"):
                try:
                    etree.XPath(text, namespaces=prefixes or None)
                except etree.XPathSyntaxError as error:
                    reason = str(error).lower()
                    raise _fault(
                        file, element, f"'{text[:200]}' is not XPath 1.0: {reason}"
                    ) from None


def _format(tree: Element, file: str) -> ox.RdfFormat:
    output = tree.find(f"{{{_XSL}}}output")
    if output is None:
        return ox.RdfFormat.RDF_XML
    method, media_type = output.get("method", "xml"), output.get("media-type", "")
    found = _FORMATS.get(method, {}).get(media_type)
    if found is None:
        raise _fault(
            file,
            output,
            f"output {method} {media_type}".rstrip()
            + f": expected xml (RDF/XML), or text as {', '.join(filter(None, _FORMATS['text']))}",
        )
    return syntax_of(found)


def _declared(tree: Element, file: str) -> Element | None:
    elements = tree.findall(_MESSAGE)
    if len(elements) > 1:
        raise _fault(file, elements[1], "a second ss:message: expected one")
    for element in elements:
        for attribute in element.attrib:
            if attribute not in _DECLARED:
                listed = ", ".join(_DECLARED)
                raise _fault(file, element, f"ss:message {attribute!s}: expected {listed}")
        return element
    return None


def _declaration(
    element: Element | None, namespaces: dict[str, str], position: Position
) -> Declaration:
    if element is None:
        return Declaration()
    declaration = Declaration(*(element.get(name, "").strip() for name in _DECLARED))
    for name, text in (("path", declaration.path), ("at", declaration.at)):
        hole = Hole(text, position=position)
        for fault in xpath.faults(hole, namespaces, (), nodes=name == "path") if text else ():
            what = fault.message.partition(": expected 'xmlns")[0]
            raise LanguageError(f"ss:message {name}: {what}", position=position)
    return declaration


def _fault(file: str, element: Element, what: str) -> LanguageError:
    return LanguageError(what, position=_place(file, element))


def _place(file: str, element: Element) -> Position:
    line = element.sourceline
    return Position(file, line if isinstance(line, int) else 1, 1)


def _entries(error: etree.XSLTError) -> list[Any]:
    return list(error.error_log)


def _reason_of(error: etree.XSLTError) -> str:
    """The first message of libxslt that is a reason."""
    reasons = [entry.message for entry in _entries(error) if not _NO_REASON.match(entry.message)]
    found = reasons[0] if reasons else str(error)
    if "infinite template recursion" in found:
        return "templates call each other without end"
    return str(found.strip())


def _line_of(error: etree.XSLTError) -> int | None:
    """The line of the stylesheet where it failed."""
    return next((entry.line for entry in _entries(error) if entry.line > 0), None)
