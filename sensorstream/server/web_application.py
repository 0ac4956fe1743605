"""The web application: all resources over one :class:`Application`."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.app.application import Application
from sensorstream.server import problems, soap
from sensorstream.server.access_rules import refused_method, security_of
from sensorstream.server.client_questions import QuestionTurns
from sensorstream.server.console_proxy import PATH
from sensorstream.server.door import Door
from sensorstream.server.negotiation import tagged
from sensorstream.server.rest import (
    alerts_routes,
    health_routes,
    jobs_routes,
    messages_routes,
    quarantine_routes,
    queries_routes,
    questions_routes,
    rules_routes,
    sensorthings_routes,
    versioned_routes,
    webhooks_routes,
    why_routes,
    window_routes,
)
from sensorstream.settings.settings_file import GivenSetting

_SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'"
)
_WATCHING = 2
"""Threads for those who ask how the server does: no other request can take them."""
_ROUTES = (
    messages_routes.routes,
    soap.routes,
    questions_routes.routes,
    questions_routes.sql_routes,
    jobs_routes.routes,
    alerts_routes.routes,
    why_routes.routes,
    webhooks_routes.routes,
    window_routes.routes,
    versioned_routes.routes,
    rules_routes.routes,
    quarantine_routes.routes,
    queries_routes.routes,
    sensorthings_routes.routes,
    health_routes.routes,
)
_PROBLEM = {
    "description": "Any failure: a problem document (RFC 9457)",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
}


class _Api(FastAPI):
    issuer = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Events of a life cycle, and all else that is no request, bypass the middleware.
        # FastAPI's own looks for a telemetry of the process, which there is not, at each request.
        if scope["type"] == "http":
            await Starlette.__call__(self, scope, receive, send)
        else:
            await self.router(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The description of every resource, the problem document included."""
        if self.openapi_schema is None:
            document = super().openapi()
            schema = problems.ProblemBody.model_json_schema(
                ref_template="#/components/schemas/{model}"
            )
            parts = schema.pop("$defs", {})
            document["components"]["schemas"].update({"ProblemBody": schema, **parts})
            stream = document["paths"]["/alerts/stream"]["get"]["responses"]["200"]["content"]
            # FastAPI describes the events in words that OpenAPI has since 3.2.
            stream["text/event-stream"] = {"schema": {"type": "string"}}
            security_of(document, self.issuer)
            self.openapi_schema = document
        return self.openapi_schema


def _policy_of(page: str) -> str:
    """A Content-Security-Policy by which only the scripts that stand in a page now may run."""
    hashes = [
        f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'"
        for each in _SCRIPT.findall(page)
    ]
    return _POLICY + " ".join(("; script-src 'self'", *hashes))


def create_app(
    application: Application,
    host: str | None = None,
    console: ASGIApp | None = None,
    given: Sequence[GivenSetting] = (),
) -> FastAPI:
    """Make the ASGI application; the caller opens and closes ``application``. ``host`` is the
    address it listens on; by default server.host of the settings. ``console`` has the pages of
    :data:`.console.PATH`; ``given`` says where the settings come from.
    """
    app = _Api(
        title="SensorStream",
        version=version("sensorstream"),
        summary="XML sensor messages become knowledge, alerts and history",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: "_".join((*map(str, route.tags[:1]), route.name)),
        responses={"default": _PROBLEM},
    )
    app.issuer = application.settings.http.issuer
    app.state.application = application
    app.state.questions = QuestionTurns(application)
    app.state.given = given
    app.state.threads = CapacityLimiter(_WATCHING)
    application.health.watch(app.state.questions.parts)
    problems.install(app, refused_method)
    app.state.door = Door(application, host or application.settings.server.host)
    app.add_middleware(app.state.door.around)
    for routes in _ROUTES:
        app.include_router(routes)
    _add_pages(app, console)
    return app


def _add_pages(app: FastAPI, console: ASGIApp | None) -> None:
    """Add the document of the API, as JSON and as a page, and the console."""
    # The page's script and style come with a wheel: the server may have no access to a CDN.
    app.mount("/assets", StaticFiles(packages=[("fastapi_offline", "static")]))

    @app.get("/openapi.json", include_in_schema=False)
    def description(request: Request) -> Response:
        content = json.dumps(app.openapi(), ensure_ascii=False).encode()
        return tagged(Response(content, media_type="application/json"), request)

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title="SensorStream",
            swagger_js_url="/assets/swagger-ui-bundle.js",
            swagger_css_url="/assets/swagger-ui.css",
            swagger_favicon_url="/assets/favicon.png",
        )
        page.headers["Content-Security-Policy"] = _policy_of(bytes(page.body).decode())
        return page

    @app.get("/", include_in_schema=False)
    def index() -> RedirectResponse:
        return RedirectResponse("/docs" if console is None else f"{PATH}/")

    if console is not None:
        app.mount(PATH, console)
