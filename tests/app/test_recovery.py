"""What a replay does: the same as when the entries were new."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.checkpoint import dump, load
from sensorstream.errors import Overrun
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.registration import RegisterQuery
from sensorstream.journal.takeover import PutOntology, ReadmitReasoner
from sensorstream.mapping.mapping_plan import MappingPlan
from sensorstream.model.events import Alert, Message, Status
from sensorstream.network.budget import EngineLoad
from sensorstream.testing import MemoryStore
from tests.app.pipelines import PEOPLE, all_kinds, left_behind, running, without_checkpoints
from tests.engine.test_engine_queries import of_another_build

TWICE = """PREFIX : <http://sensorstream.example/tracking#>
    SELECT ?p { { ?p a :Human } SEQ { ?q a :Human } FILTER(getDURATION() <
    "PT9S"^^<http://www.w3.org/2001/XMLSchema#duration>) }"""


def raised(effects: Effects) -> list[Alert]:
    return [each for each in effects.alerts if isinstance(each, Alert)]


def test_a_replay_does_what_was_done_when_the_entries_were_new(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as live:
        all_kinds(live)
        state = live.engine.state()
    kinds = {each.kind for each in live.store.records}
    assert kinds == {"message", "query", "query-end", "ontology", "reasoner", "audit"}
    with running(deployment, without_checkpoints(live.store)) as again:
        assert again.engine.state() == state
        assert left_behind(again.store) == left_behind(live.store)
        assert again.reports == live.reports
        assert again.exchange.put == live.exchange.put


def test_a_restart_from_a_checkpoint_goes_on_as_if_there_had_been_none(
    deployment: Deployment,
) -> None:
    store = MemoryStore()
    with running(deployment, store) as live:
        all_kinds(live)
        state = live.engine.state()
    assert len(store.checkpoints()) == 2
    with running(deployment, store) as again:
        assert again.engine.state() == state


def test_a_new_reasoner_or_ontology_that_was_refused_is_refused_again(
    deployment: Deployment,
) -> None:
    """Its effects are stored as a rejection: a replay does not even prepare a successor."""
    with running(deployment, MemoryStore()) as run:
        now = datetime(2014, 8, 1, tzinfo=UTC)
        for entry in (PutOntology(b"no ontology", "text/turtle"), ReadmitReasoner()):
            content, source = entry.encode()
            message = Message("m1", content, 1, source)
            record = Record(1, message, now, Status.REJECTED, entry.kind)
            outcome = entry.apply(run.exchange, record, ())
            assert (outcome.status, outcome.alerts) == (Status.REJECTED, ())


def test_a_message_that_takes_too_long_to_map_is_skipped_and_never_tried_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(deployment, MemoryStore()) as run:
        messages = [bytes(each) for each in tracker_messages(3)]
        run.send(messages[0])
        with monkeypatch.context() as patch:
            patch.setattr(MappingPlan, "apply", _too_slow)
            with pytest.raises(Overrun, match="far too slow") as caught:
                run.send(messages[1])
        assert caught.value.message_id == "m2"
        run.send(messages[2])
        state = run.engine.state()
        (alert,) = [a for e in run.store.committed for a in raised(e) if a.kind == "overrun"]
        assert (alert.text, alert.message) == ("far too slow", "m2")
        assert run.store.statuses()["m2"] is Status.SKIPPED
    store = MemoryStore()
    store.append(run.store.records)
    for each in run.store.committed:
        store.commit(each)
    # By now it would be quick enough.
    with running(deployment, store) as again:
        assert again.engine.state() == state


def _too_slow(*_: object, **__: object) -> None:
    raise Overrun("far too slow")


def test_queries_that_took_too_much_together_are_stopped_in_each_replay(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    with running(deployment, store) as run:
        run.change(RegisterQuery("people", PEOPLE))
        messages = [bytes(each) for each in tracker_messages(6)]
        for content in messages[:3]:
            run.send(content)
        with monkeypatch.context() as patch:
            patch.setattr(EngineLoad, "excess", lambda _: 1.0)
            run.send(messages[3])
        for content in messages[4:]:
            run.send(content)
        assert list(run.engine.queries.stopped) == ["people"]
        (alert,) = [a for e in store.committed for a in raised(e) if a.kind == "query-stopped"]
        assert "limits.query_seconds_together" in alert.text
        state = run.engine.state()
    with running(deployment, without_checkpoints(store)) as again:
        assert again.engine.state() == state


def test_a_query_of_another_plan_begins_anew_and_never_gives_an_id_twice(
    deployment: Deployment,
) -> None:
    store = MemoryStore()
    messages = [bytes(each) for each in tracker_messages(60)]
    with running(deployment, store) as run:
        run.change(RegisterQuery("twice", TWICE))
        # The newest checkpoint is that of the fourteenth entry, not of the last one.
        for content in messages[:18]:
            run.send(content)
        (newest, content), *_ = store.checkpoints()
    # Published after the sender is answered.
    before = [each.id for each in run.reports]
    assert before
    # As a crash leaves it: with reports after the checkpoint.
    store.drop_checkpoints([seq for seq, _ in store.checkpoints()])
    store.save_checkpoint(newest, dump(of_another_build(load(content), "twice")))
    with running(deployment, store) as again:
        replayed = len(again.reports)
        assert 0 < replayed < len(before)
        for content in messages[18:]:
            again.send(content)
        alerts = [a for e in store.committed for a in raised(e) if a.kind == "query-emptied"]
    after = [each.id for each in again.reports[replayed:]]
    assert len(after) > 1
    assert not set(after) & set(before)
    assert [each.key for each in alerts] == ["twice"]
    with running(deployment, store) as third:
        assert third.reports == []
        assert third.engine.queries.lost == []
