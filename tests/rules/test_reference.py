"""The examples of docs/semantic-rules.md do what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sensorstream.language import parse
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import compile_rules

Play: TypeAlias = Callable[..., Any]

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```rules\n(.*?)```(?:\s*```story\n(.*?)```)?", re.S)
EXAMPLES = BLOCK.findall((PAGES / "semantic-rules.md").read_text("utf-8"))
STORIES = [(rules, story) for rules, story in EXAMPLES if story]


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) >= 5
    assert len(STORIES) >= 3


@pytest.mark.parametrize("page", ["semantic-rules.md", "rule-language.md"])
def test_every_example_compiles(page: str) -> None:
    compiled = 0
    text = (PAGES / page).read_text("utf-8")
    for rules in re.findall(r"```rules\n((?:(?!```).)*)```(?!\s*```error)", text, re.S):
        declared = "prefix :" in rules
        file = parse(rules if declared else f"prefix : <http://example.org/>\n{rules}", page)
        # The page about the language also has a duration of the integer line.
        line = Timeline.INTEGER if re.search(r'for "\d+"', rules) else Timeline.DATETIME
        compiled += len(compile_rules([file], Schema(), line))
    assert compiled >= 5


@pytest.mark.parametrize(("rules", "story"), STORIES)
def test_every_story_comes_true(play: Play, rules: str, story: str) -> None:
    stage = play(rules.replace("prefix : <http://example.org/>", ""), Timeline.DATETIME)
    asked = 0
    for line in story.strip().splitlines():
        word, _, text = line.partition(" ")
        if word == "message":
            told = [part.strip().replace(":", "") for part in text.split(" . ")]
            before = stage.window()
            result = stage.say(*told)
            done = stage.window() - before - set(told)
            done |= {f"alert {alert.text}" for alert in result.alerts}
            done |= {f"reply {reply}" for reply in result.replies}
            continue
        assert word == "then"
        expected = set() if text.strip() == "nothing" else set(re.split(r" [.;] ", text.strip()))
        assert done == {
            each if each.startswith(("alert", "reply")) else each.replace(":", "")
            for each in expected
        }
        asked += 1
    assert asked
