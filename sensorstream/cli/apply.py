"""``sensorstream apply``: put what a folder holds in force on a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import json_option, server_options, server_url
from sensorstream.errors import LanguageError

if TYPE_CHECKING:
    from sensorstream.app.control.folder import Folder
    from sensorstream.cli.client import Client
    from sensorstream.cli.in_force import InForce

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
    from sensorstream.app.control.folder import folder_files
    from sensorstream.cli.watching import files_of_settings, watch

    watch(run, lambda: [*files_of_settings(config), *folder_files(config.parent)])


def _apply(url: str | None, config: Path, *, only_diff: bool, as_json: bool) -> None:
    from sensorstream.app.control.folder import read_folder
    from sensorstream.cli.client import Client
    from sensorstream.cli.in_force import difference, read_in_force
    from sensorstream.cli.terminal import print_json
    from sensorstream.settings_file import load_settings

    ours = read_folder(load_settings(config))
    changes: list[dict[str, Any]] = []
    with Client(server_url(url, config)) as client:
        theirs = read_in_force(client, ours)
        lines = list(difference(theirs, ours))
        if not as_json:
            for line in lines:
                click.echo(line)
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


def _put(client: Client, theirs: InForce, ours: Folder) -> Iterator[tuple[str, dict[str, Any]]]:
    """Put what differs; somebody else may have changed it since it was read."""
    from sensorstream.app.control.versions import digest_of
    from sensorstream.cli.in_force import graph

    def digest(text: str | None) -> str | None:
        return None if text is None else digest_of(text)

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
        # What goes away from the ontology must first go away from the rules.
        yield from rules()
        yield from ontology()
    for name, text in ours.queries.items():
        before = theirs.queries.get(name)
        if before != text:
            made = client.put("queries", text.encode(), name, digest=digest(before))
            yield f"query {name}", {"change": made["registered"]}
    for name, text in ours.webhooks.items():
        before = theirs.webhooks.get(name)
        if before != text:
            made = client.put("webhooks", text.encode(), name, digest=digest(before))
            secret = {"secret": made["secret"]} if "secret" in made else {}
            change = client.versions("webhooks", name)[-1]["change"]
            yield f"webhook {name}", {"change": change, **secret}


def _told(what: str, made: dict[str, Any]) -> str:
    told = f"{what}: in force, as {made['change']}"
    secret = made.get("secret")
    return f"{told}; its secret, shown only now: {secret}" if secret else told


def _try(url: str | None, config: Path, *, as_json: bool) -> None:
    from sensorstream.app.control.folder import read_folder
    from sensorstream.cli.client import Client
    from sensorstream.cli.in_force import graph, read_in_force
    from sensorstream.cli.terminal import print_json
    from sensorstream.settings_file import load_settings

    ours = read_folder(load_settings(config))
    tried: dict[str, dict[str, Any]] = {}
    with Client(server_url(url, config)) as client:
        theirs = read_in_force(client, ours)
        if graph(theirs.ontology) != graph(ours.ontology):
            text = ours.ontology.encode()
            tried["ontology"] = client.try_put("ontology", text, media_type=_NTRIPLES)
        tried["rules"] = client.try_rule_files(ours.rules)
        for name, text_ in ours.queries.items():
            if theirs.queries.get(name) != text_:
                tried[f"query {name}"] = client.try_put("queries", text_.encode(), name)
        for name, text_ in ours.webhooks.items():
            if theirs.webhooks.get(name) != text_:
                tried[f"webhook {name}"] = client.try_put("webhooks", text_.encode(), name)
    if as_json:
        print_json(tried)
    else:
        for what, found in tried.items():
            for line in _lines_tried(found, ours):
                click.echo(f"{what}: {line}")
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
