"""``/sensorthings/v1.1``: OGC SensorThings API, read side, over history and the window.

Source: OGC 18-088, section 9.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from sensorstream.app.questions.one_time_questions import AskedText
from sensorstream.errors import UnsupportedQuery
from sensorstream.history.asking.checked_question import ALL, read_question
from sensorstream.processes.stopping import Stop
from sensorstream.server.client_questions import ClientQuestions, client_of
from sensorstream.server.operation_routes import App, routed
from sensorstream.server.sensorthings.entity_answers import EntityAnswers, read_path
from sensorstream.server.sensorthings.entity_sets import entity_model
from sensorstream.server.sensorthings.query_options import OPTIONS, read_options

routes = APIRouter(tags=["sensorthings"])
ROOT: Final = "/sensorthings/v1.1"
_CLASS: Final = "http://www.opengis.net/spec/iot_sensing/1.1/req"
_PARAMETERS: Final = [
    {"name": name, "in": "query", "description": told, "schema": {"type": "string"}}
    for name, told in OPTIONS.items()
]


@routed(routes, f"GET {ROOT}", "The entity sets of SensorThings")
def sets(_app: App, request: Request) -> dict[str, Any]:
    """The names and URLs of the entity sets, and what of the standard is there."""
    model, base = entity_model(), _base(request)
    return {
        "value": [{"name": each, "url": f"{base}/{each}"} for each in model.sets],
        "serverSettings": {"conformance": [f"{_CLASS}/{each}" for each in model.conformance]},
    }


@routed(routes, f"GET {ROOT}/{{path:path}}", "Entities of SensorThings", headers=_PARAMETERS)
async def entities(app: App, questions: ClientQuestions, request: Request, path: str) -> Response:
    """An entity, a collection, a property or its `$value`, of what history and the window say."""
    if not path:
        return JSONResponse(sets(app, request))
    base, most = _base(request), app.settings.limits.question_rows

    def answer(stop: Stop) -> Any:
        with app.asking.snapshot(stop) as ask:
            rows = EntityAnswers(lambda text: ask(read_question(text, app.timeline)), base, most)
            return rows.answer(read, options)

    try:
        read, options = read_path(path), read_options(request.query_params.multi_items())
        asked = AskedText("sensorthings", request.url.path, ALL, client_of(request))
        found = await questions.answer(request, asked, answer)
    except UnsupportedQuery as error:
        raise HTTPException(501, error.message) from None
    if found is None:
        return Response(status_code=204)
    return PlainTextResponse(found) if isinstance(found, str) else JSONResponse(found)


def _base(request: Request) -> str:
    return f"{str(request.base_url).rstrip('/')}{ROOT}"
