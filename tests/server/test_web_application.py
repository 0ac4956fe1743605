from __future__ import annotations

from typing import Any

import httpx

PATHS = {
    "/messages": {"get", "post"},
    "/messages/counts": {"get"},
    "/messages/{id}": {"get"},
    "/messages/{id}/content": {"get"},
    "/messages/batch": {"post"},
    "/soap": {"get", "post"},
    "/sparql": {"get", "post"},
    "/sparql/plan": {"get", "post"},
    "/graphs": {"get"},
    "/graphs/{name}": {"get"},
    "/sql": {"post"},
    "/jobs": {"get", "post"},
    "/jobs/{job_id}": {"get", "delete"},
    "/jobs/{job_id}/result": {"get"},
    "/sensorthings/v1.1": {"get"},
    "/sensorthings/v1.1/{path}": {"get"},
    "/alerts": {"get"},
    "/audit": {"get"},
    "/settings": {"get"},
    "/alerts/stream": {"get"},
    "/alerts/{id}": {"get"},
    "/alerts/{id}/messages": {"get"},
    "/alerts/{id}/why": {"get"},
    "/why": {"get"},
    "/why-not": {"get"},
    "/trials": {"post"},
    "/alerts/{id}/history": {"get"},
    "/alerts/{id}/acknowledge": {"post"},
    "/alerts/{id}/clear": {"post"},
    "/alerts/{id}/comment": {"post"},
    "/alerts/{id}/assign": {"post"},
    "/silences": {"get", "post"},
    "/silences/{silence_id}": {"delete"},
    "/webhooks": {"get", "post"},
    "/webhooks/{webhook_id}": {"get", "put", "delete"},
    "/webhooks/{webhook_id}/versions": {"get"},
    "/webhooks/{webhook_id}/versions/{change}": {"get"},
    "/webhooks/{webhook_id}/deliveries": {"get"},
    "/webhooks/{webhook_id}/enable": {"post"},
    "/webhooks/{webhook_id}/recover": {"post"},
    "/webhooks/{webhook_id}/secret": {"post"},
    "/webhooks/{webhook_id}/test": {"post"},
    "/deliveries/{delivery_id}/resend": {"post"},
    "/window": {"get"},
    "/individuals": {"get"},
    "/individuals/{iri}": {"get"},
    "/latest": {"get"},
    "/shapes/report": {"get"},
    "/rules": {"get", "put"},
    "/rules/{name}": {"get", "put", "delete"},
    "/rules/{name}/versions": {"get"},
    "/rules/{name}/versions/{change}": {"get"},
    "/quarantine": {"get", "delete"},
    "/quarantine/replay": {"post"},
    "/quarantine/{id}": {"delete"},
    "/quarantine/{id}/replay": {"post"},
    "/healthz": {"get"},
    "/ontology": {"get", "put"},
    "/ontology/versions": {"get"},
    "/ontology/versions/{change}": {"get"},
    "/queries": {"get", "post"},
    "/queries/{name}": {"get", "put", "delete"},
    "/queries/{name}/versions": {"get"},
    "/queries/{name}/versions/{change}": {"get"},
    "/queries/{name}/results": {"get"},
    "/queries/{name}/graph": {"get"},
    "/queries/{name}/step": {"get", "delete"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}

WITHOUT_BODY = {
    "/alerts/{id}/acknowledge",
    "/alerts/{id}/clear",
    "/webhooks/{webhook_id}/enable",
    "/webhooks/{webhook_id}/recover",
    "/webhooks/{webhook_id}/secret",
    "/webhooks/{webhook_id}/test",
    "/deliveries/{delivery_id}/resend",
    "/quarantine/replay",
    "/quarantine/{id}/replay",
}
"""What is posted to there says all in its address; a secret may be left out."""


def references(node: Any) -> set[str]:
    """Every ``$ref`` below a node."""
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(each) for each in node.values()))
    if isinstance(node, list):
        return set().union(*(references(each) for each in node))
    return set()


def test_the_description_names_every_resource_completely(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert {path: set(each) for path, each in document["paths"].items()} == PATHS
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            problem = operation["responses"]["default"]["content"]["application/problem+json"]
            assert problem["schema"]["$ref"].endswith("/ProblemBody"), where
            success = [each for each in operation["responses"] if each.startswith("2")]
            assert success, where
            if method == "post" and path not in WITHOUT_BODY:
                assert operation["requestBody"]["required"], where
                assert operation["requestBody"]["content"], where
            assert "422" not in operation["responses"], where


def test_the_description_refers_to_nothing_that_is_missing(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


def test_people_are_led_to_the_pages_and_find_the_documentation(client: httpx.Client) -> None:
    answer = client.get("/", follow_redirects=True)
    assert answer.url.path == "/console/"
    assert "openapi.json" in client.get("/docs").text


def test_the_docs_page_needs_nothing_from_elsewhere(client: httpx.Client) -> None:
    page = client.get("/docs").text
    assert "https://" not in page
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert f'"/assets/{asset}"' in page
        assert client.get(f"/assets/{asset}").status_code == 200
