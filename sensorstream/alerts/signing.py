"""Signatures that receivers can check (Standard Webhooks 1.0.0, symmetric ``v1`` scheme)."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from standardwebhooks import Webhook as Signer

from sensorstream.alerts.alert_records import Delivery
from sensorstream.errors import WebhookError

PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes, by the specification


def new_secret() -> str:
    """A fresh secret of 32 random bytes, as ``whsec_`` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def check_secret(secret: str) -> str:
    """The secret itself, if it can sign; raises WebhookError if the text is not ``whsec_`` followed
    by base64 of 24 to 64 bytes.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise WebhookError(
            f"the secret is not usable: expected {PREFIX} and base64 of"
            f" {_SHORTEST} to {_LONGEST} random bytes, or no secret at all, to get a new one"
        )
    return secret


def message_id(delivery: Delivery) -> str:
    """``webhook-id``: the same for every attempt, so that receivers can drop repeats."""
    return f"{delivery.event.id}.{delivery.webhook.id}"


def signed_headers(delivery: Delivery, body: bytes, now: datetime) -> Mapping[str, str]:
    """The three headers of Standard Webhooks for one attempt at ``now`` (aware), after a rotation
    with two signatures, one by each secret, separated by a space.
    """
    identity, text = message_id(delivery), body.decode()
    secrets = delivery.webhook.secrets(now)
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(Signer(each).sign(identity, now, text) for each in secrets),
    }
