"""Requests about the operation of a server: alerts, window, ontology, health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict
from urllib.parse import quote, urlsplit

import httpx

from sensorstream.client.calls import Call, json_object, media_type

_XML: Final = "application/xml"
_REPLAY: Final = "/quarantine/replay"
_REASONER: Final = httpx.Timeout(None)
"""A reasoner that is built anew may take longer than other requests."""


@dataclass(frozen=True, slots=True)
class OntologyInForce:
    """The text of an ontology; ``origin`` is ``settings``, or the id of the change that put it."""

    text: str
    media_type: str
    origin: str


def alerts(limit: int, before: int | None) -> Call[list[dict[str, Any]]]:
    """The newest alerts below a ``seq``, newest first."""
    return Call(
        "GET",
        "/alerts",
        lambda response: list(json_object(response)["alerts"]),
        _page(limit, before),
    )


def alert_messages(id_: str, limit: int, after: int) -> Call[dict[str, Any]]:
    """An alert, and a page of the messages that led to it."""
    params = {"limit": limit, "after": after}
    return Call("GET", f"/alerts/{quote(id_, safe='')}/messages", json_object, {"params": params})


def why(id_: str) -> Call[dict[str, Any]]:
    """Why an alert was raised."""
    return Call("GET", f"/alerts/{quote(id_, safe='')}/why", json_object)


def why_statement(statement: str) -> Call[dict[str, Any]]:
    """Why a statement holds."""
    return Call("GET", "/why", json_object, {"params": {"statement": statement}})


def why_not(rule: str, individual: str, variable: str) -> Call[dict[str, Any]]:
    """Why a rule does not fire for an individual."""
    params = {"rule": rule, "individual": individual, "variable": variable}
    return Call("GET", "/why-not", json_object, {"params": params})


def alerts_in(state: str, limit: int, before: int | None) -> Call[list[dict[str, Any]]]:
    """Alerts of one rule and key together, by state; the last opened first."""
    options = _page(limit, before)
    options["params"]["state"] = state
    return Call("GET", "/alerts", lambda response: list(json_object(response)["alerts"]), options)


def alert(id_: str) -> Call[dict[str, Any]]:
    """What an alert belongs to."""
    return Call("GET", f"/alerts/{quote(id_, safe='')}", json_object)


def alert_history(id_: str, limit: int, after: int) -> Call[dict[str, Any]]:
    """A page of the changes of an alert."""
    params = {"limit": limit, "after": after}
    return Call("GET", f"/alerts/{quote(id_, safe='')}/history", json_object, {"params": params})


def change_alert(id_: str, what: str, body: Mapping[str, str]) -> Call[dict[str, Any]]:
    """Acknowledge, clear, comment on or assign an alert."""
    path = f"/alerts/{quote(id_, safe='')}/{what}"
    return Call("POST", path, json_object, {"json": dict(body)})


def silences() -> Call[list[dict[str, Any]]]:
    """The silences that have not ended."""
    return Call("GET", "/silences", lambda response: list(json_object(response)["silences"]))


def silence(body: Mapping[str, object]) -> Call[dict[str, Any]]:
    """Begin a silence."""
    return Call("POST", "/silences", json_object, {"json": dict(body)})


def end_silence(silence_id: int) -> Call[None]:
    """End a silence."""
    return Call("DELETE", f"/silences/{silence_id}", lambda _: None)


class ChosenAbove(TypedDict, total=False):
    """Which messages in quarantine; what is not here is any. ``code`` is that of an error.

    Received from ``since`` on and before ``until``, which are aware times; with a ``seq`` above
    ``after``.
    """

    status: str | None
    code: str | None
    source: str | None
    since: datetime | None
    until: datetime | None
    after: int | None


class Chosen(ChosenAbove, total=False):
    """The same, with a ``seq`` below ``before``."""

    before: int | None


def quarantine(limit: int, before: int | None, chosen: ChosenAbove) -> Call[list[dict[str, Any]]]:
    """The newest messages that were not taken in below a ``seq``, newest first."""
    params = _parameters(chosen) | _page(limit, before)["params"]
    return Call(
        "GET",
        "/quarantine",
        lambda response: list(json_object(response)["messages"]),
        {"params": params},
    )


def replay_all(limit: int, chosen: Chosen) -> Call[dict[str, Any]]:
    """Take quarantined messages in anew, the oldest first; how it went."""
    options = {"params": _parameters(chosen) | {"limit": limit}, "timeout": httpx.Timeout(None)}
    return Call("POST", _REPLAY, json_object, options)


def replay_more(following: str) -> Call[dict[str, Any]]:
    """Take in anew what an answer has left: ``following`` is its ``next``."""
    parameters = urlsplit(following).query
    return Call("POST", f"{_REPLAY}?{parameters}", json_object, {"timeout": httpx.Timeout(None)})


def dismiss(id_: str) -> Call[None]:
    """Take a message out of quarantine."""
    return Call("DELETE", f"/quarantine/{quote(id_, safe='')}", lambda _: None)


def dismiss_all(chosen: Chosen) -> Call[dict[str, Any]]:
    """Take messages out of quarantine; how many, and how many are left."""
    return Call("DELETE", "/quarantine", json_object, {"params": _parameters(chosen)})


def messages(
    limit: int, before: int | None, status: str | None, source: str | None, since: datetime | None
) -> Call[list[dict[str, Any]]]:
    """The newest messages below a ``seq``, newest first."""
    asked = {"status": status, "source": source, "since": since and since.isoformat()}
    params = {name: each for name, each in asked.items() if each is not None}
    page = {"limit": limit} | ({} if before is None else {"before": before})
    return Call(
        "GET",
        "/messages",
        lambda response: list(json_object(response)["messages"]),
        {"params": params | page},
    )


def message(id_: str) -> Call[dict[str, Any]]:
    """What became of a message."""
    return Call("GET", f"/messages/{quote(id_, safe='')}", json_object)


def message_content(id_: str) -> Call[bytes]:
    """The content of a message, as it came."""
    path = f"/messages/{quote(id_, safe='')}/content"
    return Call("GET", path, lambda response: response.content)


def replay(id_: str, content: bytes | None) -> Call[dict[str, Any]]:
    """Take a quarantined message in anew."""
    path = f"/quarantine/{quote(id_, safe='')}/replay"
    sent = {} if content is None else {"content": content, "headers": {"Content-Type": _XML}}
    return Call("POST", path, json_object, sent)


def window(limit: int, offset: int) -> Call[dict[str, Any]]:
    """The window and a page of its individuals."""
    return Call("GET", "/window", json_object, {"params": {"limit": limit, "offset": offset}})


def individual(iri: str, *, rules: bool) -> Call[dict[str, Any]]:
    """The latest values of an individual."""
    options: dict[str, Any] = {"params": {"rules": "true"}} if rules else {}
    return Call("GET", f"/individuals/{quote(iri, safe='')}", json_object, options)


def latest(class_: str, limit: int, after: str) -> Call[dict[str, Any]]:
    """A page of the individuals of a class, with their latest values."""
    params = {"class": class_, "limit": limit, "after": after}
    return Call("GET", "/latest", json_object, {"params": params})


def rules() -> Call[list[dict[str, Any]]]:
    """The rules in force."""
    return Call("GET", "/rules", lambda response: list(json_object(response)["rules"]))


def rule_files() -> Call[dict[str, Any]]:
    """The rule files in force: ``files``, ``origin`` and the ``digest`` of the whole set."""
    return Call("GET", "/rules", json_object)


def rule_file(name: str) -> Call[str]:
    """The text of a rule file in force."""
    return Call("GET", _rule_path(name), lambda response: response.text)


def put_rule_file(name: str, text: str) -> Call[str]:
    """Put a rule file in force; the journal's id of the change."""
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    options = {"content": text.encode(), "headers": headers, "timeout": _REASONER}
    return Call("PUT", _rule_path(name), _change, options)


