"""Requests about a running deployment: alerts, window, ontology, health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack
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


def alerts(limit: int = 1000, before: int | None = None) -> Call[list[dict[str, Any]]]:
    """The newest alerts that the server keeps, newest first, with ``seq`` below ``before``."""
    return Call(
        "GET",
        "/alerts",
        lambda response: list(json_object(response)["alerts"]),
        _page(limit, before),
    )


def alert_messages(id_: str, limit: int = 100, after: int = 0) -> Call[dict[str, Any]]:
    """An alert, and a page of the messages that led to it, with ``seq`` above ``after``."""
    params = {"limit": limit, "after": after}
    return Call("GET", f"/alerts/{quote(id_, safe='')}/messages", json_object, {"params": params})


def why(id_: str) -> Call[dict[str, Any]]:
    """Why an alert was raised: its rule, what that found, and where in which message."""
    return Call("GET", f"/alerts/{quote(id_, safe='')}/why", json_object)


def why_statement(statement: str) -> Call[dict[str, Any]]:
    """Why a statement holds: who said it, or by which rules it follows.

    ``statement`` is as in Turtle, with the prefixes of the rule files: ``:ann a :Person``.
    """
    return Call("GET", "/why", json_object, {"params": {"statement": statement}})


def why_not(rule: str, individual: str, variable: str = "") -> Call[dict[str, Any]]:
    """What keeps a rule from firing for an individual (an IRI), as things are now."""
    params = {"rule": rule, "individual": individual, "variable": variable}
    return Call("GET", "/why-not", json_object, {"params": params})


def alerts_in(
    state: str, limit: int = 1000, before: int | None = None
) -> Call[list[dict[str, Any]]]:
    """What is ``open``, ``acknowledged`` or ``cleared``: alerts of one rule and key together.

    The last opened first, with ``seq`` below ``before``.
    """
    options = _page(limit, before)
    options["params"]["state"] = state
    return Call("GET", "/alerts", lambda response: list(json_object(response)["alerts"]), options)


def alert(id_: str) -> Call[dict[str, Any]]:
    """The state of what an alert belongs to, and how often it was raised."""
    return Call("GET", f"/alerts/{quote(id_, safe='')}", json_object)


def alert_history(id_: str, limit: int = 100, after: int = 0) -> Call[dict[str, Any]]:
    """A page of what became of an alert, oldest first, with ``seq`` above ``after``."""
    params = {"limit": limit, "after": after}
    return Call("GET", f"/alerts/{quote(id_, safe='')}/history", json_object, {"params": params})


def acknowledge(id_: str, text: str = "") -> Call[dict[str, Any]]:
    """Say that somebody sees to an alert."""
    return _alert_change(id_, "acknowledge", {"text": text})


def clear_alert(id_: str, text: str = "") -> Call[dict[str, Any]]:
    """Say that what an alert told of has ended."""
    return _alert_change(id_, "clear", {"text": text})


def comment(id_: str, text: str) -> Call[dict[str, Any]]:
    """Add a text to the history of an alert."""
    return _alert_change(id_, "comment", {"text": text})


def assign(id_: str, to: str) -> Call[dict[str, Any]]:
    """Say who is to see to an alert; "": nobody in particular."""
    return _alert_change(id_, "assign", {"to": to})


def silences() -> Call[list[dict[str, Any]]]:
    """The silences that have not ended."""
    return Call("GET", "/silences", lambda response: list(json_object(response)["silences"]))


def silence(
    ends_at: datetime,
    *,
    rule: str | None = None,
    key: str | None = None,
    severity: str | None = None,
    comment: str = "",
) -> Call[dict[str, Any]]:
    """Do not tell receivers of alerts that match, until ``ends_at`` (aware).

    ``*`` in ``rule`` and ``key`` is for any signs; at least one of the three is given.
    """
    body = {
        "rule": rule,
        "key": key,
        "severity": severity,
        "ends_at": ends_at.isoformat(),
        "comment": comment,
    }
    return Call("POST", "/silences", json_object, {"json": body})


def end_silence(silence_id: int) -> Call[None]:
    """Tell receivers again of what a silence matched."""
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


def quarantine(
    limit: int = 100, before: int | None = None, **chosen: Unpack[ChosenAbove]
) -> Call[list[dict[str, Any]]]:
    """Messages that were not taken in, or not whole, newest first."""
    params = _parameters(chosen) | _page(limit, before)["params"]
    return Call(
        "GET",
        "/quarantine",
        lambda response: list(json_object(response)["messages"]),
        {"params": params},
    )


def replay_all(limit: int = 1000, **chosen: Unpack[Chosen]) -> Call[dict[str, Any]]:
    """Take quarantined messages in anew, the oldest first, at most 1000; how it went.

    What is ``left`` is taken in by :func:`replay_more`, with the answer's ``next``.
    """
    options = {"params": _parameters(chosen) | {"limit": limit}, "timeout": httpx.Timeout(None)}
    return Call("POST", _REPLAY, json_object, options)


def replay_more(following: str) -> Call[dict[str, Any]]:
    """Take in anew what an answer of :func:`replay_all` has left."""
    parameters = urlsplit(following).query
    return Call("POST", f"{_REPLAY}?{parameters}", json_object, {"timeout": httpx.Timeout(None)})


def dismiss(message_id: str) -> Call[None]:
    """Take a message out of quarantine; the journal keeps it."""
    return Call("DELETE", f"/quarantine/{quote(message_id, safe='')}", lambda _: None)


def dismiss_all(**chosen: Unpack[Chosen]) -> Call[dict[str, Any]]:
    """Take messages out of quarantine; how many (``dismissed``), and how many are ``left``."""
    return Call("DELETE", "/quarantine", json_object, {"params": _parameters(chosen)})


def messages(
    limit: int = 100,
    before: int | None = None,
    *,
    status: str | None = None,
    source: str | None = None,
    since: datetime | None = None,
) -> Call[list[dict[str, Any]]]:
    """The newest messages below a ``seq``, newest first; ``since`` is an aware time."""
    asked = {"status": status, "source": source, "since": since and since.isoformat()}
    params = {name: each for name, each in asked.items() if each is not None}
    page = {"limit": limit} | ({} if before is None else {"before": before})
    return Call(
        "GET",
        "/messages",
        lambda response: list(json_object(response)["messages"]),
        {"params": params | page},
    )


def message(message_id: str) -> Call[dict[str, Any]]:
    """What became of a message up to now."""
    return Call("GET", f"/messages/{quote(message_id, safe='')}", json_object)


def message_content(message_id: str) -> Call[bytes]:
    """The content of a message, as it came."""
    path = f"/messages/{quote(message_id, safe='')}/content"
    return Call("GET", path, lambda response: response.content)


def replay(message_id: str, content: bytes | None = None) -> Call[dict[str, Any]]:
    """Take a quarantined message in anew, or another one instead of it; the outcome."""
    path = f"/quarantine/{quote(message_id, safe='')}/replay"
    sent = {} if content is None else {"content": content, "headers": {"Content-Type": _XML}}
    return Call("POST", path, json_object, sent)


def window(limit: int = 10_000, offset: int = 0) -> Call[dict[str, Any]]:
    """The window's definition, its totals and a page of its individuals, oldest first."""
    return Call("GET", "/window", json_object, {"params": {"limit": limit, "offset": offset}})


