"""The tracking deployment over HTTP, with PostgreSQL behind, and messages to send to it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx
from lxml import etree

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.inputs.inputs import Inputs
from sensorstream.settings.endpoints import FolderInput, Input
from sensorstream.settings.settings import HistorySettings, WebhookSettings, WindowSettings
from tests.tracking_settings import tracking

XML = {"content-type": "application/xml"}
SPARQL = {"content-type": "application/sparql-query"}
NOBODY_MAPS = b"<Other>%d</Other>"
START = itertools.count(1000, 100)


class Deployment:
    """The tracking deployment over a window of five, which can be started again."""

    def __init__(self, folder: Path, url: str, listen: Callable[..., Iterator[str]]) -> None:
        self.drop = folder / "drop"
        self.drop.mkdir()
        self._settings = tracking(
            folder,
            window=WindowSettings(size="5"),
            history=HistorySettings(url=url),
            webhooks=WebhookSettings(allow=(IPv4Network("127.0.0.0/8"),)),
            inputs=(Input("drop", "drop", FolderInput(self.drop, settle=0.01, poll=0.05)),),
        )
        self._listen = listen
        self._run: Iterator[httpx.Client] | None = None
        self.web: httpx.Client

    def start(self) -> httpx.Client:
        self.stop()
        self._run = self._running()
        self.web = next(self._run)
        return self.web

    def stop(self) -> None:
        if self._run is not None:
            next(self._run, None)
            self._run = None

    def _running(self) -> Iterator[httpx.Client]:
        with Application.open(self._settings) as application:
            listening = contextmanager(self._listen)
            with (
                Inputs(application),
                listening(application) as url,
                httpx.Client(base_url=url, timeout=300) as web,
            ):
                yield web


def one(certainty: int = 47) -> bytes:
    """A message that no other test sends; below 50 it raises an alert."""
    content = next(tracker_messages(1, start=next(START)))
    return re.sub(rb"certainty='\d+'", b"certainty='%d'" % certainty, content)


def bare(content: bytes) -> bytes:
    """A message without its XML declaration, which may stand at the start of a document only."""
    return content.partition(b"?>")[2]


def by_soap(
    web: httpx.Client, content: bytes, key: str = "", **headers: str
) -> tuple[httpx.Response, str]:
    """A message sent by SOAP 1.1, with a key in its header; the answer, and what it tells."""
    told = f"<s:idempotencyKey e:mustUnderstand='1'>{key}</s:idempotencyKey>" if key else ""
    envelope = (
        "<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/' "
        f"xmlns:s='urn:sensorstream:soap'><e:Header>{told}</e:Header><e:Body>"
        f"<s:postMessage><s:message>{escape(content.decode())}</s:message></s:postMessage>"
        "</e:Body></e:Envelope>"
    )
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = web.post("/soap", content=envelope, headers={"content-type": "text/xml", **given})
    found: Any = etree.fromstring(answer.content).xpath(
        "string(//s:message_id | //s:problem/s:type)", namespaces={"s": "urn:sensorstream:soap"}
    )
    return answer, str(found)


def post(web: httpx.Client, content: bytes, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.post("/messages", content=content, headers={**XML, **given})


def entries(web: httpx.Client) -> int:
    """How many messages the journal has."""
    sql = "select count(*) from history.messages"
    return int(web.post("/sql", json={"query": sql}).json()["rows"][0][0])
