"""The records of the outbox: alerts, reports, registered webhooks and deliveries."""

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

    @property
    def id(self) -> str:
        return self.alert.id


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report of a continuous query, kept until it is delivered.

    ``data`` is JSON text, as :func:`~sensorstream.alerts.cloudevents.report_json` makes it.
    ``reported_at`` is wall time, aware.
    """

    id: str
    query: str
    data: str
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Webhook:
    """A registered receiver of all alerts, and of the reports of the named ``queries``.

    ``secret`` is ``whsec_`` and base64, as Standard Webhooks writes it; no repr shows it. An
    ``output`` is a receiver that the settings name, without a secret.
    """

    id: str
    url: str
    secret: str = field(repr=False)
    created_at: datetime
    queries: tuple[str, ...] = ()
    output: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """One alert or report on its way to one webhook; ``attempts`` have failed so far."""

    id: int
    event: RaisedAlert | KeptReport
    webhook: Webhook
    attempts: int
