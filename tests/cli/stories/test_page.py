"""The story of docs/use/explaining-and-testing.md comes true."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from sensorstream.cli.stories.story_player import StoryStage, standing_alone
from sensorstream.cli.stories.story_reader import read_stories

PAGE = Path(__file__).parents[3] / "docs" / "use" / "explaining-and-testing.md"


def test_the_story_of_the_page_comes_true() -> None:
    (story,) = read_stories(PAGE)
    with closing(StoryStage(standing_alone(PAGE.parent))) as stage:
        verdict = stage.play(story)
    assert verdict.differences == ()
