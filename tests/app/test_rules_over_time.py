"""DOTR's rules on a server's application: put, reported, and gone on with after restarts."""

from __future__ import annotations

import json

from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings import Settings
from tests.app.conftest import Open
from tests.app.test_query_webhooks import NOBODY, outbox, send
from tests.databases import execute

AGAIN = """PREFIX : <http://sensorstream.example/tracking#>
rule again
define { dotr_id1 a :Again ; :of ?new ; :after ?old }
from New(SELECT ?new { ?new a :Human })
and last Old(SELECT ?old { ?old a :Human }) within 1 h from New
where Old.?old != New.?new
with ?new = New.?new, ?old = Old.?old"""


def test_rules_go_on_after_restarts_with_what_they_remember(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    application.webhooks.register(WebhookDefinition(NOBODY, queries=("pairs",)))
    assert application.queries.register(AGAIN, "pairs").form == "CONSTRUCT"
    send(application, 12, 1)
    before = outbox(settings.history.url)
    application.close()
    # From a checkpoint: the first rule to fire takes an event of the time before.
    again = open_application(settings)
    assert again.queries.view("pairs").text == AGAIN
    send(again, 4, 13)
    after = outbox(settings.history.url)
    assert len(after) > len(before) > 1
    told = [json.loads(data) for _, _, data in after]
    assert {each["rule"] for each in told} == {"again"}
    assert all("#after>" in each["graph"] for each in told)
    numbers = [int(id_.rpartition("-")[2]) for _, id_, _ in after]
    assert numbers == list(range(1, len(after) + 1))
    again.close()
    # From the journal alone: the same reports, with the same identifiers, and none of them twice.
    execute(settings.history.url, "delete from store.checkpoints", "delete from store.deliveries")
    third = open_application(settings)
    pairs = third.queries.view("pairs")
    replayed = [each.report for each in third.queries.reports(pairs, 0)[1]]
    graphs = ["".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in r.triples or ()) for r in replayed]
    assert graphs == [each["graph"] for each in told]
