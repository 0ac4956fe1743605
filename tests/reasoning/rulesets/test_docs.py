"""What docs/use/rule-sets.md shows is so."""

from __future__ import annotations

import re
from pathlib import Path

from sensorstream.reasoning.rulesets.rule_set import renamed
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, bundled_rules, read
from tests.reasoning.rulesets.graphs import PREFIXES

PAGE = (Path(__file__).parents[3] / "docs" / "use" / "rule-sets.md").read_text(encoding="utf-8")


def test_the_rules_shown_are_those_of_the_files() -> None:
    shown = [
        rule
        for text in re.findall(r"```sparql\n(.*?)```", PAGE, re.S)
        for rule in read(f"{PREFIXES}\n{text}", "rule-sets.md").rules
    ]
    assert len(shown) == 8
    ours = {renamed(rule): rule.name for rule in bundled_rules("owl2rl").rules}
    assert {rule.name: ours.get(renamed(rule)) for rule in shown if " " not in rule.name} == {
        **{name: name for name in ("prp-dom", "cls-uni", "cls-int1", "prp-key", "prp-spo2")},
        "unheard": None,
        "visit": None,
        "assumed": None,
    }


def test_the_rule_that_switches_state_is_one() -> None:
    shown = [
        name
        for text in re.findall(r"```sparql\n(.*?)```", PAGE, re.S)
        for name in read(f"{PREFIXES}\n{text}", "rule-sets.md").state_names
    ]
    assert shown == ["lamp on"]


def test_all_sets_are_told() -> None:
    told = re.findall(r"^\| (`.*?) \| ", PAGE, re.M)
    assert [name for cell in told for name in re.findall(r"`([\w-]+)`", cell)] == list(SUMMARIES)
