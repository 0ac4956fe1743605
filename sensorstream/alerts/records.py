"""What the outbox holds: raised alerts, registered webhooks and deliveries between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sensorstream.model.events import Alert


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    """An alert as history keeps it.

    ``seq`` grows with the order of commits: it is the cursor of paging and of the SSE stream.
    ``raised_at`` is wall time, aware; ``alert.time`` is application time.
    """

    seq: int
    alert: Alert
    raised_at: datetime


@dataclass(frozen=True, slots=True)
class Webhook:
    """A registered receiver.

    ``secret`` is ``whsec_`` and base64, as Standard Webhooks writes it; no repr shows it.
    """

    id: str
    url: str
    secret: str = field(repr=False)
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """One alert on its way to one webhook; ``attempts`` have failed so far."""

    id: int
    alert: RaisedAlert
    webhook: Webhook
    attempts: int
