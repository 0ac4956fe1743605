"""A client that knows nothing but ``/openapi.json`` can do every operation, and gets what it says.

The calls are made, sent and compared with the description by schemathesis; from here come only the
names of things that are there, and bodies with a meaning.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from tests.cli.served import Served

TOMORROW: Final = datetime.now(UTC) + timedelta(days=1)
RECEIVER: Final = "http://127.0.0.1:9/alerts"
HUMAN: Final = "http://sensorstream.example/tracking#Human"
SEEN: Final = "http://sensorstream.example/tracking#human-2678"
PEOPLE: Final = f"SELECT ?s {{ ?s a <{HUMAN}> }}"
MANY: Final = "select count(*) as n from history.messages"
NAME: Final = "urn:x:people"
SOAP: Final = (
    '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
    '<postMessage xmlns="urn:sensorstream:soap"><message>&lt;a/&gt;</message>'
    "</postMessage></s:Body></s:Envelope>"
)
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
ENDLESS: Final = {"GET /alerts/stream", "GET /queries/{name}/results"}
schemathesis.serializer("application/sparql-query", "application/n-triples")(
    lambda _context, value: value
)
Bodies = Mapping[str, tuple[str, Any]]


def bodies(client: CommandClient) -> Bodies:
    """The media type and a body for each operation that needs one."""
    ontology = client.ontology()
    rules = {name: client.rule_file(name) for name in ["tracking.rules"]}
    return {
        "POST /messages": ("application/xml", PAPER_MESSAGE),
        "POST /messages/batch": ("application/json", [PAPER_MESSAGE.decode()]),
        "POST /soap": ("text/xml", SOAP.encode()),
        "POST /sparql": ("application/sparql-query", PEOPLE.encode()),
        "POST /sparql/plan": ("application/sparql-query", PEOPLE.encode()),
        "POST /sql": ("application/json", {"query": MANY}),
        "POST /jobs": ("application/json", {"language": "sql", "text": MANY}),
        "POST /webhooks": ("application/json", {"url": RECEIVER}),
        "POST /trials": ("application/json", {"message": PAPER_MESSAGE.decode()}),
        "PUT /ontology": (ontology.media_type, ontology.text.encode()),
        "PUT /rules": ("application/json", {"files": rules}),
        "PUT /rules/{name}": ("text/plain", b"# nothing yet\n"),
        "POST /queries": ("application/sparql-query", PEOPLE.encode()),
        "PUT /queries/{name}": ("application/sparql-query", f"{PEOPLE}\n".encode()),
        "PUT /webhooks/{webhook_id}": ("application/json", {"url": f"{RECEIVER}/again"}),
        "POST /alerts/{id}/comment": ("application/json", {"text": "seen"}),
        "POST /alerts/{id}/assign": ("application/json", {"to": "ann"}),
        "POST /silences": ("application/json", {"key": "nobody", "ends_at": TOMORROW.isoformat()}),
    }


def values(client: CommandClient, url: str, operation: str) -> dict[str, object]:
    """A value for each parameter that an operation cannot do without."""
    hook = client.webhooks()[0]["id"]
    match operation.split():
        case [_, path] if path.startswith("/quarantine/{id}"):
            return {"id": client.send("<Nothing/>")["message_id"]}
        case [_, path] if path.startswith("/alerts/{id}"):
            return {"id": client.alerts(1)[0]["id"]}
        case ["DELETE", "/silences/{silence_id}"]:
            return {"silence_id": client.silence(TOMORROW, key="nobody")["id"]}
        case ["DELETE", "/webhooks/{webhook_id}"]:
            return {"webhook_id": client.add_webhook(RECEIVER)["id"]}
        case ["PUT" | "DELETE", "/rules/{name}"]:
            return {"name": "own.rules"}
        case ["DELETE", "/queries/{name}"]:
            client.register(PEOPLE, "urn:x:gone")
            return {"name": "urn:x:gone"}
        case ["DELETE", "/jobs/{job_id}"]:
            return {"job_id": client.start_job(MANY)["id"]}
        case [_, path] if path.endswith("/versions/{change}"):
            here = {"name": "tracking.rules" if "/rules/" in path else NAME, "webhook_id": hook}
            versions = path.removesuffix("/{change}").format(
                **{key: quote(value, safe="") for key, value in here.items()}
            )
            told = httpx.get(url + versions, trust_env=False).json()
            return {**here, "change": told["versions"][-1]["change"]}
        case [_, "/sensorthings/v1.1/{path}"]:
            return {"path": "Things"}
        case [_, "/graphs/{name}"]:
            return {"name": "window"}
        case [_, path] if path.startswith("/rules/{name}"):
            return {"name": "tracking.rules"}
    return {
        "id": client.messages(1)[0]["message_id"],
        "job_id": client.jobs()[-1]["id"],
        "webhook_id": hook,
        "delivery_id": client.deliveries(hook)[0]["id"],
        "name": NAME,
        "graph": ["urn:sensorstream:window"],
        # Of a path schemathesis encodes only what it has thought of itself.
        "iri": quote(SEEN, safe="") if "{iri}" in operation else SEEN,
        "class": HUMAN,
        "wsdl": "",
        "query": PEOPLE,
        "since": "2026-01-01T00:00:00Z",
        "statement": f"<{SEEN}> a <{HUMAN}>",
        "rule": "uncertain-face",
        "individual": SEEN,
    }


@pytest.fixture
def filled(another: Served) -> Served:
    """A server with a query, a webhook, messages, alerts, a job, and versions of its rules."""
    with CommandClient(another.url) as client:
        client.add_webhook(RECEIVER)
        client.register(PEOPLE, NAME)
        for message in (*tracker_messages(12), PAPER_MESSAGE):
            client.send(message)
        client.put_rule_files(
            {"tracking.rules": client.rule_file("tracking.rules") + "\n# put\n"},
            client.rule_files()["digest"],
        )
        client.put_ontology(client.ontology().text, client.ontology().media_type)
        client.test_webhook(client.webhooks()[0]["id"])
        job = client.start_job(MANY)["id"]
        deadline = time.monotonic() + 120
        while client.job(job)["ended_at"] is None:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    return another


def test_every_operation_does_what_the_description_says(filled: Served) -> None:
    described = httpx.get(f"{filled.url}/openapi.json", trust_env=False).json()
    schema = schemathesis.openapi.from_dict(described)
    failed: dict[str, str] = {}
    with CommandClient(filled.url) as client:
        given = bodies(client)
        for result in schema.get_all_operations():
            assert isinstance(result, Ok), result
            operation = result.ok()
            name = f"{operation.method.upper()} {operation.path}"
            try:
                status = (_begin if name in ENDLESS else _whole)(
                    operation, filled.url, values(client, filled.url, name), given.get(name)
                )
                if not 200 <= status < 300:
                    failed[name] = str(status)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
    assert not failed, "\n".join(f"{name}: {why}" for name, why in failed.items())


def _whole(
    operation: Any, url: str, values: Mapping[str, object], body: tuple[str, Any] | None
) -> int:
    answer = _case(operation, values, body).call(base_url=url, timeout=60)
    if answer.status_code >= 400:
        raise AssertionError(answer.text[:300])
    _case(operation, values, body).validate_response(answer, checks=CHECKS)
    return int(answer.status_code)


def _begin(
    operation: Any, url: str, values: Mapping[str, object], body: tuple[str, Any] | None
) -> int:
    """The status of an answer that does not end."""
    path = url + _case(operation, values, body).formatted_path
    with httpx.stream("GET", path, timeout=60, trust_env=False) as answer:
        return answer.status_code


def _case(operation: Any, values: Mapping[str, object], body: tuple[str, Any] | None) -> Any:
    def chosen(parameters: Any) -> dict[str, object]:
        # /graphs needs one of two parameters.
        needed = [each.name for each in parameters if each.is_required or each.name == "graph"]
        return {name: values[name] for name in needed}

    more: dict[str, Any] = {}
    if body is not None:
        more = {"media_type": body[0], "body": body[1]}
    return operation.Case(
        path_parameters=chosen(operation.path_parameters), query=chosen(operation.query), **more
    )
