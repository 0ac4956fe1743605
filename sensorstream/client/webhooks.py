"""Requests about webhooks and their deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

from sensorstream.client.calls import Call, json_object


def add_webhook(
    url: str,
    secret: str | None = None,
    queries: Sequence[str] = (),
    format: str | None = None,
    changes: bool = False,
    group: Mapping[str, object] | None = None,
    escalated: bool = False,
) -> Call[dict[str, Any]]:
    """Deliver alerts, and reports of the named queries, to a URL; the answer has the secret.

    ``format`` is ``cloudevents`` (also by default) or ``alertmanager``. With ``changes`` it is
    told of what becomes of open alerts, too; with ``group`` (``by``, ``wait``, ``interval``) of
    groups of alerts; with ``escalated`` of alerts that have escalated alone.
    """
    body: dict[str, object] = {"url": url, "queries": list(queries)}
    if secret is not None:
        body["secret"] = secret
    if format is not None:
        body["format"] = format
    if changes:
        body["changes"] = True
    if group is not None:
        body["group"] = group
    if escalated:
        body["escalated"] = True
    return Call("POST", "/webhooks", json_object, {"json": body})


def webhooks() -> Call[list[dict[str, Any]]]:
    """All webhooks and how they do, oldest first, without their secrets."""
    return Call("GET", "/webhooks", lambda response: list(json_object(response)["webhooks"]))


def webhook(webhook_id: str) -> Call[dict[str, Any]]:
    """One webhook, without its secret."""
    return Call("GET", _path(webhook_id), json_object)


def delete_webhook(webhook_id: str) -> Call[None]:
    """Stop delivering to a webhook."""
    return Call("DELETE", _path(webhook_id), lambda _: None)


def enable_webhook(webhook_id: str) -> Call[dict[str, Any]]:
    """Deliver again to a webhook that was disabled."""
    return Call("POST", _path(webhook_id, "/enable"), json_object)


def rotate_secret(webhook_id: str, secret: str | None = None) -> Call[dict[str, Any]]:
    """Sign with another secret, which the answer has; for a day the old one signs too."""
    return Call("POST", _path(webhook_id, "/secret"), json_object, {"json": {"secret": secret}})


def test_webhook(webhook_id: str) -> Call[dict[str, Any]]:
    """Send a test event to a webhook; what came of it."""
    options = {"timeout": httpx.Timeout(None)}
    return Call("POST", _path(webhook_id, "/test"), json_object, options)


def deliveries(
    webhook_id: str,
    state: str | None = None,
    limit: int = 100,
    before: int | None = None,
) -> Call[list[dict[str, Any]]]:
    """The newest deliveries of a webhook, newest first, with an id below ``before``.

    ``state`` is ``pending``, ``delivered`` or ``dead``; None: all.
    """
    params: dict[str, object] = {"limit": limit, "state": state, "before": before}
    given = {name: value for name, value in params.items() if value is not None}
    return Call(
        "GET",
        _path(webhook_id, "/deliveries"),
        lambda response: list(json_object(response)["deliveries"]),
        {"params": given},
    )


def recover(webhook_id: str, since: datetime, until: datetime | None = None) -> Call[int]:
    """Send all dead deliveries of what was raised in a span again; how many there are."""
    params = {"since": since.isoformat()} | ({} if until is None else {"until": until.isoformat()})
    return Call(
        "POST",
        _path(webhook_id, "/recover"),
        lambda response: int(json_object(response)["recovered"]),
        {"params": params},
    )


def resend(delivery_id: int) -> Call[dict[str, Any]]:
    """Send one delivery again."""
    return Call("POST", f"/deliveries/{delivery_id}/resend", json_object)


def _path(webhook_id: str, rest: str = "") -> str:
    return f"/webhooks/{quote(webhook_id, safe='')}{rest}"
