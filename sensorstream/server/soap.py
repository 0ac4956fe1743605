"""``/soap``: the same as ``POST /messages``, for SOAP clients; without a library.

Source: SOAP 1.1 (W3C Note, 2000) sections 4 and 6; SOAP 1.2 part 1, section 5.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from fastapi import APIRouter, Request, Response
from lxml import etree
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.life.entry_queue import MessageSender
from sensorstream.errors import MOST, MessageTooLarge, RepeatedMessage, SensorStreamError
from sensorstream.mapping.xml_document import encoded
from sensorstream.model.frozen import frozen
from sensorstream.server.access_rules import check_source
from sensorstream.server.addresses import admitted
from sensorstream.server.idempotency import REPLAYED, again, origin_of
from sensorstream.server.negotiation import media_type_of, xml_of
from sensorstream.server.operation_routes import App, outcome_answer, routed
from sensorstream.server.problems import Problem, http_problem, problem_of, unexpected

NAMESPACE: Final = "urn:sensorstream:soap"
_KEY: Final = f"{{{NAMESPACE}}}idempotencyKey"
_TRUE: Final = ("1", "true")
# XML 1.0, section 2.2: characters a document may not hold.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"


class SoapVersion(Enum):
    """A SOAP version: the namespace of its envelope, and its media type. ``sender`` and
    ``receiver`` are the fault codes for errors of the sender, and of the server.
    """

    SOAP_11 = ("http://schemas.xmlsoap.org/soap/envelope/", "text/xml", "Client", "Server")
    SOAP_12 = (
        *("http://www.w3.org/2003/05/soap-envelope", "application/soap+xml"),
        *("Sender", "Receiver"),
    )

    def __init__(self, namespace: str, media_type: str, sender: str, receiver: str) -> None:
        self.namespace, self.media_type = namespace, media_type
        self.sender, self.receiver = sender, receiver

    def name_of(self, local: str) -> str:
        """A name of the envelope's namespace, in Clark notation."""
        return f"{{{self.namespace}}}{local}"


_OURS: Final = {
    SoapVersion.SOAP_11: ("", "http://schemas.xmlsoap.org/soap/actor/next"),
    SoapVersion.SOAP_12: (
        "",
        f"{SoapVersion.SOAP_12.namespace}/role/next",
        f"{SoapVersion.SOAP_12.namespace}/role/ultimateReceiver",
    ),
}


class Fault(Exception):
    """A request that is answered by a fault. ``code`` is a name of the envelope's namespace."""

    def __init__(
        self, version: SoapVersion, code: str, problem: Problem, not_understood: Sequence[str] = ()
    ) -> None:
        super().__init__(problem.detail)
        self.version = version
        self.code = code
        self.problem = problem
        self.not_understood = not_understood


def _client_problem(detail: str) -> Problem:
    return Problem("soap", "The SOAP request cannot be read", 400, detail)


@frozen
class PostedMessage:
    """A ``postMessage`` request: the message in it, and the idempotency keys of its header."""

    version: SoapVersion
    message: str
    keys: Sequence[str]


def read_request(body: bytes, assumed: SoapVersion) -> PostedMessage:
    """Read an envelope. ``assumed`` is the version of the answer if the body has no readable
    version.

    Raises:
        Fault: the envelope cannot be read, a header must be understood, or the operation is
            unknown.
    """
    envelope = _parse(body, assumed)
    name = etree.QName(envelope)
    version = next((each for each in SoapVersion if each.namespace == name.namespace), None)
    if version is None or name.localname != "Envelope":
        told = f"the root is {name.text}, expected a SOAP 1.1 or 1.2 Envelope"
        raise Fault(SoapVersion.SOAP_11, "VersionMismatch", _client_problem(told))
    _refuse_unknown_headers(envelope, version)
    content = envelope.find(version.name_of("Body"))
    operations = [] if content is None else list(content.iterchildren(tag=etree.Element))
    expected = f"{{{NAMESPACE}}}postMessage"
    if len(operations) != 1 or operations[0].tag != expected:
        found = ", ".join(str(each.tag) for each in operations) or "nothing"
        told = f"the body holds {found}, expected one {expected}"
        raise Fault(version, version.sender, _client_problem(told))
    messages = operations[0].findall(f"{{{NAMESPACE}}}message")
    if len(messages) != 1 or len(messages[0]):
        told = (
            f"expected one {{{NAMESPACE}}}message with an XML document as text:"
            " escaped, or in a CDATA section"
        )
        raise Fault(version, version.sender, _client_problem(told))
    headers = envelope.findall(version.name_of("Header"))
    keys = [str(key.xpath("string()")) for header in headers for key in header.findall(_KEY)]
    return PostedMessage(version, messages[0].text or "", keys)


