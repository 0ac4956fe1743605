"""``when … for`` over restarts: what has begun goes on, and nothing fires twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sensorstream.app.application import Application
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings, TimeSettings
from tests.app.conftest import Open
from tests.databases import forget_effects
from tests.engine.sensors import MAPPING, ONTOLOGY

HOT = """
rule hot
when select { SELECT ?s ?v { ?s :value ?v FILTER(?v > 30) } } becomes true for "10"
then alert warning "{?s} {?v} {?now}" key "{?s}"
"""
RULES = MAPPING + HOT


def test_a_restart_neither_repeats_nor_loses_a_firing(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "r.rules").write_text(RULES)
    ours = replace(
        settings,
        ontology=OntologySettings((tmp_path / "o.ttl",)),
        rules=RuleSettings((tmp_path / "r.rules",)),
        # However long the restarts take, no time passes for rules meanwhile.
        time=TimeSettings(silence="queries"),
    )
    found = []
    for time, name, value in ((1, "a", 31), (2, "b", 40), (8, "b", 20), (11, "c", 5), (30, "c", 6)):
        application = open_application(ours)
        content = f"<m id='{name}' t='{time}' v='{value}'/>"
        application.submit(content.encode(), "test").result(60)
        found.append(alerts(application))
        application.close()
    told = ["http://example.org/a 31 11"]
    assert found == [[], [], [], told, told]
    forget_effects(settings.history.url)
    assert alerts(open_application(ours)) == told


def alerts(application: Application) -> list[str]:
    return [each.alert.text for each in application.reader.alerts_before(100)]
