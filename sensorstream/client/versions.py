"""Requests about what has versions: rule files, queries, webhooks and the ontology."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

import httpx

from sensorstream.client.calls import Call, json_object, media_type

Kind: TypeAlias = Literal["rules", "queries", "webhooks", "ontology"]

MEDIA_TYPES: Final[dict[Kind, str]] = {
    "rules": "text/plain; charset=utf-8",  # of any language: the name says it
    "queries": "application/sparql-query",
    "webhooks": "application/json",
    "ontology": "text/turtle",
}
"""What a text of each kind is sent as."""


def put(
    kind: Kind,
    text: bytes,
    name: str = "",
    *,
    media_type: str | None = None,
    digest: str | None = None,
) -> Call[dict[str, Any]]:
    """Put a rule file, a query, a webhook or the ontology in force.

    With the ``digest`` of the present text it is put only if that is still there. The ontology
    has no name; ``media_type`` is by default that of the kind (the ontology: Turtle).
    """
    headers = {"Content-Type": media_type or MEDIA_TYPES[kind]}
    if digest:
        headers["If-Match"] = f'"{digest}"'
    # A reasoner that is built anew may take longer than other requests.
    options = {"content": text, "headers": headers, "timeout": httpx.Timeout(None)}
    return Call("PUT", _path(kind, name), json_object, options)


def try_put(
    kind: Kind, text: bytes, name: str = "", *, media_type: str | None = None
) -> Call[dict[str, Any]]:
    """What is wrong with a text, or what :meth:`put` would change; nothing is put."""
    options = {
        "content": text,
        "headers": {"Content-Type": media_type or MEDIA_TYPES[kind]},
        "params": {"dry-run": "true"},
        "timeout": httpx.Timeout(None),
    }
    return Call("PUT", _path(kind, name), json_object, options)


def versions(kind: Kind, name: str = "") -> Call[list[dict[str, Any]]]:
    """The versions of a rule file, a query, a webhook or the ontology, oldest first."""
    path = f"{_path(kind, name)}/versions"
    return Call("GET", path, lambda response: list(json_object(response)["versions"]))


def version(kind: Kind, change: str, name: str = "") -> Call[tuple[bytes, str]]:
    """The text that a change has put, and its media type."""
    path = f"{_path(kind, name)}/versions/{quote(change, safe='')}"
    return Call("GET", path, lambda response: (response.content, media_type(response)))


def _path(kind: Kind, name: str) -> str:
    return f"/{kind}/{quote(name, safe='')}" if name else f"/{kind}"
