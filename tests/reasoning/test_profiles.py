from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.errors import QueryError, SettingsError
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.ontology_survey import rules_left, started
from sensorstream.reasoning.profiles import check_profile, make_reasoner
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner


@pytest.fixture
def ontology(tmp_path: Path) -> Ontology:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":near a owl:TransitiveProperty , owl:SymmetricProperty ."
    )
    return load_ontology([tmp_path / "o.ttl"])


def test_a_profile_may_be_rule_sets_by_name_and_by_file(tmp_path: Path, ontology: Ontology) -> None:
    (tmp_path / "mine.ru").write_text("# mine\nINSERT { ?x a <urn:y> } WHERE { ?x <urn:p> ?y }")
    made = make_reasoner("pdstar, mine.ru", ontology, folder=tmp_path)
    assert isinstance(made, RuleReasoner)
    with started(ontology, made):
        pass
    names = {rule.name for rule in made.rules}
    assert {"mine", "rdfp3", "rdfp4"} <= names
    said = list(rules_left(made))
    assert "joins: rdfp4" in said
    assert "kept as clusters of names: rdfp6, rdfp7, rdfp11" in said
    assert not any("mine" in each or "rdfp3" in each for each in said)


@pytest.mark.parametrize("profile", ["owl", "owl2rl, plain", "owl2rl,", "rules/mine.txt"])
def test_what_is_no_profile_is_refused_with_what_there_is(profile: str) -> None:
    with pytest.raises(SettingsError, match=r"none, plain, hermit, pellet, or rule sets .* rdfs"):
        check_profile(profile)


def test_a_rule_set_that_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, ontology: Ontology
) -> None:
    with pytest.raises(SettingsError, match=r"cannot read the rule set .*mine\.ru: "):
        make_reasoner("mine.ru", ontology, folder=tmp_path)
    (tmp_path / "mine.ru").write_text("# wrong\nINSERT { ?x a ?y }\nWHERE { ?x }")
    with pytest.raises(QueryError, match=r"mine\.ru:3:"):
        make_reasoner("mine.ru", ontology, folder=tmp_path)
