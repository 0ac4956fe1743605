"""``sensorstream map``: what the mapping rules make of messages."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sensorstream.cli.options import config_option, json_option
from sensorstream.clock import SystemClock
from sensorstream.errors import MessageError
from sensorstream.model.datatypes import XSD
from sensorstream.settings import load_settings

if TYPE_CHECKING:
    from sensorstream.mapping.plan import Mapped
    from sensorstream.model.timeline import Timeline


@click.command("map")
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@config_option
@json_option
def command(messages: tuple[str, ...], config: Path, as_json: bool) -> None:
    """Show what the mapping rules make of messages, as Turtle.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. No
    server is needed and nothing is kept. Exits with 1 if no rule matches a message, or one
    cannot be mapped.
    """
    from sensorstream.app.mapping_files import with_mapping_files
    from sensorstream.app.wiring import read_rules
    from sensorstream.cli.console import print_json
    from sensorstream.cli.sources import sources
    from sensorstream.mapping.compile import compile_mapping
    from sensorstream.mapping.document import parse_document
    from sensorstream.model.events import Message
    from sensorstream.reasoning.ontology import load_ontology

    settings = load_settings(config)
    timeline = settings.time.timeline
    files = read_rules(settings.rules.files)
    schema = load_ontology(settings.ontology.files).schema
    plan = with_mapping_files(
        compile_mapping(files, schema, timeline), files, settings.rules.files, schema, timeline
    )
    prefixes = {"xsd": XSD} | {each.name: each.iri for file in files for each in file.prefixes}
    arrival = timeline.of(SystemClock().now())
    answers: list[dict[str, object]] = []
    headed = faulty = False
    for number, source in enumerate(sources(messages), 1):
        content = source.read()
        try:
            document = parse_document(content, max_depth=settings.server.max_depth)
            mapped = plan.apply(document, Message(f"m{number}", content, arrival, source.name))
        except MessageError as error:
            faulty = True
            click.echo(f"{source.name}: {error.code}: {error}", err=True)
            continue
        if not mapped.matched:
            faulty = True
            click.echo(f"{source.name}: no mapping rule matches: {mapped.hint}", err=True)
        head, body = turtle(mapped, prefixes)
        if as_json:
            answers.append(
                {
                    "message": source.name,
                    "matched": mapped.matched,
                    "individuals": mapped.individuals,
                    "turtle": f"{head}\n{body}",
                }
            )
        elif body:
            if not headed:
                click.echo(head)
                headed = True
            click.echo(f"\n{_heading(source.name, mapped, timeline)}\n{body.strip()}")
    if as_json:
        print_json(answers)
    if faulty:
        raise click.exceptions.Exit(1)


def _heading(name: str, mapped: Mapped, timeline: Timeline) -> str:
    times = ", ".join(timeline.format(event.time) for event in mapped.events)
    return f"# {name}: {', '.join(mapped.matched)}; time {times}"


def turtle(mapped: Mapped, prefixes: Mapping[str, str]) -> tuple[str, str]:
    """The statements of a message in Turtle: the prefix lines, and all the rest."""
    lines = _serialize(
        (f"{s.n3} {p.n3} {o.n3} ." for event in mapped.events for s, p, o in event.triples),
        prefixes,
    ).splitlines()
    head = [line for line in lines if line.startswith("@prefix")]
    return "\n".join(head), "\n".join(line for line in lines if not line.startswith("@prefix"))


def _serialize(ntriples: Iterable[str], prefixes: Mapping[str, str]) -> str:
    import pyoxigraph

    statements = pyoxigraph.parse("\n".join(ntriples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    triples = [quad.triple for quad in statements]
    text = io.BytesIO()
    pyoxigraph.serialize(triples, text, format=pyoxigraph.RdfFormat.TURTLE, prefixes=dict(prefixes))
    return text.getvalue().decode()
