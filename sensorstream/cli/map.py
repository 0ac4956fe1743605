"""``sensorstream map``: the result of the mapping rules for messages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.clock import SystemClock
from sensorstream.errors import MessageError
from sensorstream.model.xsd import XSD
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.mapping.plan import Mapped
    from sensorstream.model.timeline import Timeline


@click.command("map")
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@config_option
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="Report what each rule, map and XPath found, and what of the message is not mapped.",
)
@click.option(
    "--source",
    "name",
    default="rest",
    show_default=True,
    help="The source of the messages, which selects the schema and the stylesheets.",
)
@json_option
def command(
    messages: tuple[str, ...], config: Path, explained: bool, name: str, as_json: bool
) -> None:
    """Show what the mapping rules make of messages, as Turtle or TriG.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. No
    server is needed and nothing is stored. Exits with 1 if no rule matches a message, or a
    message cannot be mapped.
    """
    from sensorstream.app.control.engine_settings import read_schemas
    from sensorstream.app.control.mapping_files import (
        MappingFiles,
        read_reference,
    )
    from sensorstream.app.control.wiring import read_rules
    from sensorstream.cli.explanation import lines_of
    from sensorstream.cli.sources import sources
    from sensorstream.cli.terminal import print_json
    from sensorstream.cli.turtle import mapped_turtle
    from sensorstream.mapping.compile import compile_mapping
    from sensorstream.mapping.document import parse_document
    from sensorstream.mapping.rule_report import Explanation, explain
    from sensorstream.model.events import Message
    from sensorstream.reasoning.ontology import deployed_ontology

    settings = load_settings(config)
    timeline = settings.time.timeline
    files = read_rules(settings.rules.files)
    ontology = deployed_ontology(settings.ontology)
    schema = ontology.schema
    reference = read_reference(files, ontology.triples, settings.functions.files)
    library = reference.library_of("")
    beside = MappingFiles(settings.rules.files, schema, timeline, settings.rules.base, library)
    plan = compile_mapping(files, schema, timeline, reference, read_schemas(settings))
    plan = beside.added_to(plan, files)
    others = beside.single_maps() if explained else ()
    prefixes = {"xsd": XSD} | {each.name: each.iri for file in files for each in file.prefixes}
    arrival = timeline.of(SystemClock().now())
    answers: list[dict[str, object]] = []
    headed = faulty = False
    for number, source in enumerate(sources(messages), 1):
        content = source.read()
        message = Message(f"m{number}", content, arrival, name)
        explanations: tuple[Explanation, ...] = ()
        mapped, fault = None, ""
        try:
            document = parse_document(content, max_depth=settings.server.max_depth)
            if explained:
                explanations = explain(
                    files, schema, timeline, document, message, reference, others
                )
            mapped = plan.apply(document, message)
        except MessageError as error:
            fault = f"{error.code}: {error}"
        else:
            if not mapped.matched:
                fault = f"no mapping rule matches: {mapped.hint}"
        for told in [fault] if fault else mapped.warnings if mapped is not None else ():
            faulty = True
            click.echo(f"{source.name}: {told}", err=True)
        for note in mapped.notes if mapped is not None else ():
            click.echo(f"{source.name}: note: {note}", err=True)
        head, body = "", ""
        if mapped is not None:
            head, body = mapped_turtle(mapped, prefixes)
        if as_json:
            answer: dict[str, object] = {"message": source.name}
            if mapped is None:
                answer["error"] = fault
            else:
                answer |= {
                    "matched": mapped.matched,
                    "individuals": mapped.individuals,
                    "warnings": (*mapped.warnings, *mapped.notes),
                    "turtle": "\n".join(mapped_turtle(mapped, prefixes, merged=True)),
                }
                if any(event.graphs for event in mapped.events):
                    answer["trig"] = f"{head}\n{body}"
            if explained:
                answer["explanation"] = [asdict(each) for each in explanations]
            answers.append(answer)
            continue
        if mapped is not None and body:
            if not headed:
                click.echo(head)
                headed = True
            click.echo(f"\n{_heading(source.name, mapped, timeline)}\n{body.strip()}")
        for part, explanation in enumerate(explanations, 1):
            of = f", message {part} of {len(explanations)}" if len(explanations) > 1 else ""
            click.echo("\n".join((f"\n# {source.name}{of}", *lines_of(explanation))))
    if as_json:
        print_json(answers)
    if faulty:
        raise click.exceptions.Exit(1)


def _heading(name: str, mapped: Mapped, timeline: Timeline) -> str:
    times = ", ".join(timeline.format(event.time) for event in mapped.events)
    return f"# {name}: {', '.join(mapped.matched)}; time {times}"
