"""Queries and rules that describe a class, where the reasoner knows classes by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.control.file_faults import faults
from sensorstream.app.control.wiring import read_deployment
from sensorstream.app.recorded_engine import build_engine
from sensorstream.errors import LanguageError, Position, UnsupportedQuery
from sensorstream.settings.settings import ReasoningSettings
from tests.app.conftest import AskCache, Deploy, Open

ONTOLOGY = """@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:A a owl:Class . :p a owl:ObjectProperty ."""
QUERY = """PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX : <urn:x:>
SELECT ?x { ?x a [ owl:onProperty :p ; owl:someValuesFrom :A ] }"""
OVER_TIME = """PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX : <urn:x:>
define { dotr_id1 :of ?x }
from A(SELECT ?x { ?x a [ owl:onProperty :p ; owl:someValuesFrom :A ] }) with ?x = A.?x"""
RULES = """prefix owl: <http://www.w3.org/2002/07/owl#>
prefix : <urn:x:>
rule some on change
if ask { ASK { ?x a [ owl:onProperty :p ; owl:someValuesFrom :A ] } }
then alert info "some"
"""


def test_hermit_refuses_them_with_the_definition_to_write_and_rules_do_not(
    deploy: Deploy, open_application: Open, ask_cache: AskCache, tmp_path: Path
) -> None:
    settings = deploy(ONTOLOGY, "", "10")
    with_hermit = replace(settings, reasoning=ReasoningSettings(profile="hermit"))
    application = open_application(with_hermit)
    told = r"put a definition into the ontology, .*<urn:x:p>.*--on ontology"
    with pytest.raises(UnsupportedQuery, match=told) as caught:
        application.queries.register(QUERY, "q")
    assert caught.value.position is not None
    assert (caught.value.position.line, caught.value.position.column) == (2, 18)
    with pytest.raises(UnsupportedQuery, match=told):
        ask_cache(application, QUERY)
    with pytest.raises(UnsupportedQuery, match=told) as caught:
        application.queries.register(OVER_TIME, "r")
    assert caught.value.position is not None
    assert (caught.value.position.line, caught.value.position.column) == (3, 25)
    trial = application.rulebook.try_put("new.rules", RULES)
    assert [each.position.line for each in trial.faults if each.position] == [4]
    with pytest.raises(LanguageError, match=told):
        application.rulebook.put("new.rules", RULES, "ann")
    application.close()
    application = open_application(settings)
    assert application.queries.register(QUERY, "q").name == "q"
    assert ask_cache(application, QUERY) == []
    assert application.queries.register(OVER_TIME, "r").name == "r"


@pytest.mark.parametrize("profile", ["hermit", "pellet", "plain"])
def test_rules_that_describe_a_class_do_not_load_where_classes_have_to_have_names(
    deploy: Deploy, profile: str
) -> None:
    settings = replace(deploy(ONTOLOGY, RULES, "10"), reasoning=ReasoningSettings(profile=profile))
    if profile == "plain":
        assert [rule.name for rule in read_deployment(settings).rules] == ["some"]
        return
    with pytest.raises(LanguageError, match="put a definition into the ontology") as caught:
        read_deployment(settings)
    (file,) = settings.rules.files
    assert caught.value.position == Position(str(file), 4, 21)
    assert [each.position for each in faults(settings)] == [caught.value.position]


def test_rules_for_recorded_events_must_name_classes_too(tmp_path: Path) -> None:
    file = tmp_path / "some.rules"
    file.write_text(RULES)
    with pytest.raises(LanguageError, match="put a definition into the ontology"):
        build_engine(profile="hermit", rules=[file], window="landmark")
