"""The stories of docs/use/explaining-and-testing.md come true."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from sensorstream.cli.stories.story_player import StoryStage, standing_alone
from sensorstream.cli.stories.story_reader import read_stories

PAGE = Path(__file__).parents[3] / "docs" / "use" / "explaining-and-testing.md"


def test_every_story_of_the_page_comes_true() -> None:
    stories = read_stories(PAGE)
    assert len(stories) == 2
    with closing(StoryStage(standing_alone(PAGE.parent))) as stage:
        verdicts = [stage.play(story) for story in stories]
    assert [each.differences for each in verdicts] == [(), ()]
