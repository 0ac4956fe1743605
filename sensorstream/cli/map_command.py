"""``sensorstream map`` and ``try-message``: what mapping rules, or a server's, make of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_kinds import deployed, served
from sensorstream.cli.options import FILE, source_option
from sensorstream.cli.printers import mapped_turtle, prefixes_of
from sensorstream.cli.terminal import print_json, print_lines
from sensorstream.clock import SystemClock
from sensorstream.errors import MessageError
from sensorstream.model.frozen import asdict, frozen
from sensorstream.settings.settings import Settings

if TYPE_CHECKING:
    from sensorstream.mapping.mapping_plan import MappedMessage
    from sensorstream.mapping.rule_report import Explanation
    from sensorstream.model.events import Message
    from sensorstream.model.timeline import Timeline


@frozen
class _Result:
    """The result for one message; ``mapped`` is None if it could not be mapped."""

    name: str
    mapped: MappedMessage | None
    fault: str
    explanations: tuple[Explanation, ...]

    @property
    def problems(self) -> Sequence[str]:
        """The reasons why it is not accepted, or not whole."""
        if self.fault:
            return [self.fault]
        return () if self.mapped is None else self.mapped.warnings


@deployed(click.command("map"), json=True, is_first=True)
@click.argument("messages", metavar="MESSAGE...", nargs=-1, required=True)
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="Report what each rule, map and XPath found, and what of the message is not mapped.",
)
@source_option
def command(
    settings: Settings, messages: tuple[str, ...], explained: bool, source: str, as_json: bool
) -> None:
    """Show what the mapping rules make of messages, as Turtle or TriG.

    A MESSAGE is a file, a folder or ZIP archive of *.xml files, or "-" for standard input. No
    server is needed and nothing is stored. Exits with 1 if no rule matches a message, or a
    message cannot be mapped.
    """
    from sensorstream.cli.send_command import sources
    from sensorstream.model.events import Message

    timeline = settings.time.timeline
    result_of, prefixes = _mapping(settings, explained)
    arrival = timeline.of(SystemClock().now())
    answers: list[dict[str, object]] = []
    headed = faulty = False
    for number, each in enumerate(sources(messages), 1):
        found = result_of(each.name, Message(f"m{number}", each.read(), arrival, source))
        faulty = faulty or bool(found.problems)
        for told in found.problems:
            click.echo(f"{each.name}: {told}", err=True)
        for note in found.mapped.notes if found.mapped is not None else ():
            click.echo(f"{each.name}: note: {note}", err=True)
        if as_json:
            answers.append(_answer(found, prefixes, explained))
        else:
            headed = _show(found, prefixes, timeline, headed)
    if as_json:
        print_json(answers)
    if faulty:
        raise click.exceptions.Exit(1)


def _mapping(
    settings: Settings, explained: bool
) -> tuple[Callable[[str, Message], _Result], dict[str, str]]:
    """A function that maps a message by its name, and the prefixes of the rule files."""
    from sensorstream.app.control.engine_settings import read_schemas
    from sensorstream.app.control.mapping_files import MappingFiles, read_reference
    from sensorstream.app.control.wiring import read_rules
    from sensorstream.mapping.mapping_compiler import compile_mapping
    from sensorstream.mapping.rule_report import explain
    from sensorstream.mapping.xml_document import parse_document
    from sensorstream.reasoning.ontology import deployed_ontology

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

    def result(name: str, message: Message) -> _Result:
        explanations: tuple[Explanation, ...] = ()
        try:
            document = parse_document(message.content, max_depth=settings.server.max_depth)
            if explained:
                explanations = explain(
                    files, schema, timeline, document, message, reference, others
                )
            mapped = plan.apply(document, message)
        except MessageError as error:
            return _Result(name, None, f"{error.code}: {error}", explanations)
        fault = "" if mapped.matched else f"no mapping rule matches: {mapped.hint}"
        return _Result(name, mapped, fault, explanations)

    return result, prefixes_of(files)


def _answer(found: _Result, prefixes: Mapping[str, str], explained: bool) -> dict[str, object]:
    answer: dict[str, object] = {"message": found.name}
    mapped = found.mapped
    if mapped is None:
        answer["error"] = found.fault
    else:
        answer |= {
            "matched": mapped.matched,
            "individuals": mapped.individuals,
            "warnings": (*mapped.warnings, *mapped.notes),
            "turtle": "\n".join(mapped_turtle(mapped, prefixes, merged=True)),
        }
        if any(event.graphs for event in mapped.events):
            answer["trig"] = "\n".join(mapped_turtle(mapped, prefixes))
    if explained:
        answer["explanation"] = [asdict(each) for each in found.explanations]
    return answer


def _show(found: _Result, prefixes: Mapping[str, str], timeline: Timeline, headed: bool) -> bool:
    """Show a result, and the prefixes only once; returns whether they have been shown."""
    mapped = found.mapped
    head, body = ("", "") if mapped is None else mapped_turtle(mapped, prefixes)
    if mapped is not None and body:
        if not headed:
            click.echo(head)
        headed = True
        times = ", ".join(timeline.format(event.time) for event in mapped.events)
        told = f"# {found.name}: {', '.join(mapped.matched)}; time {times}"
        click.echo(f"\n{told}\n{body.strip()}")
    count = len(found.explanations)
    for part, explanation in enumerate(found.explanations, 1):
        of = f", message {part} of {count}" if count > 1 else ""
        print_lines((f"\n# {found.name}{of}", *_explained(asdict(explanation))))
    return headed


@served(
    click.command("try-message"),
    lambda found: print_lines(_tried(found)),
    fails=lambda found: found["faults"] or found["status"] != "accepted",
)
@click.argument("message", type=FILE)
@click.argument("rules", type=FILE, nargs=-1)
@click.option("--source", default="rest", show_default=True, help="The source of the message.")
@click.option(
    "--after",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Take in the last N messages of the server first, so that its window is not empty.",
)
def try_message(
    client: CommandClient, message: Path, rules: tuple[Path, ...], source: str, after: int
) -> dict[str, Any]:
    """Show what a server's rules, or others, would make of a message.

    MESSAGE is a file. RULES are rule files that count instead of those of the same name, or beside
    them. An engine of its own takes the message in; the server keeps nothing of it. Exits with 1 if
    a rule file has a fault, or the message would not be accepted.
    """
    files = {each.name: each.read_text(encoding="utf-8") for each in rules}
    return client.try_message(message.read_text(encoding="utf-8"), files, source, after=after)


def _tried(found: Mapping[str, Any]) -> Iterator[str]:
    """Render a server's answer about a tried message as Turtle with comments."""
    for fault in found["faults"]:
        at = fault["position"]
        place = "" if at is None else f"{at['file']}:{at['line']}:{at['column']}: "
        yield f"{place}{fault['detail']}"
    if found["faults"]:
        return
    reason = f": {found['reason']}" if found["reason"] else ""
    yield f"# {found['status']}{reason}"
    if found["preceding"]:
        yield f"# after {found['preceding']} messages"
    yield from (f"# warning: {each}" for each in found["warnings"])
    yield from (f"{each} ." for each in found["statements"])
    for title, sort in (
        ("inserted by semantic rules", "added"),
        (f"inferred ({found['reasoner']})", "inferred"),
    ):
        if found[sort]:
            yield f"# {title}:"
            yield from (f"{each} ." for each in found[sort])
    if found["left_out"]:
        yield f"# {found['left_out']} statements are left out"
    for alert in found["alerts"]:
        yield f"# alert {alert['severity']} {alert['rule']}: {alert['text']}"
    if found["unexplained"]:
        yield f"# {found['unexplained']}"
    for each in found["explanations"]:
        yield from _explained(each)


