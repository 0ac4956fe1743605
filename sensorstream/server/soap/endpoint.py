"""``/soap``: the same as ``POST /messages``, for SOAP clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.waiting import Sender
from sensorstream.errors import MessageTooLarge, RepeatedMessage, SensorStreamError
from sensorstream.mapping.document import encoded
from sensorstream.server.access import check_source
from sensorstream.server.addresses import admitted
from sensorstream.server.answers import outcome_answer
from sensorstream.server.idempotency import REPLAYED, again, origin_of
from sensorstream.server.known import App, routed
from sensorstream.server.negotiation import media_type_of, xml_of
from sensorstream.server.problems import http_problem, problem_of, unexpected
from sensorstream.server.soap.envelope import (
    Fault,
    Version,
    answer,
    element_of,
    fault,
    read_request,
)

routes = APIRouter(tags=["messages"])
_log = logging.getLogger(__name__)
_SOURCE: Final = "soap"
_WSDL: Final = Path(__file__).with_name("service.wsdl")
_TYPES: Final = {version.media_type: version for version in Version}
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
    app: Application, text: str, sender: Sender, origin: str
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
    status = 400 if told.code == Version.SOAP_12.sender else 500
    return Response(fault(told), status_code=status, media_type=told.version.media_type)
