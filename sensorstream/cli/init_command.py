"""``sensorstream init``: a working folder to start from; ``demo`` makes such folders, too."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

import click

from sensorstream.cli.options import FILE, SETTINGS_FILE
from sensorstream.installation import bundled, lacking
from sensorstream.model.frozen import fields, frozen
from sensorstream.settings.settings import LISTED_SECTIONS, NAMED_SECTIONS, SECTIONS, ServerSettings


@frozen
class WorkspaceTemplate:
    """A kind of working folder; its ontology and its rule file have its ``name``, too.

    ``settings`` are those that differ from the defaults; ``messages`` makes the sample messages, by
    file name.
    """

    name: str
    sentence: str
    settings: Given
    messages: Callable[[], Iterable[tuple[str, bytes]]]


def _tracker_samples() -> Iterable[tuple[str, bytes]]:
    from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages

    yield "paper.xml", PAPER_MESSAGE
    for number, message in enumerate(tracker_messages(5, start=2679), 2679):
        yield f"face-{number}.xml", message


def _city_samples() -> Iterable[tuple[str, bytes]]:
    from sensorstream.cli.simulation.city_messages import MADE_UP, made_up

    before_the_jam = made_up(MADE_UP.jam - timedelta(minutes=15), MADE_UP.jam)
    for number, each in enumerate(before_the_jam, 1):
        yield f"{number:02}-{each.kind}-{each.sensor}.xml", each.xml()


_COMMON: Final[Given] = {"reasoning": {"profile": "hermit"}}

TEMPLATES: Final[Mapping[str, WorkspaceTemplate]] = {
    template.name: template
    for template in (
        WorkspaceTemplate(
            "tracking",
            "people seen by a face tracker, on a time line of integers",
            {**_COMMON, "time": {"line": "integer"}, "window": {"size": "1000"}},
            _tracker_samples,
        ),
        WorkspaceTemplate(
            "city",
            "traffic, weather and air of a city, on a time line of dates and times",
            {
                **_COMMON,
                "time": {"line": "datetime"},
                "window": {"unit": "time", "size": "PT1H", "step": "PT5M"},
            },
            _city_samples,
        ),
    )
}


@click.command("init")
@click.argument("names", metavar="DIR", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    help="; ".join(f"{each.name}: {each.sentence}" for each in TEMPLATES.values())
    + ".  [default: tracking]",
)
@click.option(
    "--from",
    "samples",
    multiple=True,
    type=FILE,
    metavar="MESSAGE...",
    help="Draft an ontology and mapping rules for these XML messages instead: the more, the "
    "better is known what tells them apart.",
)
@click.option("--empty", is_flag=True, help="Make an empty ontology and no rules instead.")
def command(
    names: tuple[Path, ...], template: str | None, samples: tuple[Path, ...], empty: bool
) -> None:
    """Make a working folder: settings, ontology, rules and sample messages.

    DIR must be new or empty.
    """
    if (template is not None) + bool(samples) + empty > 1:
        raise click.UsageError("expected only one of --template, --from and --empty")
    # 'init --from *.xml DIR': all but the first of the messages stand where DIR does.
    messages = [each for each in names if samples and each.is_file()]
    folder, *others = [each for each in names if each not in messages] or [Path()]
    if len(messages) == len(names) or others or folder.is_file():
        told = ", ".join(map(str, (*others, folder) if others else names))
        raise click.UsageError(f"expected one new DIR, and messages after --from: got {told}")
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(
            f"'{folder}' is not empty; give a new folder, so that nothing is overwritten",
            param_hint="DIR",
        )
    steps = ["check -c {path}", "map -c {path} {folder}/messages/*.xml", "serve -c {path}"]
    if samples:
        path, told_of = make_from(folder, (*samples, *messages))
        count = len(samples) + len(messages)
        what = samples[0].name if count == 1 else f"{count} messages"
        click.echo(f"made {folder}: a draft of an ontology and mapping rules for {what}")
        for each in told_of:
            click.echo(each, err=True)
        steps[2:] = ["run -c {path} --messages {folder}/messages --watch", "test -c {path}"]
        steps.append("serve -c {path}")
    elif empty:
        path = make_empty(folder)
        click.echo(f"made {folder}: settings, an empty ontology and no rules")
        del steps[1]
    else:
        chosen = TEMPLATES[template or "tracking"]
        without_java = {"reasoning": {"profile": "owl2rl"}} if lacking("reasoners") else {}
        path = make_workspace(folder, chosen, without_java)
        click.echo(f"made {folder}: {chosen.sentence}")
        if without_java:
            told = "the profile is owl2rl: hermit needs pip install 'sensorstream[reasoners]'"
            click.echo(told, err=True)
    click.echo("")
    click.echo("next:")
    for step in steps:
        click.echo(f"  sensorstream {step.format(path=path, folder=folder)}")


def make_workspace(
    folder: Path, template: WorkspaceTemplate, overrides: Given | None = None
) -> Path:
    """Fill an empty or new folder; returns the path of its settings file.

    ``overrides`` take precedence over the template's settings.
    """
    _make_folders(folder)
    ontology, rules = f"{template.name}.ttl", f"{template.name}.rules"
    shutil.copyfile(bundled("ontologies") / ontology, folder / "ontology" / ontology)
    shutil.copyfile(bundled("mapping_rules") / rules, folder / "rules" / rules)
    for name, message in template.messages():
        (folder / "messages" / name).write_bytes(message)
    return _write_settings(folder, template.sentence, template.settings, overrides or {})


def make_empty(folder: Path) -> Path:
    """Fill an empty or new folder with settings, an empty ontology and a file without rules;
    returns the path of its settings file.
    """
    _make_folders(folder)
    shutil.copyfile(_TEXTS / "ontology.ttl", folder / "ontology" / "ontology.ttl")
    shutil.copyfile(_TEXTS / "rules.rules", folder / "rules" / "rules.rules")
    return _write_settings(folder, "yet to be found", {"time": {"line": "datetime"}})


def make_from(folder: Path, samples: Sequence[Path]) -> tuple[Path, list[str]]:
    """Fill an empty or new folder with a draft for messages, and with a story of them. Returns the
    path of its settings file, and what to look at: what was guessed and what left out.

    Raises:
        MalformedMessage: a file is no XML message.
    """
    from sensorstream.cli.draft.draft_names import DraftNames
    from sensorstream.cli.draft.draft_text import draft_of
    from sensorstream.cli.draft.message_shape import shape_of, tag_of
    from sensorstream.engine.message_reading import DEEPEST
    from sensorstream.mapping.xml_document import parse_document

    contents = [each.read_bytes() for each in samples]
    roots = [parse_document(each, max_depth=DEEPEST).getroot() for each in contents]
    subject = quote(tag_of(roots[0].tag)[1].lower(), safe="")
    start = f"http://example.org/{subject}#"
    namespaces = {
        name: uri for root in roots for each in root.iter() for name, uri in each.nsmap.items()
    }
    more = f" and {len(samples) - 1} more" if len(samples) > 1 else ""
    draft = draft_of(shape_of(roots), namespaces, start, f"{samples[0].name}{more}")
    _make_folders(folder)
    for name in ("stories", "shapes"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "ontology" / "draft.ttl").write_text(draft.ontology, "utf-8")
    (folder / "rules" / "draft.rules").write_text(draft.rules, "utf-8")
    (folder / "shapes" / "draft.ttl").write_text(draft.shapes, "utf-8")
    names = DraftNames()
    messages = [
        f"{names.new(each.stem if each.suffix == '.xml' else 'sample')}.xml" for each in samples
    ]
    for message, content in zip(messages, contents, strict=True):
        (folder / "messages" / message).write_bytes(content)
    steps = "\n".join(f"message messages/{each}" for each in messages)
    story = _filled("stories.md", messages=steps, asked=draft.classes[-1])
    (folder / "stories" / "draft.md").write_text(story, "utf-8")
    # Webhooks may be tried on this machine without a restart.
    given: dict[str, dict[str, object]] = {
        "time": {"line": draft.timeline.value},
        "webhooks": {"allow": ["127.0.0.1/32"]},
    }
    if (longest := max(map(len, contents))) > ServerSettings().max_message_bytes:
        given["server"] = {"max_message_bytes": 2 * longest}
    told = [f"a guess: {each}" for each in draft.guesses]
    told.append("a guess: all in shapes/draft.ttl: it is in use once shapes.files names it")
    told += [
        f"left out: {path}" if count == 1 else f"left out: {path}, {count} elements"
        for path, count in draft.left_out.items()
    ]
    return _write_settings(folder, f"messages like {messages[0]}", given), told


def _make_folders(folder: Path) -> None:
    for name in ("ontology", "rules", "messages"):
        (folder / name).mkdir(parents=True, exist_ok=True)


def _write_settings(folder: Path, sentence: str, *given: Given) -> Path:
    """Write settings, the later ones before the earlier, and the page that explains the folder."""
    files: Given = {
        "ontology": {"files": ["ontology/*.ttl"]},
        "rules": {"files": ["rules/*.rules"]},
    }
    settings: dict[str, dict[str, object]] = {}
    for section, values in itertools.chain.from_iterable(each.items() for each in (files, *given)):
        settings.setdefault(section, {}).update(values)
    path = folder / SETTINGS_FILE
    path.write_text(settings_text(_HEADING.format(sentence=sentence), settings), "utf-8")
    (folder / "README.md").write_text(_filled("README.md", sentence=sentence), "utf-8")
    return path


_TEXTS: Final = Path(__file__).with_name("workspace")


def _filled(name: str, **given: str) -> str:
    """A text of the folder, with what is given in place of the names in braces."""
    text = (_TEXTS / name).read_text("utf-8")
    for each, value in given.items():
        text = text.replace(f"{{{each}}}", value)
    return text


_HEADING: Final = """\
The settings of this deployment: {sentence}.
A setting in a comment has the value shown there. Relative paths start at this
file. The environment variable SENSORSTREAM_<SECTION>_<NAME> wins over this file.
"""


Given: TypeAlias = Mapping[str, Mapping[str, object]]


def settings_text(heading: str, given: Given) -> str:
    """The text of a ``sensorstream.toml``: every setting with its sentence.

    Settings in ``given`` (section, then name) are set; all others are comments with their defaults.
    Sections with names that the user chooses follow as comments.
    """
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, kind in SECTIONS.items():
        lines += ["", f"[{section}]"]
        values = given.get(section, {})
        for setting in fields(kind):
            sign = "" if setting.name in values else "# "
            value = values.get(setting.name, setting.default)
            if (section, setting.name) == ("spark", "conf"):
                value = {}
            lines.append(f"# {setting.metadata['sentence']}")
            lines.append(f"{sign}{setting.name} = {_toml(value)}")
    for section, kind in NAMED_SECTIONS.items():
        lines += ["", f"# [{section}.NAME]"]
        for setting in fields(kind):
            lines.append(f"#   {setting.metadata['sentence']}")
            lines.append(f"#   {setting.name.rstrip('_')} = {_toml(setting.default)}")
    for section, (head, types) in LISTED_SECTIONS.items():
        known = ", ".join(types)
        more = "docs/operate/inputs.md has the options" if types else "docs/use/spark.md"
        lines += ["", f"# [[{section}]]  (as often as needed; {more})"]
        for setting in fields(head):
            told = f" One of {known}." if setting.metadata["choices"] else ""
            lines.append(f"#   {setting.metadata['sentence']}{told}")
            lines.append(f"#   {setting.name.rstrip('_')} = {_toml(setting.default)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    # TOML writes strings, numbers, booleans and lists of strings as JSON does.
    return json.dumps("" if value is None else value, ensure_ascii=False, default=str)