def individual(iri: str, *, rules: bool = False) -> Call[dict[str, Any]]:
    """An individual: of each property the values it has in the window, or had last.

    With ``rules``, inferred values of now have the rule that derives them.
    """
    options: dict[str, Any] = {"params": {"rules": "true"}} if rules else {}
    return Call("GET", f"/individuals/{quote(iri, safe='')}", json_object, options)


def latest(class_: str, limit: int = 100, after: str = "") -> Call[dict[str, Any]]:
    """A page of the individuals of a class with their latest values.

    ``after`` is that of the page before; None there: it was the last page.
    """
    params = {"class": class_, "limit": limit, "after": after}
    return Call("GET", "/latest", json_object, {"params": params})


def rules() -> Call[list[dict[str, Any]]]:
    """The mapping rules and the semantic rules in force."""
    return Call("GET", "/rules", lambda response: list(json_object(response)["rules"]))


def rule_files() -> Call[dict[str, Any]]:
    """The rule files in force: ``files``, ``origin`` and the ``digest`` of the whole set."""
    return Call("GET", "/rules", json_object)


def rule_file(name: str) -> Call[str]:
    """The text of a rule file in force."""
    return Call("GET", _rule_path(name), lambda response: response.text)


def put_rule_file(name: str, text: str) -> Call[str]:
    """Put a rule file in force, new or instead of the present one; the id of the change."""
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    options = {"content": text.encode(), "headers": headers, "timeout": _REASONER}
    return Call("PUT", _rule_path(name), _change, options)


