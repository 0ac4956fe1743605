"""Queries, webhooks and the ontology as versions in the journal, over a real PostgreSQL."""

from __future__ import annotations

import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.versions import digest_of
from sensorstream.errors import ChangedMeanwhile, UnknownVersion, UnknownWebhook, WebhookError
from sensorstream.journal.registration import PutWebhook, RemoveWebhook
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings import Settings
from tests.app.conftest import Open
from tests.databases import execute

NOBODY = "http://127.0.0.1:9/"
ONE = "SELECT ?x { ?x a <urn:x:One> }"
OTHER = "SELECT ?x { ?x a <urn:x:Other> }"


def test_a_query_that_was_replaced_is_the_new_one_after_every_restart(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    queries = application.queries
    first = queries.put("q", ONE, "me")
    second = queries.put("q", OTHER, "you", lambda digest: digest is not None)
    with pytest.raises(ChangedMeanwhile):
        queries.put("q", ONE, "me", lambda digest: digest is None)
    versions = list(queries.versions.all("q"))
    assert [(each.change, each.by) for each in versions] == [
        (first.entry, "me"),
        (second.entry, "you"),
    ]
    application.close()
    again = open_application(settings)
    (view,) = again.queries.views()
    assert (view.text, view.entry) == (OTHER, second.entry)
    again.close()
    execute(settings.history.url, "delete from store.checkpoints")
    replayed = open_application(settings)
    assert [(each.text, each.entry) for each in replayed.queries.views()] == [(OTHER, second.entry)]
    assert list(replayed.queries.versions.all("q")) == versions


def test_a_webhook_keeps_its_secret_while_its_definition_changes(
    settings: Settings, application: Application
) -> None:
    webhooks = application.webhooks
    made = webhooks.put("ops", WebhookDefinition(NOBODY, ("q",)), "me")
    assert made is not None
    assert webhooks.put("ops", WebhookDefinition(NOBODY, ("q",)), "me") is None
    execute(settings.history.url, "update store.webhooks set disabled_at = now()")
    assert webhooks.put("ops", WebhookDefinition(NOBODY, ("q", "r")), "you") is None
    state = webhooks.one("ops")
    assert (state.webhook.queries, state.webhook.secret) == (("q", "r"), made.secret)
    # Another URL is another receiver: what failed before says nothing of it.
    assert state.disabled_at is not None
    webhooks.put("ops", WebhookDefinition(f"{NOBODY}b"), "me")
    assert webhooks.one("ops").disabled_at is None
    versions = list(webhooks.versions.all("ops"))
    assert [each.by for each in versions] == ["me", "you", "me"]
    assert made.secret.encode() not in b"".join(each.text or b"" for each in versions)
    assert webhooks.versions.one(versions[0].change, "ops").text == versions[0].text
    with pytest.raises(ChangedMeanwhile):
        webhooks.delete("ops", "me", lambda digest: digest == versions[0].digest)
    webhooks.delete("ops", "me")
    assert list(webhooks.versions.all("ops"))[-1].text is None
    with pytest.raises(UnknownWebhook):
        list(webhooks.versions.all("never"))
    for wrong in ("out_kafka", "a b", "", "x" * 65):
        with pytest.raises(WebhookError, match="not an id"):
            webhooks.put(wrong, WebhookDefinition(NOBODY))


def test_a_change_of_a_webhook_that_only_the_journal_has_is_made_at_the_next_start(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    webhooks = application.webhooks
    for name in ("changed", "gone", "kept"):
        webhooks.put(name, WebhookDefinition(NOBODY))
    kept = webhooks.one("kept")
    # As if the process had died before the table was written.
    pipeline = application.pipeline
    for entry in (
        PutWebhook("changed", WebhookDefinition(f"{NOBODY}b"), "me"),
        PutWebhook("new", WebhookDefinition(NOBODY, ("q",)), "me"),
        RemoveWebhook("gone", "me"),
    ):
        pipeline.change(entry).result(60)
    application.close()
    again = open_application(settings)
    found = {each.webhook.id: each.webhook for each in again.webhooks.all()}
    assert found.keys() == {"changed", "new", "kept"}
    assert found["changed"].url == f"{NOBODY}b"
    assert found["new"].queries == ("q",)
    assert again.webhooks.one("kept") == kept


def test_there_is_a_bound_to_the_number_of_webhooks(
    settings: Settings, open_application: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.control.webhook_control._MOST", 1)
    webhooks = open_application(settings).webhooks
    one = webhooks.register(WebhookDefinition(NOBODY))
    with pytest.raises(WebhookError, match="1 webhooks already"):
        webhooks.put("two", WebhookDefinition(NOBODY))
    assert webhooks.put(one.id, WebhookDefinition(f"{NOBODY}b")) is None


def test_an_ontology_is_tried_put_on_condition_and_read_again(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    ontologies = application.ontologies
    before = ontologies.in_force()
    assert list(ontologies.versions.all()) == []
    more = before.content + b"<urn:x:More> a <http://www.w3.org/2002/07/owl#Class> .\n"
    nt = "application/n-triples"
    assert ontologies.try_put(more.replace(b" a ", b" a a "), nt).faults != ()
    more = more.replace(b" a ", b" <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ")
    assert ontologies.try_put(more, nt).faults == ()
    nothing = ontologies.try_put(b"", nt).faults
    assert "no class" in nothing[0].message
    assert ontologies.in_force() == before
    change = ontologies.put(more, nt, "me", lambda digest: digest == digest_of(before.content))
    with pytest.raises(ChangedMeanwhile):
        ontologies.put(before.content, nt, "me", lambda digest: digest == digest_of(before.content))
    (one,) = ontologies.versions.all()
    assert (one.change, one.by, one.text) == (change, "me", more)
    assert ontologies.versions.one(change) == one
    with pytest.raises(UnknownVersion, match=f"there are {change}"):
        ontologies.versions.one("m99")
    application.close()
    again = open_application(settings)
    assert again.ontologies.in_force().content == more
    assert list(again.ontologies.versions.all()) == [one]
