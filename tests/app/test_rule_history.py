"""What a deployment refuses of the questions of its rules to the history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.control.file_faults import faults
from sensorstream.app.control.wiring import read_deployment
from sensorstream.app.recorded_engine import build_engine
from sensorstream.errors import LanguageError
from sensorstream.settings.settings import PipelineSettings
from tests.app.conftest import Deploy

ONTOLOGY = "@prefix : <http://example.org/> ."
RULES = """
prefix : <http://example.org/>
rule r every "10"
from history select { SELECT (SHA1(?n) AS ?x) { ?s :name ?n } }
then alert info "{?x}"
"""


def test_what_sql_cannot_say_is_refused_when_the_rule_is_read(deploy: Deploy) -> None:
    settings = deploy(ONTOLOGY, RULES, "10")
    with pytest.raises(LanguageError, match="SHA1") as caught:
        read_deployment(settings)
    place = f"{settings.rules.files[0]}:4:23"
    assert str(caught.value.position) == place
    assert [str(each.position) for each in faults(settings)] == [place]


def test_the_times_of_a_question_are_those_of_the_line(deploy: Deploy) -> None:
    rules = RULES.replace("(SHA1(?n) AS ?x) {", "?x DURING 2000000/?now { ?s :name ?x .")
    read_deployment(deploy(ONTOLOGY, rules, "10"))
    with pytest.raises(LanguageError, match="'2014-08-01T00:00:00Z' is a time of the datetime li"):
        read_deployment(deploy(ONTOLOGY, rules.replace("2000000", '"2014-08-01T00:00:00Z"'), "10"))


def test_a_rule_that_asks_the_history_is_refused_on_spark(deploy: Deploy) -> None:
    settings = deploy(ONTOLOGY, RULES.replace("SHA1(?n)", "STR(?n)"), "10")
    read_deployment(settings)
    on_spark = replace(settings, pipeline=PipelineSettings(runner="spark", key="source"))
    with pytest.raises(LanguageError, match="rule r asks the history, and the engines run on Sp"):
        read_deployment(on_spark)
    assert [each.code for each in faults(on_spark)] == [LanguageError.code]


def test_an_engine_without_a_history_refuses_it(tmp_path: Path) -> None:
    file = tmp_path / "r.rules"
    file.write_text(RULES)
    with pytest.raises(LanguageError, match="there is none here: leave the rule out, or try it"):
        build_engine(rules=[file], window="landmark", line="integer", profile="none")
