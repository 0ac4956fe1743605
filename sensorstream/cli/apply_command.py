"""``sensorstream apply``: put what a folder holds in force on a running server."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.cli.terminal import print_json, print_lines
from sensorstream.client.deployment_operations import Kind
from sensorstream.errors import LanguageError
from sensorstream.model.frozen import frozen
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.app.control.deployment_folder import Folder

_NTRIPLES: Final = "application/n-triples"


@click.command("apply")
@click.option("--diff", "only_diff", is_flag=True, help="Show what differs; change nothing.")
@click.option("--dry-run", is_flag=True, help="Also show what it would do to recent messages.")
@click.option("--watch", "again", is_flag=True, help="Apply again whenever a file changes.")
@server_options
@json_option
def command(
    only_diff: bool, dry_run: bool, again: bool, url: str | None, config: Path, as_json: bool
) -> None:
    """Put what a folder holds in force on a running server.

    That is the ontology, the rule files (rules, RML, stylesheets) and the rule sets of the
    settings, and beside the settings file the continuous queries (queries/*.rq) and the webhooks
    (webhooks/*.toml).
    Shows what differs from what is in force, then changes it. The rule files are put together: all,
    or none if the server refuses one, and those that the settings do not name go out of force.
    Queries and webhooks that the folder does not have are left alone.
    """
    if again and as_json:
        raise click.UsageError("--watch and --json do not go together")

    def run() -> None:
        if dry_run:
            _try(url, config, as_json=as_json)
        else:
            _apply(url, config, only_diff=only_diff, as_json=as_json)

    if not again:
        run()
        return
    from sensorstream.app.control.deployment_folder import folder_files
    from sensorstream.cli.file_watch import files_of_settings, watch

    watch(run, lambda: [*files_of_settings(config), *folder_files(config.parent)])


def _apply(url: str | None, config: Path, *, only_diff: bool, as_json: bool) -> None:
    from sensorstream.app.control.deployment_folder import read_folder

    ours = read_folder(load_settings(config))
    changes: list[dict[str, Any]] = []
    with CommandClient(server_url(url, config)) as client:
        theirs = read_in_force(client, ours)
        lines = list(difference(theirs, ours))
        if not as_json:
            print_lines(lines)
        if lines and not only_diff:
            for what, made in _put(client, theirs, ours):
                changes.append({"what": what, **made})
                if not as_json:
                    click.echo(_told(what, made))
    if as_json:
        difference_ = {"same": not lines, "difference": lines, "others": list(theirs.others)}
        print_json({**difference_, "changes": changes})
        return
    for other in theirs.others:
        click.echo(f"{other}: not in the folder, left alone", err=True)
    if not lines:
        click.echo("in force already")


def _put(
    client: CommandClient, theirs: ServerTexts, ours: Folder
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Put the texts that differ; somebody else may have changed them since they were read."""
    from sensorstream.app.control.versions import digest_of

    def ontology() -> Iterator[tuple[str, dict[str, Any]]]:
        if graph(theirs.ontology) != graph(ours.ontology):
            text, seen = ours.ontology.encode(), theirs.ontology_digest
            yield "ontology", client.put("ontology", text, media_type=_NTRIPLES, digest=seen)

    def rules() -> Iterator[tuple[str, dict[str, Any]]]:
        if list(theirs.rules.items()) != list(ours.rules.items()) or theirs.tables:
            yield "rules", {"change": client.put_rule_files(ours.rules, theirs.rules_digest)}

    try:
        yield from ontology()
        yield from rules()
    except LanguageError:
        # Names that leave the ontology must leave the rules first.
        yield from rules()
        yield from ontology()
    for kind, what, name, before, text in _others(theirs, ours):
        digest = None if before is None else digest_of(before)
        made = client.put(kind, text.encode(), name, digest=digest)
        if kind == "queries":
            yield what, {"change": made["registered"]}
        else:
            secret = {"secret": made["secret"]} if "secret" in made else {}
            yield what, {"change": client.versions(kind, name)[-1]["change"], **secret}


def _others(theirs: ServerTexts, ours: Folder) -> Iterator[tuple[Kind, str, str, str | None, str]]:
    """The queries and webhooks of the folder that differ: their texts in force, and those here."""
    kinds: tuple[tuple[Kind, str, Mapping[str, str], Mapping[str, str]], ...] = (
        ("queries", "query", theirs.queries, ours.queries),
        ("webhooks", "webhook", theirs.webhooks, ours.webhooks),
    )
    for kind, word, before, after in kinds:
        for name, text in after.items():
            if before.get(name) != text:
                yield kind, f"{word} {name}", name, before.get(name), text


def _told(what: str, made: dict[str, Any]) -> str:
    told = f"{what}: in force, as {made['change']}"
    secret = made.get("secret")
    return f"{told}; its secret, shown only now: {secret}" if secret else told


def _try(url: str | None, config: Path, *, as_json: bool) -> None:
    from sensorstream.app.control.deployment_folder import read_folder

    ours = read_folder(load_settings(config))
    tried: dict[str, dict[str, Any]] = {}
    with CommandClient(server_url(url, config)) as client:
        theirs = read_in_force(client, ours)
        if graph(theirs.ontology) != graph(ours.ontology):
            text = ours.ontology.encode()
            tried["ontology"] = client.try_put("ontology", text, media_type=_NTRIPLES)
        tried["rules"] = client.try_rule_files(ours.rules)
        for kind, what, name, _, changed in _others(theirs, ours):
            tried[what] = client.try_put(kind, changed.encode(), name)
    if as_json:
        print_json(tried)
    else:
        for what, found in tried.items():
            print_lines(f"{what}: {line}" for line in _lines_tried(found, ours))
    if any(found["faults"] for found in tried.values()):
        raise click.exceptions.Exit(1)


def _lines_tried(found: dict[str, Any], ours: Folder) -> Iterator[str]:
    for each in found["faults"]:
        place = each["position"]
        where = "{file}:{line}:{column}: ".format(**place) if place else ""
        yield f"{where}{each['detail']}"
    if found["faults"]:
        return
    if "reports" in found:
        yield f"{found['count']} reports on {found['messages']} recent messages"
        yield from (json.dumps(each, ensure_ascii=False) for each in found["reports"])
    elif "absent" in found:
        away = (each for each in found["absent"] if each not in ours.queries)
        told = (f"the query {each} neither runs nor is in the folder" for each in away)
        yield "; ".join(told) or "fine"
    else:
        yield from _effects(found)


def _effects(found: dict[str, Any]) -> Iterator[str]:
    for each in found["differences"]:
        yield f"{each['message']}:"
        for sign, side in (("-", each["before"]), ("+", each["after"])):
            reason = f": {side['reason']}" if side["reason"] else ""
            yield f"  {sign} {side['status']}{reason}"
            for line in (*side["statements"], *(f"alert {text}" for text in side["alerts"])):
                yield f"  {sign} {line}"
    yield f"{found['different']} of {found['messages']} recent messages differ"
    if found["lost_after"] > found["lost_before"]:
        yield (
            f"{found['lost_after']} of them would be rejected or unmatched, "
            f"{found['lost_before']} are now"
        )


@frozen
class ServerTexts:
    """The texts in force on a server, as in :class:`.Folder`, and the digests that guard them.

    Of queries and webhooks only those that the folder has are here; ``others`` names the rest.
    """

    ontology: str
    ontology_digest: str
    rules: Mapping[str, str]
    rules_digest: str
    queries: Mapping[str, str]
    webhooks: Mapping[str, str]
    tables: tuple[str, ...]
    """Tables of the rules that the server has read before they were edited."""
    others: tuple[str, ...]


def read_in_force(client: CommandClient, ours: Folder) -> ServerTexts:
    """Ask a server for the texts in force."""
    from sensorstream.app.control.versions import digest_of
    from sensorstream.reasoning.ontology import parse_accepted

    found = client.ontology()
    ontology = parse_accepted(found.text.encode(), found.media_type).ntriples().decode()
    listed = client.rule_files()
    running = (each for each in client.queries() if not each["stopped"] and not each["stage"])
    queries = {each["name"]: each["query"] for each in running}
    webhooks = {
        each["id"]: WebhookDefinition.read(each).text()
        for each in (client.webhooks() if ours.webhooks else [])
    }
    others = [
        *(f"query {each}" for each in queries if each not in ours.queries),
        *(f"webhook {each}" for each in webhooks if each not in ours.webhooks),
    ]
    return ServerTexts(
        ontology,
        digest_of(found.text),
        {each["name"]: client.rule_file(each["name"]) for each in listed["files"]},
        listed["digest"],
        {name: text for name, text in queries.items() if name in ours.queries},
        {name: text for name, text in webhooks.items() if name in ours.webhooks},
        tuple(each for each, state in listed["tables"].items() if state != "same"),
        tuple(others),
    )


def difference(theirs: ServerTexts, ours: Folder) -> Iterator[str]:
    """The differences, as the lines of a unified diff; a line of its own tells of another order."""
    if graph(theirs.ontology) != graph(ours.ontology):
        # As sets: the order of an ontology's statements means nothing.
        yield from _diff("ontology", graph(theirs.ontology), graph(ours.ontology))
    for at, texts in enumerate(_texts(theirs, ours)):
        yield from (line for each in texts for line in _diff(*each))
        if at == 0:
            if _is_reordered(theirs, ours):
                yield f"order: {', '.join(theirs.rules)} becomes {', '.join(ours.rules)}"
            for table in theirs.tables:
                yield f"table {table}: edited since the server has read it"


def differing(theirs: ServerTexts, ours: Folder) -> Iterator[str]:
    """The names of the texts that differ."""
    if graph(theirs.ontology) != graph(ours.ontology):
        yield "the ontology"
    if _is_reordered(theirs, ours):
        yield "the order of the rule files"
    yield from (name for texts in _texts(theirs, ours) for name, _, _ in texts)
    yield from (f"table {each}" for each in theirs.tables)


def _is_reordered(theirs: ServerTexts, ours: Folder) -> bool:
    return list(theirs.rules) != list(ours.rules) and sorted(theirs.rules) == sorted(ours.rules)


_Text: TypeAlias = tuple[str, list[str] | None, list[str] | None]
"""The name of a text, and its lines in force and in the folder; None: it is not there."""


def _texts(theirs: ServerTexts, ours: Folder) -> Iterator[list[_Text]]:
    """The changed texts of the rule files, of the queries, and of the webhooks."""
    for what, before, after in (
        ("", theirs.rules, ours.rules),
        ("query ", theirs.queries, ours.queries),
        ("webhook ", theirs.webhooks, ours.webhooks),
    ):
        names = (n for n in dict.fromkeys([*before, *after]) if before.get(n) != after.get(n))
        yield [(f"{what}{name}", _lines(before, name), _lines(after, name)) for name in names]


def _lines(texts: Mapping[str, str], name: str) -> list[str] | None:
    return texts[name].splitlines() if name in texts else None


def _diff(name: str, before: list[str] | None, after: list[str] | None) -> Iterator[str]:
    lines = list(
        difflib.unified_diff(
            before or [],
            after or [],
            "/dev/null" if before is None else f"{name} in force",
            "/dev/null" if after is None else name,
            lineterm="",
        )
    )
    # No line differs if the texts differ in how their lines end, or are empty.
    yield from lines or [f"{name}: differs in white space"]


def graph(ntriples: str) -> list[str]:
    """The statements of an ontology, in an order that is always the same."""
    return sorted(ntriples.splitlines())
