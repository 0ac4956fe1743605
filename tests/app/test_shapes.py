"""Shapes of a deployment: at the door, and while they are violated in the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.file_faults import faults
from sensorstream.app.life.entry_queue import MessageSender
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import ShapesError, ViolatedShapes
from sensorstream.history.journal_rows import journal_rows
from sensorstream.journal.registration import RegisterQuery
from sensorstream.model import xsd
from sensorstream.settings.settings import PipelineSettings, Settings, ShapeSettings
from tests.shapes.test_against_pyshacl import EX, HEAD
from tests.waiting import eventually

Open = Callable[[Settings], Application]
Deploy = Callable[[str, str, str], Settings]

SHAPES = HEAD + (
    ":SensorShape sh:targetClass :Sensor ; "
    'sh:property [ sh:path :room ; sh:minCount 1 ; sh:message "without a room" ] ; '
    "sh:property [ sh:path :value ; sh:maxInclusive 40 ; sh:severity sh:Warning ] ."
)
ONTOLOGY = (
    "@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    ":Sensor a owl:Class . :Thermometer a owl:Class ; rdfs:subClassOf :Sensor .\n"
    ":room a owl:ObjectProperty . :value a owl:DatatypeProperty ."
)
RULES = f"""prefix : <{EX}>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping sensor
on message {{/Sensor}}
then insert individual :{{@id}} a :Thermometer at {{@time}}
  ; :value {{@value}}^^xsd:integer .
mapping room
on message {{/Sensor[@room]}}
then insert individual :{{@id}} a :Thermometer at {{@time}}
  ; :room :{{@room}} .
"""


@pytest.fixture
def shaped(deploy: Deploy, tmp_path: Path) -> Callable[[str], Settings]:
    def made(policy: str) -> Settings:
        (tmp_path / "s.ttl").write_text(SHAPES)
        shapes = ShapeSettings((tmp_path / "s.ttl",), policy)
        return replace(deploy(ONTOLOGY, RULES, "2"), shapes=shapes)

    return made


def sent(application: Application, sensor: str, time: int, rest: str = "value='1'") -> Outcome:
    message = f'<Sensor id="{sensor}" time="{time}" {rest}/>'
    return application.submit(message.encode(), "test").result(60)


def test_a_violation_is_an_alert_while_it_lasts(
    shaped: Callable[[str], Settings], open_application: Open
) -> None:
    settings = shaped("note")
    application = open_application(settings)
    names = [each.name for each in application.queries.views()]
    assert names == ["shape-SensorShape-room-MinCount", "shape-SensorShape-value-MaxInclusive"]
    outcome = sent(application, "s1", 1, 'value="50"')
    assert outcome.status.value == "accepted"
    (note,) = outcome.warnings
    assert "violates shapes" in note
    assert "without a room" in note
    sent(application, "s2", 2, "room='r' value='1'")

    def alerts() -> dict[str, tuple[str, str]]:
        now = application.clock.now()
        told = application.reader.alerts_before(10)
        return {
            each.alert.rule: (each.alert.severity, application.incidents.one(each.id, now).state)
            for each in told
        }

    eventually(lambda: len(alerts()) == 2)
    assert alerts() == {names[0]: ("critical", "open"), names[1]: ("warning", "open")}
    texts = [each.alert.text for each in application.reader.alerts_before(10)]
    assert f"{EX}s1 {EX}room: without a room (shape {EX}SensorShape)" in texts
    report = application.shapes_report()
    assert [(each.focus, each.value) for each in report.violations] == [
        (f"{EX}s1", None),
        (f"{EX}s1", f'"50"^^<{xsd.INTEGER}>'),
    ]
    # The first leaves the window of two individuals.
    sent(application, "s3", 3, "room='r' value='1'")
    sent(application, "s4", 4, "room='r' value='1'")
    eventually(lambda: {state for _, state in alerts().values()} == {"cleared"})
    entries = [each.entry for each in application.queries.views()]
    application.close()
    again = open_application(settings)
    assert [each.entry for each in again.queries.views()] == entries
    again.close()
    bare = open_application(replace(settings, shapes=ShapeSettings()))
    assert bare.queries.views() == []
    assert bare.shapes_report().conforms


def test_what_other_shapes_find_in_a_restored_window_begins_once(
    shaped: Callable[[str], Settings], open_application: Open
) -> None:
    settings = shaped("note")
    (file,) = settings.shapes.files
    bare = open_application(replace(settings, shapes=ShapeSettings()))
    sent(bare, "s1", 1, 'value="50"')
    sent(bare, "s2", 2, 'value="30"')
    bare.close()
    first = {("room", "s1"): 1, ("room", "s2"): 1, ("value", "s1 50"): 1}
    more = {("value", "s2 30"): 1}
    for text, expected in (
        (SHAPES, first),
        (SHAPES, first),
        (SHAPES.replace("40", "20"), first | more),
        (SHAPES.replace("minCount 1", "minCount 0"), {("value", "s1 50"): 1}),
    ):
        file.write_text(text)
        application = open_application(settings)
        eventually(partial(lambda app, told: opened(app) == told, application, expected))
        assert opened(application) == expected
        application.close()


def opened(application: Application) -> dict[tuple[str, str], int]:
    found = application.incidents.list(None, 10, None, application.clock.now())
    return {
        (each.rule.split("-")[2], each.key.rpartition("/")[2]): each.count
        for each in found
        if each.kind == "query"
    }


@pytest.mark.parametrize(
    ("policy", "told"),
    [("reject", f"violates shapes: {EX}s1 {EX}room: without a room"), ("quarantine", "sh:result")],
)
def test_a_message_that_violates_a_shape_is_not_taken_in(
    shaped: Callable[[str], Settings], open_application: Open, policy: str, told: str
) -> None:
    application = open_application(shaped(policy))
    with pytest.raises(ViolatedShapes, match=told):
        sent(application, "s1", 1)
    with application.pipeline.lock:
        assert len(application.engine.window) == 0
    kept = [each.code for each in application.reader.quarantined(10)]
    assert kept == ([] if policy == "reject" else ["violated-shapes"])
    sender = MessageSender("test")
    # By its id each can be taken in anew.
    with pytest.raises(ViolatedShapes):
        application.messages.replay("m3", None, sender).result(60)
    # A warning alone is noted.
    outcome = sent(application, "s2", 2, "room='r' value='99'")
    assert outcome.status.value == "accepted"
    assert "violates shapes" in outcome.warnings[0]


def test_where_the_engines_are_on_spark_the_queries_are_journalled(
    shaped: Callable[[str], Settings], open_application: Open
) -> None:
    settings = replace(shaped("note"), pipeline=PipelineSettings(runner="spark"))
    application = open_application(settings)
    rows = list(journal_rows(application.url, 0))
    assert [each[2].split("-")[2] for each in rows] == ["room", "value"]
    assert all(RegisterQuery.decode(each[5], each[2]).found for each in rows)
    assert application.shapes_report().conforms


def test_wrong_shapes_are_faults_of_the_deployment(shaped: Callable[[str], Settings]) -> None:
    settings = shaped("note")
    settings.shapes.files[0].write_text(SHAPES + " :SensorShape sh:node :SensorShape .")
    (fault,) = faults(settings)
    assert isinstance(fault, ShapesError)
    assert "recursive" in str(fault)
    assert f"{settings.shapes.files[0]}:2:1" in str(fault)
