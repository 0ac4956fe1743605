"""The recipes of docs/start/cookbook.md raise the alerts that the page says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sensorstream.cli.stories.story_player import StoryStage, standing_alone
from sensorstream.cli.stories.story_reader import Story, read_stories, stories_of

PAGE = Path(__file__).parents[3] / "docs" / "start" / "cookbook.md"
STORIES = read_stories(PAGE)
# NOW() cannot be kept in step, so this condition is evaluated on Oxigraph, as the action is.
ON_OXIGRAPH = """
```rules
prefix : <http://example.org/>
prefix ss: <urn:sensorstream:function:>

rule opened
on insert :Door as ?d
if ask { ASK { FILTER(HOURS(ss:local(?now, "Europe/Bucharest")) = 14 && NOW() > ?now) } }
then
  alert info "open"
  sparql { INSERT { ?d :at ?t } WHERE { ?d a :Door BIND(ss:local(?now, "Asia/Tokyo") AS ?t) } }
```

```story
prefix ss: <urn:sensorstream:function:>
event at 2026-03-02T12:00:00Z :d a :Door
then only alert info "open"
then ask { ASK { ?d :at ?t FILTER(HOURS(?t) = 21 && HOURS(ss:local(?t, "UTC")) = 12) } }
then not ask { ASK { ?d :at ?t FILTER(HOURS(ss:local(?t, "UTC")) = 21) } }
```
"""


@pytest.fixture(scope="module")
def stage() -> Iterator[StoryStage]:
    with closing(StoryStage(standing_alone(PAGE.parent))) as stage:
        yield stage


def test_there_are_twenty_alerts_under_names_of_their_own() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES) >= 20


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_recipe_raises_its_alert(stage: StoryStage, story: Story) -> None:
    assert stage.play(story).differences == ()


def test_local_times_are_the_same_in_rules_that_are_evaluated_anew(stage: StoryStage) -> None:
    (story,) = stories_of(ON_OXIGRAPH, "anew.md")
    assert stage.play(story).differences == ()
