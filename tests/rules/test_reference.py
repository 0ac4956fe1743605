"""The examples of docs/use/semantic-rules.md do what the page says."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from sensorstream.language import parse
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.stories.story_player import StoryStage, standing_alone
from sensorstream.stories.story_reader import read_stories

PAGES = Path(__file__).parents[2] / "docs" / "use"


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


def test_every_story_comes_true() -> None:
    stories = read_stories(PAGES / "semantic-rules.md")
    assert len(stories) >= 3
    with closing(StoryStage(standing_alone(PAGES))) as stage:
        verdicts = [stage.play(story) for story in stories]
    assert [each.differences for each in verdicts] == [()] * len(stories)