def answer(version: SoapVersion, content: etree._Element) -> bytes:
    """An envelope around an answer."""
    envelope = etree.Element(version.name_of("Envelope"), nsmap={"soap": version.namespace})
    etree.SubElement(envelope, version.name_of("Body")).append(content)
    return _write(envelope)


def fault(told: Fault) -> bytes:
    """An envelope with a fault; the problem's fields are its detail."""
    version, problem = told.version, told.problem
    envelope = etree.Element(version.name_of("Envelope"), nsmap={"soap": version.namespace})
    if told.not_understood and version is SoapVersion.SOAP_12:
        header = etree.SubElement(envelope, version.name_of("Header"))
        for name in told.not_understood:
            qname = etree.QName(name)
            etree.SubElement(
                header,
                version.name_of("NotUnderstood"),
                nsmap={"h": qname.namespace or ""},
                qname=f"h:{qname.localname}",
            )
    body = etree.SubElement(envelope, version.name_of("Body"))
    element = etree.SubElement(body, version.name_of("Fault"))
    reason = f"{problem.title}: {problem.detail}"
    if version is SoapVersion.SOAP_11:
        etree.SubElement(element, "faultcode").text = f"soap:{told.code}"
        etree.SubElement(element, "faultstring").text = _clean(reason)
        detail = etree.SubElement(element, "detail")
    else:
        code = etree.SubElement(element, version.name_of("Code"))
        etree.SubElement(code, version.name_of("Value")).text = f"soap:{told.code}"
        text = etree.SubElement(
            etree.SubElement(element, version.name_of("Reason")), version.name_of("Text")
        )
        text.set(f"{{{_XML_NAMESPACE}}}lang", "en")
        text.text = _clean(reason)
        detail = etree.SubElement(element, version.name_of("Detail"))
    detail.append(element_of("problem", problem.document()))
    return _write(envelope)


def element_of(name: str, value: object) -> etree._Element:
    """A value as an element of the service's namespace; lists repeat, mappings nest."""
    element = etree.Element(f"{{{NAMESPACE}}}{name}", nsmap={"ss": NAMESPACE})
    if isinstance(value, dict):
        for key, each in value.items():
            for item in each if isinstance(each, list) else [each]:
                element.append(element_of(key, item))
    else:
        element.text = _clean(str(value))
    return element


def _parse(body: bytes, assumed: SoapVersion) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        envelope = etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        problem = _client_problem(f"the request is not well-formed XML: {error}")
        raise Fault(assumed, assumed.sender, problem) from None
    if envelope.getroottree().docinfo.internalDTD is not None:
        problem = _client_problem("a SOAP message may not hold a DOCTYPE")
        raise Fault(assumed, assumed.sender, problem)
    return envelope


def _refuse_unknown_headers(envelope: etree._Element, version: SoapVersion) -> None:
    """Refuse headers but the key that are marked mustUnderstand (SOAP 1.1, 4.2.3; 1.2, 5.2.3)."""
    role = version.name_of("actor" if version is SoapVersion.SOAP_11 else "role")
    unknown = tuple(
        str(block.tag)
        for header in envelope.findall(version.name_of("Header"))
        for block in header.iterchildren(tag=etree.Element)
        if block.tag != _KEY
        and (block.get(version.name_of("mustUnderstand")) or "").strip() in _TRUE
        and (block.get(role) or "") in _OURS[version]
    )
    if unknown:
        problem = _client_problem(f"header not understood: {', '.join(unknown)}")
        raise Fault(version, "MustUnderstand", problem, unknown[:MOST])


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _write(envelope: etree._Element) -> bytes:
    return etree.tostring(envelope, xml_declaration=True, encoding="UTF-8")


