"""What docs/use/http-api.md and docs/operate/alerts.md say is so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import WebhookVerificationError

from sensorstream.alerts.alert_records import Delivery, RaisedAlert, Webhook
from sensorstream.alerts.dispatcher import SCHEDULE
from sensorstream.alerts.signing import new_secret, signed_headers
from sensorstream.errors import errors_by_code
from sensorstream.model.events import Alert
from sensorstream.server import problems

DOCS = Path(__file__).parents[2] / "docs"
API = (DOCS / "use" / "http-api.md").read_text(encoding="utf-8")
WEBHOOKS = (DOCS / "operate" / "alerts.md").read_text(encoding="utf-8")
HOST = "http://127.0.0.1:8080"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def request_of(command: str) -> dict[str, Any]:
    """The request that a curl command of the documentation makes."""
    words = iter(shlex.split(command)[1:])
    request: dict[str, Any] = {"method": "GET", "headers": {}}
    for word in words:
        if word == "-G":
            request["query"] = True
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            request["headers"][name] = value
        elif word == "-X":
            request["method"] = next(words)
        elif word in ("-d", "--data-binary"):
            method = "POST" if request["method"] == "GET" else request["method"]
            request |= {"method": method, "content": next(words)}
        elif word == "--data-urlencode":
            name, _, value = next(words).partition("=")
            request["params"] = {name: value}
        elif word != "-N":
            assert word.startswith(HOST), f"unknown word in the documentation: {word}"
            request["url"] = word.removeprefix(HOST)
    assert request.pop("query", False) == ("params" in request)
    return request


@pytest.mark.parametrize("command", blocks(API + WEBHOOKS, "bash"))
def test_every_command_of_the_documentation_succeeds(client: httpx.Client, command: str) -> None:
    request = request_of(command)
    with client.stream(**request) as response:
        assert response.status_code in (200, 201, 202), response.read()


def test_every_problem_of_http_itself_is_documented() -> None:
    cells = re.findall(r"^\| (.*?) \|", API[API.index("| type `urn:") :], re.MULTILINE)
    documented = set(re.findall(r"`([a-z-]+)`", " ".join(cells))) | set(errors_by_code())
    assert set(problems._HTTP_CODES.values()) <= documented


def test_the_documented_waits_are_those_of_the_schedule() -> None:
    words = "after 5 seconds, 5 and 30 minutes, 2, 5, 10, 14, 20 and 24 hours"
    assert words in " ".join(WEBHOOKS.split())
    hours = [each.total_seconds() / 3600 for each in SCHEDULE]
    assert hours == [5 / 3600, 5 / 60, 30 / 60, 2, 5, 10, 14, 20, 24]


@pytest.mark.parametrize("name", ["alert_of", "is_ours"])
def test_the_documented_verifiers_believe_what_is_signed_only(name: str) -> None:
    code = next(each for each in blocks(WEBHOOKS, "python") if name in each)
    names: dict[str, Any] = {}
    exec(compile(code, "alerts.md", "exec"), names)
    verify: Callable[[str, dict[str, str], bytes], object] = names[name]

    now = datetime.now(UTC)
    alert = Alert("m1-1", "r", "rule", "info", "text", "key", 1, "m1")
    webhook = Webhook("wh_1", "http://example.org", new_secret(), now)
    delivery = Delivery(1, RaisedAlert(1, alert, now), webhook, 0)
    headers = dict(signed_headers(delivery, b'{"a":1}', now))

    assert verify(webhook.secret, headers, b'{"a":1}')
    with suppress(WebhookVerificationError):
        assert not verify(webhook.secret, headers, b'{"a":2}')
