"""The recipes of docs/cookbook.md raise the alerts that the page says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sensorstream.stories.playing import Stage, standing_alone
from sensorstream.stories.reading import read_stories
from sensorstream.stories.story import Story

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
STORIES = read_stories(PAGE)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with closing(Stage(standing_alone(PAGE.parent))) as stage:
        yield stage


def test_there_are_twenty_alerts_under_names_of_their_own() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES) >= 20


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_recipe_raises_its_alert(stage: Stage, story: Story) -> None:
    assert stage.play(story).differences == ()
