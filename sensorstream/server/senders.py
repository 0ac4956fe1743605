"""Who sends a message over HTTP, and whether it may now."""

from __future__ import annotations

import time

from starlette.types import Scope

from sensorstream.access.roles import NOBODY, Identity
from sensorstream.app.application import Application
from sensorstream.app.waiting import Sender
from sensorstream.server.addresses import client_of


def admitted(application: Application, scope: Scope, messages: int = 1) -> Sender:
    """The sender of a request with so many messages.

    Raises:
        TooFast: it has sent too many.
    """
    sender = sender_of(scope)
    application.rates.charge(sender.address, messages, time.monotonic())
    return sender


def sender_of(scope: Scope) -> Sender:
    """Who sends a request: who shows a key, else an address."""
    host, port = scope.get("client") or ("", 0)
    user: Identity = scope.get("user", NOBODY)
    return Sender(client_of(host) if user.kind == "anonymous" else str(user), str(port))
