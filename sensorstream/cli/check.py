"""``sensorstream check``: every fault of a deployment, before the first message arrives."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.options import address, config_option, json_option
from sensorstream.errors import (
    OntologyError,
    Position,
    SensorStreamError,
    ServerUnreachable,
)
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.analysis import Note
    from sensorstream.app.control.wiring import Deployment
    from sensorstream.language.syntax import RuleFile
    from sensorstream.mapping.document import Element
    from sensorstream.mapping.functions import Definition
    from sensorstream.model.terms import Triple
    from sensorstream.reasoning.ontology import Ontology
    from sensorstream.rules.rule_compiler import CompiledRule


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
@click.argument(
    "files",
    nargs=-1,
    metavar="[FILE…]",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
)
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
    from sensorstream.analysis import Note
    from sensorstream.app.control.faults import faults
    from sensorstream.app.control.folder import check_query_files, query_files
    from sensorstream.app.control.wiring import read_deployment, read_rules
    from sensorstream.cli.lasting import lasting
    from sensorstream.reasoning.clashes import clashes
    from sensorstream.reasoning.ontology import deployed_ontology
    from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC
    from sensorstream.reasoning.survey import without_rules

    summary = unseen = ""
    notes: list[Note] = []
    own: list[Definition] = []
    told: list[str] = []
    with lasting("reading the ontology and the rules", quiet=as_json):
        try:
            settings = _settings(config, files)
            load = cache(deployed_ontology)
            found = [] if files else list(faults(settings, read_ontology=load))
            if not found or files:
                queries = files or query_files(settings.folder)
                schema = load(settings.ontology).schema
                by_names = settings.reasoning.profile in DESCRIPTION_LOGIC
                line = settings.time.line
                checked = check_query_files(queries, schema, line, names_only=by_names)
                found, notes = checked.faults, checked.notes
                summary = _counted((len(queries), "file", "files"))
            if not found and not files:
                # A fault between the parts also prevents the server from starting.
                deployment = read_deployment(settings)
                summary = _summary(deployment, len(queries))
                rules = read_rules(settings.rules.files)
                functions = deployment.reference.functions
                notes[:0] = deployment_notes(
                    settings, rules, deployment.ontology, deployment.rules, functions
                )
                notes += _sample_notes(settings, rules, deployment)
                own = list(functions.values())
                ontology = deployment.ontology
                clashing = list(islice(clashes(ontology), _SHOWN))
                if clashing and settings.reasoning.profile in ("hermit", "pellet"):
                    found = [OntologyError(_CONTRADICTS + each) for each in clashing]
                elif reasoning:
                    told = list(_reasoning(settings, deployment))
                else:
                    first = settings.ontology.files[0] if settings.ontology.files else config
                    place = Position(str(first), 1, 1)
                    notes += [Note("contradiction", _CONTRADICTS + e, place) for e in clashing]
                    unseen = "" if as_json or clashing else _UNSEEN
                    if by_names:
                        asked = list(without_rules(ontology, frozenset()))
                        # Where all axioms have rules, that is the one sentence.
                        notes += [Note("asked", each, place) for each in asked if len(asked) > 1]
        except SensorStreamError as error:
            found = [error]
    edited = None if found or files else _edited(settings, url)
    placed = [(_position(fault, config), fault) for fault in found]
    if as_json:
        from sensorstream.cli.terminal import print_json

        print_json(
            {
                "ok": not found,
                "faults": [
                    {
                        "file": place.file,
                        "line": place.line,
                        "column": place.column,
                        "code": fault.code,
                        "message": fault.message,
                    }
                    for place, fault in placed
                ],
                "notes": [
                    {
                        "file": note.position.file,
                        "line": note.position.line,
                        "column": note.position.column,
                        "code": note.code,
                        "message": note.text,
                    }
                    for note in notes
                ],
                **({"reasoning": told} if reasoning else {}),
                "edited": edited,
                "functions": [_function(each, config) for each in own],
            }
        )
    else:
        for place, fault in placed:
            click.echo(f"{place}: {fault.message}")
        for note in notes:
            click.echo(f"{note.position}: note: {note.text}")
        for each in own:
            click.echo(f"{each.position}: function: {each.usage}")
        for line in told:
            click.echo(f"reasoning: {line}")
        if edited:
            click.echo(
                f"edited: {', '.join(edited)}: {url or address(settings)} has other texts in force "
                "and does not read the files: 'sensorstream apply' puts them in force"
            )
        if not found:
            click.echo(f"ok: {summary}")
            if unseen:
                click.echo(unseen, err=True)
    if found:
        raise click.exceptions.Exit(1)


def _reasoning(settings: Settings, deployment: Deployment) -> Iterator[str]:
    """What reasoning comes to, after a start of the reasoner; a contradiction is an error."""
    from sensorstream.reasoning.profiles import make_reasoner
    from sensorstream.reasoning.resilient import ResilientReasoner
    from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
    from sensorstream.reasoning.survey import (
        costs,
        hubs,
        rules_left,
        sampled,
        spent,
        started,
        without_rules,
    )

    chosen, ontology = settings.reasoning, deployment.ontology
    asks = chosen.profile not in ("none", "plain")
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
    with started(ontology, made) as kb:
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
        yield from costs(kb, made, styles, most, lambda: spent(made))
        if not known:
            yield f"measured up to {most}: the size of the window is no number of individuals"


def _sample_triples(settings: Settings, deployment: Deployment) -> Iterator[Sequence[Triple]]:
    """What the rules make of each sample message that they take."""
    from sensorstream.model.events import Message

    for number, root in enumerate(_samples(settings), 1):
        with suppress(SensorStreamError):
            message = Message(f"sample-{number}", b"", 0)
            for event in deployment.mapping.apply(root.getroottree(), message).events:
                yield event.triples


def _edited(settings: Settings, url: str | None) -> list[str] | None:
    """What a server has in force with other texts; None: no server answers."""
    from sensorstream.app.control.folder import read_folder
    from sensorstream.cli.client import Client
    from sensorstream.cli.in_force import differing, read_in_force

    place = url or address(settings)
    try:
        ours = read_folder(settings)
        with Client(place, timeout=_PATIENCE) as client:
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


def deployment_notes(
    settings: Settings,
    files: Sequence[RuleFile],
    ontology: Ontology,
    rules: Sequence[CompiledRule],
    own: Container[str] = (),
) -> Iterator[Note]:
    """Notes: no faults, but worth knowing; ``rules`` are the semantic rules of ``files``.

    ``own`` are the names of the user's own functions.
    """
    from sensorstream.analysis import Note
    from sensorstream.app.control.faults import axiom_notes
    from sensorstream.app.control.mapping_files import is_rule_file
    from sensorstream.mapping.notes import mapping_notes
    from sensorstream.rules.continuous import evaluated_anew
    from sensorstream.rules.notes import rule_notes

    for remark in ontology.remarks:
        yield Note(remark.code, remark.text, Position(str(remark.file), 1, 1))
    yield from mapping_notes(files, own)
    yield from axiom_notes(files, settings.reasoning.profile)
    yield from rule_notes(
        files,
        ontology.schema,
        ontology.triples,
        settings.time.timeline,
        others_make=not all(map(is_rule_file, settings.rules.files)),
    )
    for rule, told in evaluated_anew(rules):
        yield Note("evaluated-anew", f"rule {rule.name}: {told}", rule.position)


def _sample_notes(
    settings: Settings, files: Sequence[RuleFile], deployment: Deployment
) -> Iterator[Note]:
    """What finds nothing in the sample messages, if there are some."""
    from sensorstream.mapping.notes import sample_notes

    schema, line = deployment.ontology.schema, settings.time.timeline
    samples = _samples(settings)
    yield from sample_notes(files, schema, line, samples, deployment.reference)


def _samples(settings: Settings) -> list[Element]:
    """The sample messages of all rule files."""
    from sensorstream.app.control.mapping_files import is_rule_file
    from sensorstream.editor.samples import read_samples, sample_files

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
    return _counted(*parts, *([(queries, "query file", "query files")] if queries else ()))


def _counted(*parts: tuple[int, str, str]) -> str:
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in parts)


def _position(error: SensorStreamError, config: Path) -> Position:
    """Where the fault is; a fault without a position belongs to the settings file as a whole."""
    return error.position or Position(str(config), 1, 1)