routes = APIRouter(tags=["messages"])
_log = logging.getLogger(__name__)
_SOURCE: Final = "soap"
_WSDL: Final = Path(__file__).with_name("service.wsdl")
_TYPES: Final = {version.media_type: version for version in SoapVersion}
_XML: Final = {"schema": {"type": "string", "format": "xml"}}


@routed(
    routes,
    "GET /soap",
    "The WSDL of the SOAP service",
    types={"text/xml": _XML},
    response_class=Response,
    openapi_extra={
        "parameters": [
            {"name": "wsdl", "in": "query", "required": True, "schema": {"type": "string"}}
        ]
    },
)
def wsdl(request: Request) -> Response:
    """Answers at `/soap?wsdl`; the service's address is that of the request."""
    if "wsdl" not in {name.lower() for name in request.query_params}:
        raise HTTPException(404, "the description of the service is at /soap?wsdl")
    address = escape(str(request.url.replace(query="")), {'"': "&quot;"})
    text = _WSDL.read_text(encoding="utf-8").replace("ADDRESS", address)
    return Response(text, media_type="text/xml")


@routed(
    routes,
    "POST /soap",
    "Post one XML message by SOAP 1.1 or 1.2",
    types=dict.fromkeys(_TYPES, _XML),
    body=dict.fromkeys(_TYPES, _XML),
    response_class=Response,
)
async def call(app: App, request: Request) -> Response:
    """Operation `postMessage`; failures are SOAP faults with the problem in their detail.

    An idempotency key stands in the header `Idempotency-Key`, or in the SOAP header
    `idempotencyKey`.
    """
    content_type = request.headers.get("content-type", "")
    media_type = media_type_of(content_type)
    if media_type not in _TYPES:
        raise HTTPException(415, f"expected {' or '.join(_TYPES)}, not '{media_type}'")
    version = _TYPES[media_type]
    check_source(request, _SOURCE)
    try:
        read = read_request(xml_of(await request.body(), content_type), version)
        version = read.version
        try:
            origin = origin_of(request, enclosed=read.keys)
        except HTTPException as error:
            problem = http_problem(error.status_code, error.detail)
            raise Fault(version, version.sender, problem) from None
        told, replayed = await _take(app, read.message, admitted(app, request.scope), origin)
    except Fault as failure:
        return _fault_response(failure)
    except SensorStreamError as error:
        problem = problem_of(error)
        code = version.sender if problem.status < 500 else version.receiver
        return _fault_response(Fault(version, code, problem))
    except HTTPException:
        raise
    except Exception:
        _log.exception("a SOAP call failed unexpectedly")
        return _fault_response(Fault(version, version.receiver, unexpected()))
    content = answer(version, element_of("postMessageResponse", dict(told)))
    return Response(content, headers=REPLAYED if replayed else None, media_type=version.media_type)


async def _take(
    app: Application, text: str, sender: MessageSender, origin: str
) -> tuple[Mapping[str, Any], bool]:
    """The answer, and whether it was given before."""
    content, limit = encoded(text.strip()).strip(), app.settings.server.max_message_bytes
    if len(content) > limit:
        raise MessageTooLarge(f"the message holds {len(content)} bytes, the limit is {limit}")
    entered = app.submit(content, _SOURCE, sender, origin=origin)
    try:
        return outcome_answer(await asyncio.wrap_future(entered), app.timeline), False
    except RepeatedMessage:
        known = await run_in_threadpool(app.messages.of_origins, [origin])
        return again(app, known.get(origin), content, _SOURCE), True


def _fault_response(told: Fault) -> Response:
    # SOAP 1.1, section 6.2: every fault is 500. SOAP 1.2 part 2, 7.5.2.2: Sender is 400.
    status = 400 if told.code == SoapVersion.SOAP_12.sender else 500
    return Response(fault(told), status_code=status, media_type=told.version.media_type)