def _explained(told: Mapping[str, Any]) -> Iterator[str]:
    """Render an Explanation, given as data, of a message as Turtle comments."""
    if told["error"]:
        yield f"#   rejected: {told['error']}"
    for rule in told["rules"]:
        if not rule["matched"]:
            yield f"#   rule {rule['rule']}: not matched: {rule['cause']}"
            continue
        yield f"#   rule {rule['rule']}: matched"
        for each in rule["expressions"]:
            cause = f": {each['cause']}" if each["cause"] else ""
            yield f"#     {each['role']} {each['written']}: {_found(each)}{cause}"
    for each in told["yields"]:
        yield f"#   map {each['rule']}: {_made(each)}"
    if told["unmapped"]:
        but = " by a rule (what maps look at is not traced)" if told["yields"] else ""
        yield f"#   not mapped{but}:"
    for place in told["unmapped"]:
        times = "" if place["count"] == 1 else f", {place['count']} times"
        text = f' "{place["text"]}"' if place["text"] else ""
        yield f"#     line {place['line']}: {place['path']}{text}{times}"


def _made(made: Mapping[str, Any]) -> str:
    if made["error"]:
        return f"rejected: {made['error']}"
    if not made["matched"]:
        return f"not matched: {made['cause']}"
    path = f"{{{made['path']}}} found {made['found']}, " if made["path"] else ""
    nothing = ", ".join(f"{{{xpath}}}" for xpath in made["missing"])
    return (
        f"matched: {path}{made['triples']} triple{'s' if made['triples'] != 1 else ''}"
        f"{f'; nothing found by {nothing}' if nothing else ''}"
    )


def _found(expression: Mapping[str, Any]) -> str:
    found, tried = expression["found"], expression["tried"]
    if not tried:
        return "not tried"
    if expression["role"] == "if":
        return f"held {found} of {tried} times"
    values = "".join(f', "{value}"' for value in expression["values"])
    missed = f", missing {expression['missed']} of {tried} times" if expression["missed"] else ""
    return f"found {found}{values}{missed}"