def put_rule_files(files: Mapping[str, str], digest: str) -> Call[str]:
    """Put a whole set of rule files in force; the journal's id of the change."""
    headers = {"If-Match": f'"{digest}"'} if digest else {}
    options = {"json": {"files": dict(files)}, "headers": headers, "timeout": _REASONER}
    return Call("PUT", "/rules", _change, options)


def try_rule_files(files: Mapping[str, str]) -> Call[dict[str, Any]]:
    """What a whole set of rule files would change; nothing is put."""
    options = {"json": {"files": dict(files)}, "params": {"dry-run": "true"}}
    return Call("PUT", "/rules", json_object, options)


def try_message(
    content: str, files: Mapping[str, str], source: str, after: int
) -> Call[dict[str, Any]]:
    """What rules would make of a message; nothing is taken in."""
    body = {"message": content, "source": source, "files": dict(files), "after": after}
    return Call("POST", "/trials", json_object, {"json": body, "timeout": _REASONER})


def delete_rule_file(name: str) -> Call[str]:
    """Take a rule file out of force; the journal's id of the change."""
    return Call("DELETE", _rule_path(name), _change, {"timeout": _REASONER})


def ontology() -> Call[OntologyInForce]:
    """The ontology in force."""
    return Call("GET", "/ontology", _ontology)


def put_ontology(content: bytes | str, kind: str) -> Call[str]:
    """Put another ontology in force; the journal's id of the change."""
    text = content.encode() if isinstance(content, str) else content
    options = {"content": text, "headers": {"Content-Type": kind}, "timeout": _REASONER}
    return Call("PUT", "/ontology", _change, options)


def settings() -> Call[list[dict[str, Any]]]:
    """The settings that the server has read."""
    return Call("GET", "/settings", lambda response: list(json_object(response)["settings"]))


def audit(limit: int, before: int | None) -> Call[list[dict[str, Any]]]:
    """The newest changes below a ``seq``, newest first."""
    return Call(
        "GET",
        "/audit",
        lambda response: list(json_object(response)["changes"]),
        _page(limit, before),
    )


def alive() -> Call[dict[str, Any]]:
    """Whether the pipeline runs."""
    return Call("GET", "/healthz", json_object)


def ready() -> Call[dict[str, Any]]:
    """Every part that does its work."""
    return Call("GET", "/readyz", lambda response: dict(json_object(response)["parts"]))


def metrics() -> Call[str]:
    """The metrics in the text format of Prometheus."""
    return Call("GET", "/metrics", lambda response: response.text)


def _parameters(chosen: ChosenAbove) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in chosen.items()
        if value is not None
    }


def _page(limit: int, before: int | None) -> dict[str, Any]:
    return {"params": {"limit": limit} | ({} if before is None else {"before": before})}


def _rule_path(name: str) -> str:
    return f"/rules/{quote(name, safe='')}"


def _change(response: httpx.Response) -> str:
    return str(json_object(response)["change"])


def _ontology(response: httpx.Response) -> OntologyInForce:
    origin = response.headers.get("SensorStream-Origin", "")
    return OntologyInForce(response.text, media_type(response), origin)
