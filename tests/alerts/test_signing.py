from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from sensorstream.alerts.alert_records import Delivery
from sensorstream.alerts.signing import check_secret, new_secret, signed_headers
from sensorstream.errors import WebhookError


def test_new_secrets_differ_and_are_usable() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert check_secret(first) == first
    assert len(base64.b64decode(first.removeprefix("whsec_"))) == 32


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "secret",
        "whsec_",
        "whsec_not base64!",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        base64.b64encode(b"x" * 32).decode(),
    ],
)
def test_a_secret_that_cannot_sign_is_refused(secret: str) -> None:
    with pytest.raises(WebhookError, match="24 to 64"):
        check_secret(secret)


def test_a_verifier_accepts_the_signature_and_nothing_else(
    make_delivery: Callable[..., Delivery],
) -> None:
    delivery = make_delivery(1, "http://example.org/")
    headers = dict(signed_headers(delivery, b'{"a":"\xc3\xbc"}', datetime.now(UTC)))
    verifier = Verifier(delivery.webhook.secret)
    assert verifier.verify(b'{"a":"\xc3\xbc"}', headers) == {"a": "ü"}
    with pytest.raises(WebhookVerificationError):
        verifier.verify(b'{"a":"u"}', headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(new_secret()).verify(b'{"a":"\xc3\xbc"}', headers)


def test_no_text_of_a_webhook_shows_its_secret(make_delivery: Callable[..., Delivery]) -> None:
    delivery = make_delivery(1, "http://example.org/")
    assert delivery.webhook.secret not in repr(delivery)
