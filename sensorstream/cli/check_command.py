"""``sensorstream check``: every fault of a deployment; ``test``: its stories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.options import FILE, address, config_option, is_given, json_option
from sensorstream.cli.terminal import lasting, print_json
from sensorstream.errors import (
    OntologyError,
    Position,
    SensorStreamError,
    ServerUnreachable,
    SettingsError,
)
from sensorstream.installation import lacking
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.analysis import Note
    from sensorstream.app.control.wiring import Deployment
    from sensorstream.cli.stories.story_reader import Story, StoryDifference, Verdict
    from sensorstream.mapping.functions.function_definition import Definition
    from sensorstream.mapping.xml_document import Element
    from sensorstream.model.terms import Triple

_CONTRADICTS: Final = "the ontology contradicts itself: "
_UNSEEN: Final = (
    "not looked at: contradictions of the ontology that only HermiT finds (--reasoning asks it)"
)
_SHOWN: Final = 5
_PATIENCE: Final = 5.0
"""Seconds to wait for each answer of a server."""
_ASSUMED: Final = 100
"""Individuals in a window whose size is a time or a number of triples."""


@click.command("check")
@click.argument("files", nargs=-1, metavar="[FILE…]", type=FILE)
@click.option("--url", metavar="URL", help="The server to compare with; by default the settings'.")
@click.option(
    "--reasoning",
    is_flag=True,
    help="Start the reasoner too: whether the ontology has a model, and what joins individuals.",
)
@config_option
@json_option
def command(
    files: tuple[Path, ...], url: str | None, reasoning: bool, config: Path, as_json: bool
) -> None:
    """Check the settings, the ontology, the rules and the queries.

    Prints "file:line:column: message" for each fault and exits with 1; else prints notes, the
    functions of your own that rules may call, then "ok" and a summary. There are notes on rules
    that cannot fire, that are tried on messages of another kind or whose cost grows with the
    window, on names in queries that the ontology does not declare, on filters that are never true
    and on operations that can have no value, on imports that are mapped or left out, and on names
    that the ontology uses and does not declare, and on expressions of mapping rules that find
    nothing in any sample message. Contradictions that the ontology states outright
    are faults for hermit and pellet, else notes; --reasoning finds all. If the server of the
    settings answers, what it has in force is compared with the files: it does not read an edited
    file until "sensorstream apply".
    """
    checked = _Checked(config, url)
    with lasting("reading the ontology and the rules"):
        try:
            checked.settings = _settings(config, files)
            checked.check(files, reasoning)
        except SensorStreamError as error:
            checked.faults = [error]
    faulty = bool(checked.faults)
    checked.edited = None if faulty or files else _edited(checked.settings, url)
    if as_json:
        print_json(checked.data(reasoning))
    else:
        checked.show()
    if faulty:
        raise click.exceptions.Exit(1)


@dataclass(slots=True)
class _Checked:
    """The findings in a deployment; those of ``reasoning`` are there only if it was asked."""

    config: Path
    url: str | None
    settings: Settings = field(init=False)
    faults: list[SensorStreamError] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    functions: list[Definition] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    edited: list[str] | None = None
    """Texts in force on a server that differ; None: nobody was asked, or answers."""
    summary: str = ""
    left: str = ""
    """A sentence on what was not looked at."""

    def check(self, files: Sequence[Path], reasoning: bool) -> None:
        """Look at these files, or at the whole deployment."""
        from sensorstream.app.control.deployment_folder import check_query_files, query_files
        from sensorstream.app.control.file_faults import faults
        from sensorstream.reasoning.ontology import deployed_ontology
        from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC

        settings, load = self.settings, cache(deployed_ontology)
        if not files:
            self.faults = list(faults(settings, read_ontology=load))
            if self.faults:
                return
        queries = files or query_files(settings.folder)
        schema = load(settings.ontology).schema
        by_names = settings.reasoning.profile in DESCRIPTION_LOGIC
        found = check_query_files(queries, schema, settings.time.line, names_only=by_names)
        self.faults, self.notes = found.faults, found.notes
        self.summary = _counted((len(queries), "file", "files"))
        if not self.faults and not files:
            self._check_together(len(queries), reasoning, by_names)

    def _check_together(self, queries: int, reasoning: bool, by_names: bool) -> None:
        """Look for faults between the parts, which keep the server from starting, too."""
        from sensorstream.analysis import Note
        from sensorstream.app.control.file_faults import deployment_notes
        from sensorstream.app.control.wiring import read_deployment, read_rules
        from sensorstream.mapping.mapping_notes import sample_notes
        from sensorstream.reasoning.ontology_survey import clashes, without_rules

        settings = self.settings
        deployment = read_deployment(settings)
        self.summary = _summary(deployment, queries)
        rules = read_rules(settings.rules.files)
        functions, ontology = deployment.reference.functions, deployment.ontology
        self.notes[:0] = deployment_notes(settings, rules, ontology, deployment.rules, functions)
        schema, samples = ontology.schema, _samples(settings)
        line, reference = settings.time.timeline, deployment.reference
        self.notes += sample_notes(rules, schema, line, samples, reference)
        self.functions = list(functions.values())
        clashing = [_CONTRADICTS + each for each in islice(clashes(ontology), _SHOWN)]
        if clashing and settings.reasoning.profile in ("hermit", "pellet"):
            self.faults = list(map(OntologyError, clashing))
            return
        if reasoning:
            self.reasoning = list(_reasoning(settings, deployment))
            return
        first = settings.ontology.files[0] if settings.ontology.files else self.config
        place = Position(str(first), 1, 1)
        self.notes += [Note("contradiction", each, place) for each in clashing]
        self.left = "" if clashing else _UNSEEN
        if by_names:
            asked = list(without_rules(ontology, frozenset()))
            # Where all axioms have rules, one sentence is left, which says so.
            self.notes += [Note("asked", each, place) for each in asked if len(asked) > 1]

    def _place(self, error: SensorStreamError) -> Position:
        """The place of a fault; without a position it belongs to the settings file as a whole."""
        return error.position or Position(str(self.config), 1, 1)

    def data(self, reasoning: bool) -> dict[str, object]:
        """The findings as JSON data."""
        faults = [_data(self._place(each), each.code, each.message) for each in self.faults]
        return {
            "ok": not self.faults,
            "faults": faults,
            "notes": [_data(each.position, each.code, each.text) for each in self.notes],
            **({"reasoning": self.reasoning} if reasoning else {}),
            "edited": self.edited,
            "functions": [_function(each, self.config) for each in self.functions],
        }

    def show(self) -> None:
        """Print the findings."""
        for fault in self.faults:
            click.echo(f"{self._place(fault)}: {fault.message}")
        for note in self.notes:
            click.echo(f"{note.position}: note: {note.text}")
        for each in self.functions:
            click.echo(f"{each.position}: function: {each.usage}")
        for line in self.reasoning:
            click.echo(f"reasoning: {line}")
        if self.edited:
            place = self.url or address(self.settings)
            click.echo(
                f"edited: {', '.join(self.edited)}: {place} has other texts in force "
                "and does not read the files: 'sensorstream apply' puts them in force"
            )
        if not self.faults:
            click.echo(f"ok: {self.summary}")
            if self.left:
                click.echo(self.left, err=True)


def _data(place: Position, code: str, message: str) -> dict[str, object]:
    return {**asdict(place), "code": code, "message": message}


def _reasoning(settings: Settings, deployment: Deployment) -> Iterator[str]:
    """The findings of reasoning, after a start of the reasoner; a contradiction is an error."""
    from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
    from sensorstream.reasoning.ontology_survey import (
        costs,
        hubs,
        rules_left,
        sampled,
        spent,
        started,
        without_rules,
    )
    from sensorstream.reasoning.profiles import make_reasoner
    from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner

    chosen, ontology = settings.reasoning, deployment.ontology
    asks = chosen.profile not in ("none", "plain")
    if not asks and lacking("reasoners"):
        yield f"the profile {chosen.profile} asks no reasoner, and none is installed to try one"
        return
    name = chosen.profile if asks else "hermit"
    made = make_reasoner(
        name,
        ontology,
        java=chosen.java,
        heap=chosen.heap,
        timeout=chosen.timeout,
        folder=settings.path.parent,
    )
    size = settings.window.size
    known = settings.window.unit == "individuals" and size.isdigit()
    most = max(1, int(size)) if known else _ASSUMED
    with started(ontology, made) as aside:
        if isinstance(made, RuleReasoner):
            yield from rules_left(made)
        else:
            yield f"consistent: {name} finds a model of the ontology"
            if not asks:
                yield f"the profile {chosen.profile} asks no reasoner about messages"
                return
            assert isinstance(made, ResilientReasoner)
            yield from made.take_left_open()
            yield from without_rules(ontology, made.left_out)
        messages = list(_sample_triples(settings, deployment))
        styles = sampled(messages, ontology)
        if styles:
            yield "measured as the sample messages link individuals; others may cost more"
        else:
            styles = hubs(ontology, asks=isinstance(made, ResilientReasoner))
        yield from costs(aside, styles, most, lambda: spent(made))
        if not known:
            yield f"measured up to {most}: the size of the window is no number of individuals"


def _sample_triples(settings: Settings, deployment: Deployment) -> Iterator[Sequence[Triple]]:
    """The statements that the rules make of each sample message that they take."""
    from sensorstream.model.events import Message

    for number, root in enumerate(_samples(settings), 1):
        with suppress(SensorStreamError):
            message = Message(f"sample-{number}", b"", 0)
            for event in deployment.mapping.apply(root.getroottree(), message).events:
                yield event.triples


def _edited(settings: Settings, url: str | None) -> list[str] | None:
    """The differences of the files from a server's texts in force; None: no server answers."""
    from sensorstream.app.control.deployment_folder import read_folder
    from sensorstream.cli.apply_command import differing, read_in_force

    place = url or address(settings)
    try:
        ours = read_folder(settings)
        with CommandClient(place, timeout=_PATIENCE) as client:
            return list(differing(read_in_force(client, ours), ours))
    except ServerUnreachable:
        return None
    except SensorStreamError as error:
        click.echo(f"not compared with {place}: {error}", err=True)
        return None


