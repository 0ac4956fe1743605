"""``/soap``: the same as ``POST /messages``, for SOAP clients."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from sensorstream.app.application import Application
from sensorstream.app.waiting import Sender
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import MessageTooLarge, SensorStreamError
from sensorstream.server.access import check_source
from sensorstream.server.answers import outcome_answer
from sensorstream.server.negotiation import media_type_of
from sensorstream.server.problems import problem_of, unexpected
from sensorstream.server.senders import admitted
from sensorstream.server.soap.envelope import (
    Fault,
    Version,
    answer,
    element_of,
    fault,
    read_message,
)

_log = logging.getLogger(__name__)
_WSDL: Final = Path(__file__).with_name("service.wsdl")
_TYPES: Final = {version.media_type: version for version in Version}
_XML: Final = {"schema": {"type": "string", "format": "xml"}}
# A document that comes as text is decoded already: its encoding declaration no longer applies.
_DECLARATION: Final = re.compile(r"\s*<\?xml\s[^>]*\?>")


def router(application: Application, max_message_bytes: int) -> APIRouter:
    """The SOAP endpoint and its WSDL."""
    routes = APIRouter(tags=["messages"])

    @routes.get(
        "/soap",
        summary="The WSDL of the SOAP service",
        response_class=Response,
        responses={200: {"content": {"text/xml": _XML}}},
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

    @routes.post(
        "/soap",
        summary="Post one XML message by SOAP 1.1 or 1.2",
        response_class=Response,
        responses={200: {"content": dict.fromkeys(_TYPES, _XML)}},
        openapi_extra={"requestBody": {"required": True, "content": dict.fromkeys(_TYPES, _XML)}},
    )
    async def call(request: Request) -> Response:
        """Operation `postMessage`; failures are SOAP faults with the problem in their detail."""
        media_type = media_type_of(request.headers.get("content-type", ""))
        if media_type not in _TYPES:
            raise HTTPException(415, f"expected {' or '.join(_TYPES)}, not '{media_type}'")
        version = _TYPES[media_type]
        check_source(request, "soap")
        try:
            version, text = read_message(await request.body(), version)
            outcome = await _take(text, admitted(application, request.scope))
        except Fault as told:
            return _fault_response(told)
        except SensorStreamError as error:
            problem = problem_of(error)
            code = version.sender if problem.status < 500 else version.receiver
            return _fault_response(Fault(version, code, problem))
        except HTTPException:
            raise
        except Exception:
            _log.exception("a SOAP call failed unexpectedly")
            return _fault_response(Fault(version, version.receiver, unexpected()))
        told_as = element_of("postMessageResponse", outcome_answer(outcome, application.timeline))
        return Response(answer(version, told_as), media_type=version.media_type)

    async def _take(text: str, sender: Sender) -> Outcome:
        content = _DECLARATION.sub("", text, count=1).strip().encode()
        if len(content) > max_message_bytes:
            raise MessageTooLarge(
                f"the message holds {len(content)} bytes, the limit is {max_message_bytes}"
            )
        return await asyncio.wrap_future(application.submit(content, "soap", sender))

    return routes


def _fault_response(told: Fault) -> Response:
    # SOAP 1.1, section 6.2: every fault is 500. SOAP 1.2 part 2, 7.5.2.2: Sender is 400.
    status = 400 if told.code == Version.SOAP_12.sender else 500
    return Response(fault(told), status_code=status, media_type=told.version.media_type)