def put_rule_files(files: Mapping[str, str], digest: str = "") -> Call[str]:
    """Put a whole set of rule files in force, texts by name; the id of the change.

    ``digest`` is that of the set that is to be replaced; empty: whatever is there.
    """
    headers = {"If-Match": f'"{digest}"'} if digest else {}
    options = {"json": {"files": dict(files)}, "headers": headers, "timeout": _REASONER}
    return Call("PUT", "/rules", _change, options)


def try_rule_files(files: Mapping[str, str]) -> Call[dict[str, Any]]:
    """What a whole set of rule files would change, told by recent messages; nothing is put."""
    options = {"json": {"files": dict(files)}, "params": {"dry-run": "true"}}
    return Call("PUT", "/rules", json_object, options)


def try_message(
    content: str,
    files: Mapping[str, str] | None = None,
    source: str = "rest",
    *,
    after: int = 0,
) -> Call[dict[str, Any]]:
    """What the rules make of a message, with other texts of some files; nothing is taken in.

    So many of the last messages come first (``after``), without being told themselves.
    """
    body = {"message": content, "source": source, "files": dict(files or {}), "after": after}
    return Call("POST", "/trials", json_object, {"json": body, "timeout": _REASONER})


def delete_rule_file(name: str) -> Call[str]:
    """Take a rule file out of force; the id of the change."""
    return Call("DELETE", _rule_path(name), _change, {"timeout": _REASONER})


def ontology() -> Call[OntologyInForce]:
    """The ontology in force."""
    return Call("GET", "/ontology", _ontology)


def put_ontology(content: bytes | str, media_type: str = "text/turtle") -> Call[str]:
    """Put another ontology in force, which may take seconds; the id of the change."""
    text = content.encode() if isinstance(content, str) else content
    options = {"content": text, "headers": {"Content-Type": media_type}, "timeout": _REASONER}
    return Call("PUT", "/ontology", _change, options)


def settings() -> Call[list[dict[str, Any]]]:
    """The settings that the server has read: ``name``, ``value`` and ``origin`` of each."""
    return Call("GET", "/settings", lambda response: list(json_object(response)["settings"]))


def audit(limit: int = 100, before: int | None = None) -> Call[list[dict[str, Any]]]:
    """Who changed what, newest first, with ``seq`` below ``before``."""
    return Call(
        "GET",
        "/audit",
        lambda response: list(json_object(response)["changes"]),
        _page(limit, before),
    )


def alive() -> Call[dict[str, Any]]:
    """Whether the server runs, and how many messages it holds; else :class:`.Unavailable`."""
    return Call("GET", "/healthz", json_object)


def ready() -> Call[dict[str, Any]]:
    """Its parts; :class:`.Unavailable` if one cannot work (``error.problem["parts"]``)."""
    return Call("GET", "/readyz", lambda response: dict(json_object(response)["parts"]))


def metrics() -> Call[str]:
    """The server's metrics in Prometheus' text format."""
    return Call("GET", "/metrics", lambda response: response.text)


def _parameters(chosen: ChosenAbove) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in chosen.items()
        if value is not None
    }


def _page(limit: int, before: int | None) -> dict[str, Any]:
    return {"params": {"limit": limit} | ({} if before is None else {"before": before})}


def _alert_change(id_: str, what: str, body: dict[str, str]) -> Call[dict[str, Any]]:
    return Call("POST", f"/alerts/{quote(id_, safe='')}/{what}", json_object, {"json": body})


def _rule_path(name: str) -> str:
    return f"/rules/{quote(name, safe='')}"


def _change(response: httpx.Response) -> str:
    return str(json_object(response)["change"])


def _ontology(response: httpx.Response) -> OntologyInForce:
    origin = response.headers.get("SensorStream-Origin", "")
    return OntologyInForce(response.text, media_type(response), origin)