def _function(own: Definition, config: Path) -> dict[str, object]:
    place = own.position or Position(str(config), 1, 1)
    return {
        "file": place.file,
        "line": place.line,
        "name": own.name,
        "usage": own.usage,
        "meaning": own.meaning,
        "iri": own.iri,
    }


def _samples(settings: Settings) -> list[Element]:
    """The sample messages of all rule files."""
    from sensorstream.app.control.mapping_files import is_rule_file
    from sensorstream.cli.editor.sample_messages import read_samples, sample_files

    named = [
        sample
        for file in filter(is_rule_file, settings.rules.files)
        for sample in sample_files(file, file.read_text(encoding="utf-8"), settings.folder)
    ]
    return read_samples(dict.fromkeys(named))


def _settings(config: Path, files: Sequence[Path]) -> Settings:
    """The settings, which single files can do without."""
    from sensorstream.app.control.file_texts import is_query_file

    for file in files:
        if not is_query_file(file):
            raise click.UsageError(
                f"{file}: rule files are checked together, as the settings name them: expected "
                "queries (*.rq) or rules over time (*.dotr, *.dlog), or no FILE"
            )
    if files and not config.is_file():
        return Settings(config.absolute())
    return load_settings(config)


def _summary(deployment: Deployment, queries: int) -> str:
    schema = deployment.ontology.schema
    properties = len(schema.object_properties) + len(schema.datatype_properties)
    parts = (
        (len(schema.classes), "class", "classes"),
        (properties, "property", "properties"),
        (len(deployment.mapping.rules), "mapping rule", "mapping rules"),
        (len(deployment.rules), "semantic rule", "semantic rules"),
    )
    more = ((queries, "query file", "query files"), (len(deployment.stages), "stage", "stages"))
    return _counted(*parts, *(each for each in more if each[0]))


