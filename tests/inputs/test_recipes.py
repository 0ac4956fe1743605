"""The recipes: the request that each file describes, made of a sample, is taken by a server."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import httpx
import pytest
import yaml
from fastapi import FastAPI

from sensorstream.app.application import Application
from sensorstream.server.web_application import create_app
from sensorstream.settings.settings import HistorySettings
from tests.tracking_settings import tracking

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
SAMPLE = {"time": "1700000000", "person": "<ann> & 'bob'", "certainty": "80", "x": "7", "y": "9"}


@dataclass(frozen=True)
class Request:
    """What a file says to send."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    refused: list[int]


def telegraf() -> Request:
    text = (RECIPES / "telegraf.conf").read_text(encoding="utf-8")
    (output,) = tomllib.loads(text)["outputs"]["http"]
    assert (output["use_batch_format"], output["data_format"]) == (False, "template")

    def fill(found: re.Match[str]) -> str:
        told = found[1]
        if told == ".Time.Unix":
            return SAMPLE["time"]
        name = re.fullmatch(r'\.(?:Tag|Field) "(\w+)"( \| html)?', told)
        assert name is not None, told
        return escape(SAMPLE[name[1]]) if name[2] else SAMPLE[name[1]]

    body = re.sub(r"{{ (.*?) }}", fill, output["template"])
    refused = output["non_retryable_statuscodes"]
    return Request(output["method"], output["url"], output["headers"], body, refused)


def redpanda_connect() -> Request:
    recipe = yaml.safe_load((RECIPES / "redpanda-connect.yaml").read_text(encoding="utf-8"))
    output = recipe["output"]["http_client"]
    ((processor,),) = [[each["mapping"]] for each in recipe["pipeline"]["processors"]]
    parts = re.fullmatch(r'root = """(.*)"""\.format\((.*)\)\s*', processor, re.DOTALL)
    assert parts is not None
    values = []
    for told in parts[2].split(", "):
        name = re.fullmatch(r"this\.(\w+)(\.string\(\)\.escape_html\(\))?", told)
        assert name is not None, told
        values.append(escape(SAMPLE[name[1]]) if name[2] else SAMPLE[name[1]])
    body = parts[1].replace("%v", "%s") % tuple(values)
    return Request(output["verb"], output["url"], output["headers"], body, output["drop_on"])


def node_red() -> Request:
    nodes = json.loads((RECIPES / "node-red.json").read_text(encoding="utf-8"))
    by_id = {each["id"]: each for each in nodes}
    for each in nodes:  # the flow is connected
        assert all(target in by_id for wires in each.get("wires", []) for target in wires)
    assert by_id["in"]["wires"] == [["template"]]
    post = by_id["post"]
    # Mustache escapes what stands in two braces.
    body = re.sub(
        r"{{payload\.(\w+)}}", lambda found: escape(SAMPLE[found[1]]), by_id["template"]["template"]
    )
    (rule,) = by_id["headers"]["rules"]
    return Request(post["method"], post["url"], json.loads(rule["to"]), body, [])


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FastAPI]:
    settings = tracking(
        tmp_path_factory.mktemp("work"), history=HistorySettings(url=new_database())
    )
    with Application.open(settings) as application:
        yield create_app(application)


@pytest.mark.parametrize("recipe", [telegraf, redpanda_connect, node_red])
def test_the_request_of_a_recipe_is_taken(server: FastAPI, recipe: Callable[[], Request]) -> None:
    request = recipe()

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(server)) as client:
            content = request.body.encode()
            return await client.request(
                request.method, request.url, content=content, headers=request.headers
            )

    answer = asyncio.run(send())
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "accepted", answer.text
    assert len(answer.json()["individuals"]) == 1
    assert set(request.refused) <= {400, 413, 415, 422}
