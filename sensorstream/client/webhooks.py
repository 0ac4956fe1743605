"""Requests about webhooks and their deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

from sensorstream.client.calls import Call, json_object


def add(
    url: str,
    secret: str | None,
    queries: Sequence[str],
    format: str | None,
    changes: bool,
    group: Mapping[str, object] | None,
    escalated: bool,
) -> Call[dict[str, Any]]:
    """Register a webhook for alerts, and for the reports of queries."""
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


def all_of_them() -> Call[list[dict[str, Any]]]:
    """All registered webhooks."""
    return Call("GET", "/webhooks", lambda response: list(json_object(response)["webhooks"]))


def one(webhook_id: str) -> Call[dict[str, Any]]:
    """One registered webhook."""
    return Call("GET", _path(webhook_id), json_object)


def delete(webhook_id: str) -> Call[None]:
    """Stop delivering to a webhook."""
    return Call("DELETE", _path(webhook_id), lambda _: None)


def enable(webhook_id: str) -> Call[dict[str, Any]]:
    """Deliver to a disabled webhook again."""
    return Call("POST", _path(webhook_id, "/enable"), json_object)


def rotate(webhook_id: str, secret: str | None) -> Call[dict[str, Any]]:
    """Sign with another secret."""
    return Call("POST", _path(webhook_id, "/secret"), json_object, {"json": {"secret": secret}})


def test(webhook_id: str) -> Call[dict[str, Any]]:
    """Send a test event, and wait for what comes."""
    options = {"timeout": httpx.Timeout(None)}
    return Call("POST", _path(webhook_id, "/test"), json_object, options)


def deliveries(
    webhook_id: str, state: str | None, limit: int, before: int | None
) -> Call[list[dict[str, Any]]]:
    """The newest deliveries below an id, newest first."""
    params: dict[str, object] = {"limit": limit, "state": state, "before": before}
    given = {name: value for name, value in params.items() if value is not None}
    return Call(
        "GET",
        _path(webhook_id, "/deliveries"),
        lambda response: list(json_object(response)["deliveries"]),
        {"params": given},
    )


def recover(webhook_id: str, since: datetime, until: datetime | None) -> Call[int]:
    """Send dead deliveries of a span again."""
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
