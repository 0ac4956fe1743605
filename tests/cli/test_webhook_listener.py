"""``sensorstream webhook listen`` hears what a webhook is sent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

import httpx
from standardwebhooks import Webhook

from sensorstream.alerts.signing import new_secret

EVENT = b'{"type": "sensorstream.alert.rule", "data": {"text": "21 people in the K\xc3\xbcche"}}'


@contextmanager
def listening(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "sensorstream", "webhook", "listen", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *arguments], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        found = re.fullmatch(r"listening on (\S+)\n", line(process.stderr))
        assert found
        yield found[1], process
        process.terminate()


def line(stream: IO[str]) -> str:
    """The next line and nothing more: ``communicate`` does not see what a stream has buffered."""
    told = b""
    while not told.endswith(b"\n") and (read := os.read(stream.fileno(), 1)):
        told += read
    return told.decode()


def headers(secret: str, body: bytes, identity: str = "m1-1.wh_1") -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(identity, now, body.decode()),
    }


def test_what_is_signed_is_printed_and_all_else_refused() -> None:
    old, secret = new_secret(), new_secret()
    with listening("--secret", old, "--secret", secret, "--count", "3") as (url, process):
        forged = headers(new_secret(), EVENT)
        assert httpx.post(url, content=EVENT, headers=forged).status_code == 401
        assert httpx.post(url, content=EVENT).status_code == 401
        for each in (old, secret, secret):
            found = httpx.post(url, content=EVENT, headers=headers(each, EVENT))
            assert found.status_code == 204
        told, refused = process.communicate(timeout=60)
    line = "m1-1.wh_1 sensorstream.alert.rule: 21 people in the Küche"
    assert told.splitlines() == [line, f"again {line}", f"again {line}"]
    assert refused.count("refused ") == 2
    assert process.returncode == 0


def test_without_a_secret_everything_is_printed_as_it_came() -> None:
    with listening("--json", "--count", "2") as (url, process):
        for body in (EVENT, b'{"version": "4", "alerts": []}'):
            assert httpx.post(url, content=body).status_code == 204
        told, said = process.communicate(timeout=60)
    assert json.loads(told.splitlines()[0]) == json.loads(EVENT)
    assert "no signature is verified" in said