def _counted(*parts: tuple[int, str, str]) -> str:
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in parts)


_STORIES: Final = "stories"


@click.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@config_option
@json_option
def test(paths: tuple[Path, ...], config: Path, as_json: bool) -> None:
    """Run stories: messages, and what must become of them.

    A PATH is a Markdown file or a folder of them; without one it is the folder "stories" beside the
    settings. Each story runs on an engine of its own, with the ontology, rules, window and reasoner
    of the deployment. No server is needed and nothing is stored. Prints what differs, as
    "file:line:column: message", and exits with 1 if a story fails.
    """
    from sensorstream.cli.stories.story_player import StoryStage, standing_alone

    if is_given("config") or config.exists():
        settings = load_settings(config)
    elif not paths:
        raise SettingsError(f"there is no {config} here: expected -c FILE, or a PATH with stories")
    else:
        settings = standing_alone(paths[0] if paths[0].is_dir() else paths[0].parent)
    stories = list(_stories(paths or (settings.folder / _STORIES,)))
    verdicts: list[Verdict] = []
    with lasting("reading the deployment") as say, closing(StoryStage(settings)) as stage:
        for story in stories:
            say(f"story '{story.name}'")
            verdict = stage.play(story)
            verdicts.append(verdict)
            if not as_json:
                _show_verdict(verdict)
    failed = sum(not each.holds for each in verdicts)
    if as_json:
        stories_data = [_verdict_data(each) for each in verdicts]
        print_json({"passed": len(verdicts) - failed, "failed": failed, "stories": stories_data})
    else:
        click.echo(f"{len(verdicts) - failed} passed, {failed} failed")
    if failed:
        raise click.exceptions.Exit(1)


def _stories(paths: tuple[Path, ...]) -> Iterator[Story]:
    from sensorstream.cli.stories.story_reader import find_stories, read_stories

    found = [story for path in find_stories(paths) for story in read_stories(path)]
    if not found:
        places = ", ".join(map(str, paths))
        raise SettingsError(
            f"no stories in {places}: expected Markdown files (*.md) with blocks '```story'"
        )
    yield from found


def _show_verdict(verdict: Verdict) -> None:
    story = verdict.story
    told = "passed" if verdict.holds else "FAILED"
    click.echo(f"{story.position.file}:{story.position.line}: {told}: {story.name}")
    for each in verdict.differences:
        click.echo(f"  {each.position}: {each.what}")
        for word, lines in _parts(each):
            for line in lines:
                click.echo(f"    {word:<10} {line}")
                word = ""


def _parts(difference: StoryDifference) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "expected", difference.missing
    yield "unexpected", difference.unexpected
    none = difference.missing and not difference.unexpected and not difference.got
    yield "got", ("nothing of the kind",) if none else difference.got


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
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
