"""``sensorstream test``: stories, that is, messages and what must become of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.cli.terminal import lasting, print_json
from sensorstream.errors import SettingsError
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.stories.story import Story
    from sensorstream.stories.verdict import Difference, Verdict

_FOLDER: Final = "stories"


@click.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@config_option
@json_option
@click.pass_context
def command(context: click.Context, paths: tuple[Path, ...], config: Path, as_json: bool) -> None:
    """Run stories: messages, and what must become of them.

    A PATH is a Markdown file or a folder of them; without one it is the folder "stories" beside the
    settings. Each story runs on an engine of its own, with the ontology, rules, window and reasoner
    of the deployment. No server is needed and nothing is stored. Prints what differs, as
    "file:line:column: message", and exits with 1 if a story fails.
    """
    from sensorstream.stories.playing import Stage, standing_alone

    given = context.get_parameter_source("config") is click.core.ParameterSource.COMMANDLINE
    if given or config.exists():
        settings = load_settings(config)
    elif not paths:
        raise SettingsError(f"there is no {config} here: expected -c FILE, or a PATH with stories")
    else:
        settings = standing_alone(paths[0] if paths[0].is_dir() else paths[0].parent)
    stories = list(_stories(paths or (settings.folder / _FOLDER,)))
    verdicts: list[Verdict] = []
    with lasting("reading the deployment") as say, closing(Stage(settings)) as stage:
        for story in stories:
            say(f"story '{story.name}'")
            verdict = stage.play(story)
            verdicts.append(verdict)
            if not as_json:
                _show(verdict)
    failed = sum(not each.holds for each in verdicts)
    if as_json:
        stories_data = [_data(each) for each in verdicts]
        print_json({"passed": len(verdicts) - failed, "failed": failed, "stories": stories_data})
    else:
        click.echo(f"{len(verdicts) - failed} passed, {failed} failed")
    if failed:
        raise click.exceptions.Exit(1)


def _stories(paths: tuple[Path, ...]) -> Iterator[Story]:
    from sensorstream.stories.reading import find_stories, read_stories

    found = [story for path in find_stories(paths) for story in read_stories(path)]
    if not found:
        places = ", ".join(map(str, paths))
        raise SettingsError(
            f"no stories in {places}: expected Markdown files (*.md) with blocks '```story'"
        )
    yield from found


def _show(verdict: Verdict) -> None:
    story = verdict.story
    if verdict.holds:
        click.echo(f"{story.position.file}:{story.position.line}: passed: {story.name}")
        return
    click.echo(f"{story.position.file}:{story.position.line}: FAILED: {story.name}")
    for each in verdict.differences:
        click.echo(f"  {each.position}: {each.what}")
        for word, lines in _parts(each):
            for line in lines:
                click.echo(f"    {word:<10} {line}")
                word = ""


def _parts(difference: Difference) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "expected", difference.missing
    yield "unexpected", difference.unexpected
    none = difference.missing and not difference.unexpected and not difference.got
    yield "got", ("nothing of the kind",) if none else difference.got


def _data(verdict: Verdict) -> dict[str, Any]:
    story = verdict.story
    return {
        "story": story.name,
        "file": story.position.file,
        "line": story.position.line,
        "passed": verdict.holds,
        "differences": [
            {
                "file": each.position.file,
                "line": each.position.line,
                "what": each.what,
                "expected": each.missing,
                "unexpected": each.unexpected,
                "got": each.got,
            }
            for each in verdict.differences
        ],
    }
