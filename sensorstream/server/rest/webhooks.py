"""``/webhooks``: receivers of alerts and of reports of continuous queries."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from sensorstream.access.roles import Role
from sensorstream.alerts.records import Webhook
from sensorstream.alerts.targets import place_of
from sensorstream.app.application import Application
from sensorstream.errors import UnknownWebhook
from sensorstream.server.access import user_of


class NewWebhookBody(BaseModel):
    """A receiver to register; without a secret one is made."""

    url: str = Field(max_length=2000, examples=["https://hooks.example.org/sensorstream"])
    secret: str | None = Field(
        default=None, description="`whsec_` and base64 of 24 to 64 random bytes"
    )
    queries: list[str] = Field(
        default=[],
        max_length=1000,
        description="names of continuous queries whose reports are delivered too",
    )


class WebhookBody(BaseModel):
    """A registered webhook."""

    id: str
    url: str = Field(description="scheme and host alone for who may not register webhooks")
    created_at: datetime
    queries: list[str]


class RegisteredBody(WebhookBody):
    """A webhook just registered: the only answer that holds the secret."""

    secret: str


class WebhooksBody(BaseModel):
    """All registered webhooks, oldest first."""

    webhooks: list[WebhookBody]


def router(application: Application) -> APIRouter:
    """The webhooks resource."""
    routes = APIRouter(prefix="/webhooks", tags=["webhooks"])

    @routes.post(
        "",
        summary="Register a webhook",
        status_code=201,
        responses={201: {"model": RegisteredBody}},
    )
    def register(body: NewWebhookBody, request: Request) -> JSONResponse:
        """Deliver the alerts raised from now on to a URL, and reports of the named queries."""
        webhook = application.register_webhook(body.url, body.secret, body.queries)
        told = {**_body(webhook, request).model_dump(mode="json"), "secret": webhook.secret}
        headers = {"Location": f"/webhooks/{webhook.id}", "Cache-Control": "no-store"}
        return JSONResponse(told, status_code=201, headers=headers)

    @routes.get("", summary="List webhooks")
    def list_webhooks(request: Request) -> WebhooksBody:
        """All registered webhooks, without their secrets."""
        return WebhooksBody(webhooks=[_body(each, request) for each in application.webhooks()])

    @routes.get("/{webhook_id}", summary="Look up a webhook")
    def get_webhook(webhook_id: str, request: Request) -> WebhookBody:
        """One registered webhook."""
        for webhook in application.webhooks():
            if webhook.id == webhook_id:
                return _body(webhook, request)
        raise _unknown(webhook_id)

    @routes.delete("/{webhook_id}", summary="Remove a webhook", status_code=204)
    def delete_webhook(webhook_id: str) -> Response:
        """Stop delivering to a webhook; pending deliveries are dropped."""
        if not application.delete_webhook(webhook_id):
            raise _unknown(webhook_id)
        return Response(status_code=204)

    return routes


def _body(webhook: Webhook, request: Request) -> WebhookBody:
    whole = Role.ADMIN in user_of(request).roles
    return WebhookBody(
        id=webhook.id,
        url=webhook.url if whole else place_of(webhook.url),
        created_at=webhook.created_at,
        queries=list(webhook.queries),
    )


def _unknown(webhook_id: str) -> UnknownWebhook:
    return UnknownWebhook(f"there is no webhook '{webhook_id}'")
