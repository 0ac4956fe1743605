"""What a server has in force, beside what a deployment's folder says."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sensorstream.app.control.folder import Folder
from sensorstream.app.control.versions import digest_of
from sensorstream.cli.client import Client
from sensorstream.reasoning.ontology import parse_accepted
from sensorstream.webhook_definition import WebhookDefinition


@dataclass(frozen=True, slots=True)
class InForce:
    """What a server has in force, and the digests that guard it; texts as in :class:`.Folder`.

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


def read_in_force(client: Client, ours: Folder) -> InForce:
    """Ask a server what it has in force."""
    found = client.ontology()
    ontology = parse_accepted(found.text.encode(), found.media_type).ntriples().decode()
    listed = client.rule_files()
    queries = {each["name"]: each["query"] for each in client.queries() if not each["stopped"]}
    webhooks = {
        each["id"]: WebhookDefinition.read(each).text()
        for each in (client.webhooks() if ours.webhooks else [])
    }
    others = [
        *(f"query {each}" for each in queries if each not in ours.queries),
        *(f"webhook {each}" for each in webhooks if each not in ours.webhooks),
    ]
    return InForce(
        ontology,
        digest_of(found.text),
        {each["name"]: client.rule_file(each["name"]) for each in listed["files"]},
        listed["digest"],
        {name: text for name, text in queries.items() if name in ours.queries},
        {name: text for name, text in webhooks.items() if name in ours.webhooks},
        tuple(each for each, state in listed["tables"].items() if state != "same"),
        tuple(others),
    )


def difference(theirs: InForce, ours: Folder) -> Iterator[str]:
    """What differs, as the lines of a unified diff; in another order, a line that says so."""
    if graph(theirs.ontology) != graph(ours.ontology):
        # As sets: the order of an ontology's statements means nothing.
        yield from _diff("ontology", graph(theirs.ontology), graph(ours.ontology))
    yield from _differences("", theirs.rules, ours.rules)
    if sorted(theirs.rules) == sorted(ours.rules) and list(theirs.rules) != list(ours.rules):
        yield f"order: {', '.join(theirs.rules)} becomes {', '.join(ours.rules)}"
    for table in theirs.tables:
        yield f"table {table}: edited since the server has read it"
    yield from _differences("query ", theirs.queries, ours.queries)
    yield from _differences("webhook ", theirs.webhooks, ours.webhooks)


def differing(theirs: InForce, ours: Folder) -> Iterator[str]:
    """The names of what differs."""
    if graph(theirs.ontology) != graph(ours.ontology):
        yield "the ontology"
    if list(theirs.rules) != list(ours.rules) and sorted(theirs.rules) == sorted(ours.rules):
        yield "the order of the rule files"
    for what, before, after in (
        ("", theirs.rules, ours.rules),
        ("query ", theirs.queries, ours.queries),
        ("webhook ", theirs.webhooks, ours.webhooks),
    ):
        names = dict.fromkeys([*before, *after])
        yield from (f"{what}{name}" for name in names if before.get(name) != after.get(name))
    yield from (f"table {each}" for each in theirs.tables)


def _differences(what: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*theirs, *ours]):
        before, after = theirs.get(name), ours.get(name)
        if before != after:
            yield from _diff(
                f"{what}{name}",
                None if before is None else before.splitlines(),
                None if after is None else after.splitlines(),
            )


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
    # Texts may differ in how their lines end, or by empty texts.
    yield from lines or [f"{name}: differs in white space"]


def graph(ntriples: str) -> list[str]:
    """The statements of an ontology, in an order that is always the same."""
    return sorted(ntriples.splitlines())
