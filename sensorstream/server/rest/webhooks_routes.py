"""``/webhooks``: receivers of alerts and of reports of continuous queries; their deliveries."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator
from pydantic.dataclasses import dataclass

from sensorstream.access.roles import Role
from sensorstream.alerts.alert_records import DeliveryState, LoggedDelivery, Webhook, WebhookState
from sensorstream.alerts.targets import place_of
from sensorstream.app.control.versions import digest_of
from sensorstream.client.operations import Operations
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.server.access_rules import user_of
from sensorstream.server.operation_routes import (
    ASKED,
    TOLD,
    App,
    AskedBody,
    Moment,
    next_page,
    routed,
    storable,
)
from sensorstream.server.rest.versioned_routes import (
    IF_MATCH,
    By,
    DryRun,
    FaultBody,
    WantedChange,
    add_versions,
    fault_bodies,
)

routes = APIRouter(tags=["webhooks"])
_SECRET = "`whsec_` and base64 of 24 to 64 random bytes"
_LARGEST = 2**63 - 1


@dataclass(frozen=True, config=ASKED)
class DefinitionBody(WebhookDefinition):
    """The definition of a webhook; the server makes its secret, which is never a part of it."""

    _storable = field_validator("*")(storable)


@dataclass(frozen=True, config=ASKED)
class NewWebhookBody(DefinitionBody):
    """A receiver to register; without a secret one is made."""

    secret: str | None = Field(default=None, description=_SECRET)


class WebhookTriedBody(BaseModel):
    """Nothing was put, and nothing sent: what speaks against it, and which queries do not run."""

    faults: list[FaultBody]
    absent: list[str] = Field(description="names of queries that do not run now")


@dataclass(frozen=True, kw_only=True, config=TOLD)
class WebhookBody(WebhookDefinition):
    """A registered webhook; all attempts have failed since ``failing_since``."""

    id: str
    url: str = Field(description="scheme and host alone for who may not register webhooks")
    created_at: datetime
    enabled: bool
    disabled_at: datetime | None
    failing_since: datetime | None
    last_delivery: LoggedDelivery | None
    digest: str = Field(description="the ETag of its definition, for If-Match")


@dataclass(frozen=True, kw_only=True, config=TOLD)
class RegisteredBody(WebhookBody):
    """A webhook just registered: the only answer that holds the secret."""

    secret: str


class WebhooksBody(BaseModel):
    """All registered webhooks, oldest first."""

    webhooks: list[WebhookBody]


class NewSecretBody(AskedBody):
    """Another secret; without one it is made."""

    secret: str | None = Field(default=None, description=_SECRET)


class SecretBody(BaseModel):
    """The new secret, told only once; until ``old_until`` the old one signs, too."""

    secret: str
    old_until: datetime


class TestedBody(BaseModel):
    """The result of a test event; ``delivered`` if the receiver took it."""

    delivered: bool
    seconds: float
    status: int | None
    answer: str
    error: str | None


class DeliveriesBody(BaseModel):
    """A page of deliveries, newest first; ``next`` is the path of the page before, if any."""

    deliveries: list[LoggedDelivery]
    next: str | None


class RecoveredBody(BaseModel):
    """The number of dead deliveries that are sent again."""

    recovered: int


@routed(routes, Operations.add_webhook, "Register a webhook", RegisteredBody, status_code=201)
def register(app: App, body: NewWebhookBody, request: Request, by: By) -> JSONResponse:
    """Deliver the alerts raised from now on to a URL, and reports of the named queries."""
    return _registered(app.webhooks.register(body, body.secret, by), request)


@routed(routes, Operations.webhooks, "List webhooks")
def list_webhooks(app: App, request: Request) -> WebhooksBody:
    """All registered webhooks, without their secrets."""
    return WebhooksBody(webhooks=[_body(each, request) for each in app.webhooks.all()])


@routed(routes, Operations.webhook, "Look up a webhook")
def get_webhook(app: App, webhook_id: str, request: Request, response: Response) -> WebhookBody:
    """One registered webhook; the ETag is that of its definition."""
    found = _body(app.webhooks.one(webhook_id), request)
    response.headers["ETag"] = f'"{found.digest}"'
    return found


@routed(
    routes,
    "PUT /webhooks/{webhook_id}",
    "Put a webhook",
    response_model=WebhookBody | WebhookTriedBody,
    responses={201: {"model": RegisteredBody}},
    headers=IF_MATCH,
)
def put_webhook(
    app: App,
    webhook_id: str,
    body: DefinitionBody,
    request: Request,
    by: By,
    match: WantedChange,
    dry_run: DryRun = None,
) -> WebhookBody | WebhookTriedBody | JSONResponse:
    """Register a webhook by this id (201, with its secret), or change the one that has it."""
    if dry_run is not None:
        fault = app.webhooks.try_put(webhook_id, body)
        views = (each for each in app.queries.views() if not each.stopped)
        running = {each.name.removeprefix(each.stage and f"{each.stage}=") for each in views}
        return WebhookTriedBody(
            faults=fault_bodies([] if fault is None else [fault]),
            absent=[each for each in body.queries if each not in running],
        )
    made = app.webhooks.put(webhook_id, body, by, match)
    if made is not None:
        return _registered(made, request)
    return _body(app.webhooks.one(webhook_id), request)


@routed(
    routes, Operations.delete_webhook, "Remove a webhook", status_code=204, headers=IF_MATCH[:1]
)
def delete_webhook(app: App, webhook_id: str, by: By, match: WantedChange) -> None:
    """Stop delivering to a webhook; its deliveries are dropped."""
    app.webhooks.delete(webhook_id, by, match)


async def _id(webhook_id: str) -> str:
    return webhook_id


add_versions(
    routes,
    "/webhooks/{webhook_id}",
    "a webhook",
    lambda app, name: (app.webhooks.versions, name),
    _id,
    ("Oldest first.", "The definition that a change has put, which can be put again."),
    {"model": DefinitionBody},
)


@routed(routes, Operations.enable_webhook, "Enable a webhook")
def enable_webhook(app: App, webhook_id: str, request: Request) -> WebhookBody:
    """Deliver again to a webhook that was disabled, and what waits for it first."""
    return _body(app.webhooks.enable(webhook_id), request)


@routed(routes, Operations.rotate_secret, "Rotate a webhook's secret", SecretBody)
def rotate_secret(app: App, webhook_id: str, body: NewSecretBody | None = None) -> JSONResponse:
    """Sign with another secret; for a day the old one signs too."""
    secret, until = app.webhooks.rotate(webhook_id, None if body is None else body.secret)
    told = SecretBody(secret=secret, old_until=until).model_dump(mode="json")
    return JSONResponse(told, headers={"Cache-Control": "no-store"})


@routed(routes, Operations.test_webhook, "Test a webhook")
async def test_webhook(app: App, webhook_id: str) -> TestedBody:
    """Send a test event now, once, and tell what came; also to a disabled webhook."""
    sent = await run_in_threadpool(app.webhooks.test, webhook_id)
    attempt = await asyncio.wrap_future(sent)
    return TestedBody(
        delivered=attempt.failure is None,
        seconds=attempt.seconds,
        status=attempt.status,
        answer=attempt.answer,
        error=None if attempt.failure is None else attempt.failure.reason,
    )


@routed(routes, Operations.deliveries, "List deliveries")
def list_deliveries(
    app: App,
    webhook_id: str,
    state: DeliveryState | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[
        int | None, Query(ge=0, le=_LARGEST, description="`id` of the page's last one")
    ] = None,
) -> DeliveriesBody:
    """The deliveries of a webhook, newest first; of the delivered, the newest of a week."""
    found = app.webhooks.log(webhook_id, state, limit, before)
    path, last = f"/webhooks/{webhook_id}/deliveries", found[-1].id if found else None
    following = next_page(path, found, limit, limit=limit, before=last, state=state)
    return DeliveriesBody(deliveries=list(found), next=following)


@routed(routes, Operations.recover, "Send dead deliveries again")
def recover(
    app: App,
    webhook_id: str,
    since: Annotated[Moment, Query(description="what was raised from then on")],
    until: Annotated[Moment | None, Query(description="and before; or now")] = None,
) -> RecoveredBody:
    """Send all dead deliveries of a webhook again whose alert or report is of a span."""
    return RecoveredBody(recovered=app.webhooks.recover(webhook_id, since, until))


@routed(routes, Operations.resend, "Send a delivery again", status_code=202)
def resend(app: App, delivery_id: Annotated[int, Path(ge=0, le=_LARGEST)]) -> LoggedDelivery:
    """Send one delivery as soon as possible, whatever became of it before."""
    return app.webhooks.resend(delivery_id)


def _registered(webhook: Webhook, request: Request) -> JSONResponse:
    body = _body(WebhookState(webhook), request)
    known = {each.name: getattr(body, each.name) for each in fields(body)}
    told = RegisteredBody(secret=webhook.secret, **known)
    headers = {"Location": f"/webhooks/{webhook.id}", "Cache-Control": "no-store"}
    return JSONResponse(jsonable_encoder(told), status_code=201, headers=headers)


def _body(state: WebhookState, request: Request) -> WebhookBody:
    webhook = state.webhook
    whole = Role.ADMIN in user_of(request).roles
    told = {each.name: getattr(webhook, each.name) for each in fields(WebhookDefinition)}
    return WebhookBody(
        **{**told, "url": webhook.url if whole else place_of(webhook.url)},
        id=webhook.id,
        created_at=webhook.created_at,
        enabled=state.disabled_at is None,
        disabled_at=state.disabled_at,
        failing_since=state.failing_since,
        last_delivery=state.last,
        digest=digest_of(webhook.definition.text()),
    )
