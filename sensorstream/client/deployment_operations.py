"""Operations: the window, the quarantine, the files in force, and the server's state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, Unpack
from urllib.parse import quote, urlsplit

from sensorstream.client.operation import (
    LONG,
    Options,
    json_object,
    listed,
    media_type,
    nothing,
    operation,
    params,
    text_of,
)
from sensorstream.model.frozen import frozen

if TYPE_CHECKING:
    import httpx

Kind: TypeAlias = Literal["rules", "queries", "webhooks", "ontology"]
"""The kinds of resources with versions."""

MEDIA_TYPES: Final[dict[Kind, str]] = {
    "rules": "text/plain; charset=utf-8",  # of any language: the name says it
    "queries": "application/sparql-query",
    "webhooks": "application/json",
    "ontology": "text/turtle",
}
"""The media type of each kind."""


@frozen
class OntologyInForce:
    """The text of an ontology; ``origin`` is ``settings``, or the id of the change that put it."""

    text: str
    media_type: str
    origin: str


class ChosenAbove(TypedDict, total=False):
    """A choice of messages in quarantine; a missing field matches any. ``code`` is that of an
    error. They were received from ``since`` on and before ``until``, which are aware times, and
    have a ``seq`` above ``after``.
    """

    status: str | None
    code: str | None
    source: str | None
    since: datetime | None
    until: datetime | None
    after: int | None


class ChosenMessages(ChosenAbove, total=False):
    """The same, with a ``seq`` below ``before``."""

    before: int | None


def _change(response: httpx.Response) -> str:
    return str(json_object(response)["change"])


def _named(kind: Kind, name: str, rest: str = "") -> str:
    """The path of a resource with versions; the ontology has no name."""
    return f"/{kind}/{quote(name, safe='')}{rest}" if name else f"/{kind}{rest}"


class DeploymentCalls:
    """The window, the quarantine, the files in force, and the server's state."""

    @operation("GET /quarantine", "read", listed("messages"))
    def quarantine(
        self, limit: int = 100, before: int | None = None, **chosen: Unpack[ChosenAbove]
    ) -> Options:
        """Messages that were not taken in, or not whole, newest first."""
        return params(**chosen, limit=limit, before=before)

    @operation("POST /quarantine/{id}/replay", "operate", json_object)
    def replay(self, message_id: str, content: bytes | None = None) -> Options:
        """Take a quarantined message in anew, or another one instead of it; returns the outcome."""
        if content is None:
            return {}
        return {"content": content, "headers": {"Content-Type": "application/xml"}}

    @operation("POST /quarantine/replay", "operate", json_object)
    def replay_all(self, limit: int = 1000, **chosen: Unpack[ChosenMessages]) -> Options:
        """Take quarantined messages in anew, the oldest first, at most 1000. What is ``left`` is
        taken in by :func:`replay_more`, with the answer's ``next``.
        """
        return {**params(**chosen, limit=limit), "timeout": LONG}

    @operation("POST /quarantine/replay", "operate", json_object)
    def replay_more(self, following: str) -> Options:
        """Take in anew the messages that an answer of :func:`replay_all` has left."""
        path = f"/quarantine/replay?{urlsplit(following).query}"
        return {"path": path, "timeout": LONG}

    @operation("DELETE /quarantine/{id}", "operate", nothing)
    def dismiss(self, message_id: str) -> None:
        """Take a message out of quarantine; the journal keeps it."""

    @operation("DELETE /quarantine", "operate", json_object)
    def dismiss_all(self, **chosen: Unpack[ChosenMessages]) -> Options:
        """Take messages out of quarantine; returns the numbers ``dismissed`` and ``left``."""
        return params(**chosen)

    @operation("GET /window", "read", json_object)
    def window(self, limit: int = 10_000, offset: int = 0) -> Options:
        """The window's definition, its totals and a page of its individuals, oldest first."""
        return params(limit=limit, offset=offset)

    @operation("GET /shapes/report", "read", json_object)
    def shapes_report(self) -> None:
        """The violations of the shapes in the knowledge base: ``conforms`` and ``results``."""

    @operation("GET /individuals/{iri}", "read", json_object)
    def individual(self, iri: str, *, rules: bool = False) -> Options:
        """An individual: the values of each property in the window, or the last ones. With
        ``rules``, values that are inferred now have the rule that derives them.
        """
        return params(rules="true" if rules else None)

    @operation("GET /latest", "read", json_object)
    def latest(self, class_: str, limit: int = 100, after: str = "") -> Options:
        """A page of the individuals of a class with their latest values. ``after`` is that of the
        page before; None there: it was the last page.
        """
        return {"params": {"class": class_, "limit": limit, "after": after}}

    @operation("GET /rules", "read", listed("rules"))
    def rules(self) -> None:
        """The mapping rules and the semantic rules in force."""

    @operation("GET /rules", "read", json_object)
    def rule_files(self) -> None:
        """The rule files in force: ``files``, ``origin`` and the ``digest`` of the whole set."""

    @operation("GET /rules/{name}", "read", text_of)
    def rule_file(self, name: str) -> None:
        """The text of a rule file in force."""

    @operation("PUT /rules/{name}", "administer", _change)
    def put_rule_file(self, name: str, text: str) -> Options:
        """Put a rule file in force, new or replacing one; returns the id of the change."""
        headers = {"Content-Type": MEDIA_TYPES["rules"]}
        return {"content": text.encode(), "headers": headers, "timeout": LONG}

    @operation("DELETE /rules/{name}", "administer", _change)
    def delete_rule_file(self, name: str) -> Options:
        """Take a rule file out of force; returns the id of the change."""
        return {"timeout": LONG}

    @operation("PUT /rules", "administer", _change)
    def put_rule_files(self, files: Mapping[str, str], digest: str = "") -> Options:
        """Put a whole set of rule files in force, texts by name; returns the id of the change.
        ``digest`` is that of the set to replace; empty: any set.
        """
        headers = {"If-Match": f'"{digest}"'} if digest else {}
        return {"json": {"files": dict(files)}, "headers": headers, "timeout": LONG}

    @operation("PUT /rules", "administer", json_object)
    def try_rule_files(self, files: Mapping[str, str]) -> Options:
        """Try a whole set of rule files on recent messages; returns the differences."""
        return {"json": {"files": dict(files)}, "params": {"dry-run": "true"}}

    @operation("POST /trials", "inspect", json_object)
    def try_message(
        self,
        content: str,
        files: Mapping[str, str] | None = None,
        source: str = "rest",
        *,
        after: int = 0,
    ) -> Options:
        """Try a message on the rules, with other texts of some files; nothing is taken in. The last
        ``after`` messages are taken in first, without a report on themselves.
        """
        body = {"message": content, "source": source, "files": dict(files or {}), "after": after}
        return {"json": body, "timeout": LONG}

    @operation(
        "GET /ontology",
        "read",
        lambda response: OntologyInForce(
            response.text,
            media_type(response),
            response.headers.get("SensorStream-Origin", ""),
        ),
    )
    def ontology(self) -> None:
        """The ontology in force."""

    @operation("PUT /ontology", "administer", _change)
    def put_ontology(self, content: bytes | str, media_type: str = "text/turtle") -> Options:
        """Put another ontology in force, which may take seconds; returns the id of the change."""
        text = content.encode() if isinstance(content, str) else content
        return {"content": text, "headers": {"Content-Type": media_type}, "timeout": LONG}

    @operation("PUT /{kind}/{name}", "administer", json_object)
    def put(
        self,
        kind: Kind,
        text: bytes,
        name: str = "",
        *,
        media_type: str | None = None,
        digest: str | None = None,
    ) -> Options:
        """Put a rule file, a query, a webhook or the ontology in force. With the ``digest`` of the
        present text it is put only if that text is still in force. The ontology has no name;
        ``media_type`` is by default that of the kind (the ontology: Turtle).
        """
        headers = {"Content-Type": media_type or MEDIA_TYPES[kind]}
        if digest:
            headers["If-Match"] = f'"{digest}"'
        return {"path": _named(kind, name), "content": text, "headers": headers, "timeout": LONG}

    @operation("PUT /{kind}/{name}", "administer", json_object)
    def try_put(
        self, kind: Kind, text: bytes, name: str = "", *, media_type: str | None = None
    ) -> Options:
        """Check a text; returns its faults, or what :meth:`put` would change. Nothing is put."""
        headers = {"Content-Type": media_type or MEDIA_TYPES[kind]}
        tried = {"params": {"dry-run": "true"}, "timeout": LONG}
        return {"path": _named(kind, name), "content": text, "headers": headers, **tried}

    @operation("GET /{kind}/{name}/versions", "read", listed("versions"))
    def versions(self, kind: Kind, name: str = "") -> Options:
        """The versions of a rule file, a query, a webhook or the ontology, oldest first."""
        return {"path": _named(kind, name, "/versions")}

    @operation(
        "GET /{kind}/{name}/versions/{change}",
        "read",
        lambda response: (response.content, media_type(response)),
    )
    def version(self, kind: Kind, change: str, name: str = "") -> Options:
        """The text that a change has put, and its media type."""
        return {"path": _named(kind, name, f"/versions/{quote(change, safe='')}")}

    @operation("GET /settings", "inspect", listed("settings"))
    def settings(self) -> None:
        """The settings that the server has read: ``name``, ``value`` and ``origin`` of each."""

    @operation("GET /audit", "inspect", listed("changes"))
    def audit(self, limit: int = 100, before: int | None = None) -> Options:
        """The audit log of changes, newest first, with ``seq`` below ``before``."""
        return params(limit=limit, before=before)

    @operation("GET /healthz", "nothing", json_object)
    def alive(self) -> None:
        """Whether the server runs, and how many messages it holds; else :class:`.Unavailable`."""

    @operation("GET /readyz", "nothing", lambda response: dict(json_object(response)["parts"]))
    def ready(self) -> None:
        """The server's parts; :class:`.Unavailable` if one cannot work (see ``error.problem``)."""

    @operation("GET /metrics", "read", text_of)
    def metrics(self) -> None:
        """The server's metrics in Prometheus' text format."""
