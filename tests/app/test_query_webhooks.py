"""Reports of continuous queries in the outbox, through restarts."""

from __future__ import annotations

import pytest

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import QueryError
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings import Settings
from tests.app.conftest import Open
from tests.databases import execute, forget_effects
from tests.waiting import eventually

NOBODY = "http://127.0.0.1:9/"
"""Nobody listens there: what is to be delivered stays in the outbox."""
HUMANS = """PREFIX : <http://sensorstream.example/tracking#>
SELECT ?human WHERE { ?human a :Human }"""


def send(application: Application, count: int, start: int) -> None:
    for content in tracker_messages(count, start=start):
        application.submit(content, "test").result(300)
    # Reports are published after the sender is answered.
    application.pipeline.settled(lambda: None).result(300)


def outbox(url: str) -> list[tuple[str, str, str]]:
    """Webhook, id and data of all reports that are still to be delivered."""
    return execute(
        url,
        "select webhook_id, report_id, report_data from store.outbox "
        "where report_id is not null order by id",
    )


def ids_in_outbox(url: str) -> list[str]:
    return [report for _, report, _ in outbox(url)]


def told(application: Application, name: str) -> list[str]:
    """The ids of all reports of a query."""
    queries = application.queries
    return [each.id for each in queries.reports(queries.view(name), 0)[1]]


def test_only_what_a_webhook_asks_for_is_stored(
    settings: Settings, application: Application
) -> None:
    webhook = application.webhooks.register(
        WebhookDefinition(NOBODY, queries=("asked", "later", "asked"))
    )
    assert webhook.queries == ("asked", "later")
    for name in ("asked", "other"):
        application.queries.register(HUMANS, name)
    send(application, 3, 1)
    application.queries.register(HUMANS, "later")
    send(application, 3, 4)
    assert told(application, "other")

    def stored() -> list[str]:
        return sorted(each for _, each, _ in outbox(settings.history.url))

    # The last one may be told a moment after it is stored.
    eventually(
        lambda: stored() == sorted([*told(application, "asked"), *told(application, "later")])
    )
    kept = outbox(settings.history.url)
    assert {webhook for webhook, _, _ in kept} == {webhook.id}


@pytest.mark.parametrize("lost", [False, True])
def test_reports_of_messages_that_are_processed_again_are_queued_once_under_the_same_ids(
    settings: Settings, open_application: Open, lost: bool
) -> None:
    """Lost: as after a crash of the machine, the journal is on disk, the last effects are not."""
    application = open_application(settings)
    application.webhooks.register(WebhookDefinition(NOBODY, queries=("humans",)))
    application.queries.register(HUMANS, "humans")
    send(application, 12, 1)
    # The last ones may be told a moment after they are stored.
    eventually(lambda: told(application, "humans") == ids_in_outbox(settings.history.url))
    reports = told(application, "humans")
    application.close()
    before = outbox(settings.history.url)
    if lost:
        forget_effects(settings.history.url, "events", "incidents")
    else:
        execute(settings.history.url, "delete from store.checkpoints")
    again = open_application(settings)
    assert told(again, "humans") == reports
    assert outbox(settings.history.url) == before
    send(again, 1, 13)
    eventually(lambda: told(again, "humans") == ids_in_outbox(settings.history.url))
    again.close()


@pytest.mark.parametrize("name", ["", "a\nb", "nul \x00", "x" * 2001])
def test_a_name_that_no_query_can_have_is_refused(application: Application, name: str) -> None:
    with pytest.raises(QueryError, match="not a name of a query"):
        application.webhooks.register(WebhookDefinition(NOBODY, queries=("good", name)))
    assert application.webhooks.all() == []
