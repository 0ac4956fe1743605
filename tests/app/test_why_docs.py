"""docs/use/explaining-and-testing.md: its messages, and what is told of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from sensorstream.app.application import Application
from sensorstream.cli import alerts_command as why
from sensorstream.server.web_application import create_app
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
)

HOST = "http://127.0.0.1"
TEXT = (Path(__file__).parents[2] / "docs/use/explaining-and-testing.md").read_text("utf-8")
ONTOLOGY = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Sensor a owl:Class . :Person a owl:Class . :Guest a owl:Class ; rdfs:subClassOf :Person .
:Occupied a owl:Class . :in a owl:ObjectProperty . :value a owl:DatatypeProperty .
"""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)\n```$", TEXT, re.M | re.S)


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d{10}\b", "T", text)


def test_the_page_shows_what_is_told(
    settings: Settings, tmp_path: Path, open_application: Callable[[Settings], Application]
) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "heat.rules").write_text(blocks("rules")[0])
    application = open_application(
        replace(
            settings,
            ontology=OntologySettings((tmp_path / "o.ttl",)),
            rules=RuleSettings((tmp_path / "heat.rules",)),
            reasoning=ReasoningSettings(profile="plain"),
        )
    )
    transport = httpx.ASGITransport(create_app(application))

    def get(path: str, **params: str) -> Any:
        async def answer() -> Any:
            async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
                return (await client.get(path, params=params)).json()

        return asyncio.run(answer())

    def send(messages: str) -> None:
        for message in messages.splitlines():
            source = message[1:].split(" ")[0]
            application.submit(message.encode(), source).result(60)

    def asked() -> str:
        answer = get("/why-not", rule="too-hot", individual="http://example.org/s2")
        return "\n".join(why.unmet_lines(answer))

    first, second = blocks("xml")
    send(first)
    told = ["\n".join(why.lines(get("/alerts/m3-1/why")))]
    assert "nothing is known of :hall" in asked()
    send(second)
    told.append(asked())
    told.append("\n".join(why.held_lines(get("/why", statement=":ann a :Person"))))
    assert [without_times(each) for each in told] == [without_times(t) for t in blocks("text")]
