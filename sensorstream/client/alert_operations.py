"""Operations: alerts, their changes, and their receivers."""

from __future__ import annotations

from datetime import datetime

from sensorstream.client.operation import (
    LONG,
    Options,
    given,
    json_object,
    listed,
    nothing,
    operation,
    params,
)
from sensorstream.model.webhook_definition import WebhookDefinition


class Alerts:
    """Alerts, their changes, and their receivers."""

    @operation("GET /alerts", "read", listed("alerts"))
    def alerts(self, limit: int = 1000, before: int | None = None) -> Options:
        """The newest alerts that the server keeps, newest first, with ``seq`` below ``before``."""
        return params(limit=limit, before=before)

    @operation("GET /alerts", "read", listed("alerts"))
    def alerts_in(self, state: str, limit: int = 1000, before: int | None = None) -> Options:
        """The alerts, one for each rule and key, that are ``open``, ``acknowledged`` or
        ``cleared``. The last opened come first, with ``seq`` below ``before``.
        """
        return params(limit=limit, before=before, state=state)

    @operation("GET /alerts/{id}/messages", "read", json_object)
    def alert_messages(self, id_: str, limit: int = 100, after: int = 0) -> Options:
        """An alert, and a page of the messages that led to it, with ``seq`` above ``after``."""
        return params(limit=limit, after=after)

    @operation("GET /alerts/{id}/why", "read", json_object)
    def why(self, id_: str) -> None:
        """Explain why an alert was raised: its rule, its findings, and where in which message."""

    @operation("GET /why", "ask", json_object)
    def why_statement(self, statement: str, key: str | None = None) -> Options:
        """Explain why a statement holds: who said it, or by which rules it follows. ``statement``
        is as in Turtle, with the prefixes of the rule files: ``:ann a :Person``. ``key``: see
        :meth:`results`.
        """
        return params(statement=statement, key=key)

    @operation("GET /why-not", "ask", json_object)
    def why_not(
        self, rule: str, individual: str, variable: str = "", key: str | None = None
    ) -> Options:
        """Explain why a rule does not fire for an individual (an IRI), as things are now. ``key``:
        see :meth:`results`.
        """
        return params(rule=rule, individual=individual, variable=variable, key=key)

    @operation("GET /alerts/{id}", "read", json_object)
    def alert(self, id_: str) -> None:
        """The state of an alert, and how often it was raised."""

    @operation("GET /alerts/{id}/history", "read", json_object)
    def alert_history(self, id_: str, limit: int = 100, after: int = 0) -> Options:
        """A page of the history of an alert, oldest first, with ``seq`` above ``after``."""
        return params(limit=limit, after=after)

    @operation("POST /alerts/{id}/acknowledge", "operate", json_object)
    def acknowledge(self, id_: str, text: str = "") -> Options:
        """Acknowledge an alert: somebody takes care of it."""
        return {"json": {"text": text}}

    @operation("POST /alerts/{id}/clear", "operate", json_object)
    def clear_alert(self, id_: str, text: str = "") -> Options:
        """Clear an alert: its cause has ended."""
        return {"json": {"text": text}}

    @operation("POST /alerts/{id}/comment", "operate", json_object)
    def comment(self, id_: str, text: str) -> Options:
        """Add a text to the history of an alert."""
        return {"json": {"text": text}}

    @operation("POST /alerts/{id}/assign", "operate", json_object)
    def assign(self, id_: str, to: str) -> Options:
        """Assign an alert to somebody; "": to nobody in particular."""
        return {"json": {"to": to}}

    @operation("GET /silences", "read", listed("silences"))
    def silences(self) -> None:
        """The silences that have not ended."""

    @operation("POST /silences", "operate", json_object)
    def silence(
        self,
        ends_at: datetime,
        *,
        rule: str | None = None,
        key: str | None = None,
        severity: str | None = None,
        comment: str = "",
    ) -> Options:
        """Do not tell receivers of alerts that match, until ``ends_at`` (aware). ``*`` in ``rule``
        and ``key`` matches any text; at least one of the three is given.
        """
        told = given(rule=rule, key=key, severity=severity, ends_at=ends_at, comment=comment)
        return {"json": told}

    @operation("DELETE /silences/{silence_id}", "operate", nothing)
    def end_silence(self, silence_id: int) -> None:
        """End a silence: receivers are told again."""

    @operation("POST /webhooks", "administer", json_object)
    def add_webhook(self, webhook: WebhookDefinition | str, secret: str | None = None) -> Options:
        """Deliver alerts, and reports of its queries, to a webhook; the answer has the secret."""
        definition = WebhookDefinition(webhook) if isinstance(webhook, str) else webhook
        return {"json": {**definition.data(), **given(secret=secret)}}

    @operation("GET /webhooks", "look", listed("webhooks"))
    def webhooks(self) -> None:
        """The webhooks and their states, oldest first, without their secrets."""

    @operation("GET /webhooks/{webhook_id}", "look", json_object)
    def webhook(self, webhook_id: str) -> None:
        """A webhook, without its secret."""

    @operation("DELETE /webhooks/{webhook_id}", "administer", nothing)
    def delete_webhook(self, webhook_id: str) -> None:
        """Stop delivering to a webhook."""

    @operation("POST /webhooks/{webhook_id}/enable", "operate", json_object)
    def enable_webhook(self, webhook_id: str) -> None:
        """Deliver again to a webhook that was disabled."""

    @operation("POST /webhooks/{webhook_id}/secret", "administer", json_object)
    def rotate_secret(self, webhook_id: str, secret: str | None = None) -> Options:
        """Sign with another secret, which the answer has; for a day the old one signs too."""
        return {"json": {"secret": secret}}

    @operation("POST /webhooks/{webhook_id}/test", "operate", json_object)
    def test_webhook(self, webhook_id: str) -> Options:
        """Send a test event to a webhook and return the result."""
        return {"timeout": LONG}

    @operation("GET /webhooks/{webhook_id}/deliveries", "look", listed("deliveries"))
    def deliveries(
        self,
        webhook_id: str,
        state: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> Options:
        """The newest deliveries of a webhook, newest first, with an id below ``before``. ``state``
        is ``pending``, ``delivered`` or ``dead``; None: all.
        """
        return params(limit=limit, state=state, before=before)

    @operation(
        "POST /webhooks/{webhook_id}/recover",
        "operate",
        lambda response: int(json_object(response)["recovered"]),
    )
    def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> Options:
        """Send all dead deliveries of what was raised in a span again; how many there are."""
        return params(since=since, until=until)

    @operation("POST /deliveries/{delivery_id}/resend", "operate", json_object)
    def resend(self, delivery_id: int) -> None:
        """Send one delivery again."""
