"""The examples of docs/use/semantic-rules.md do what the page says."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from sensorstream.cli.stories.story_player import StoryStage, standing_alone
from sensorstream.cli.stories.story_reader import read_stories
from sensorstream.language import parse
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_compiler import compile_rules

PAGE = Path(__file__).parents[2] / "docs" / "use" / "semantic-rules.md"


def test_every_example_compiles() -> None:
    compiled = 0
    for rules in re.findall(r"^```rules\n(.*?)^```$", PAGE.read_text("utf-8"), re.S | re.M):
        compiled += len(compile_rules([parse(rules, PAGE.name)], Schema(), Timeline.DATETIME))
    assert compiled >= 10


def test_every_story_comes_true() -> None:
    stories = read_stories(PAGE)
    assert len(stories) >= 3
    with closing(StoryStage(standing_alone(PAGE.parent))) as stage:
        verdicts = [stage.play(story) for story in stories]
    assert [each.differences for each in verdicts] == [()] * len(stories)
