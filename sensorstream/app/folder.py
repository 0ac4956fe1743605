"""What a deployment's folder says that a server should have in force.

The ontology and the rule files are those that the settings name. Beside the settings file,
``queries/*.rq`` are continuous queries, ``queries/*.dotr`` rules over time, each with the Datalog
rules of all ``queries/*.dlog``, and ``webhooks/*.toml`` webhooks; the name of one is that of its
file, or for a query that of its REGISTER clause.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sensorstream.app.file_kinds import is_over_time
from sensorstream.app.query_files import completed_rules, query_files
from sensorstream.app.rule_texts import read_texts
from sensorstream.errors import QueryError, SettingsError, WebhookError
from sensorstream.reasoning.ontology import deployed_ontology
from sensorstream.settings import Settings
from sensorstream.sparql.parser import parse_query
from sensorstream.webhook_definition import WebhookDefinition


@dataclass(frozen=True, slots=True)
class Folder:
    """Texts by name; the ontology of all files together, as N-Triples."""

    ontology: str
    rules: Mapping[str, str]
    queries: Mapping[str, str]
    webhooks: Mapping[str, str]


def read_folder(settings: Settings) -> Folder:
    """Read all of it.

    Raises:
        QueryError: rules over time cannot be read.
        SettingsError: a file cannot be read, or is not a definition of a webhook.
        OntologyError: the ontology cannot be read.
    """
    return Folder(
        deployed_ontology(settings.ontology).ntriples().decode(),
        read_texts(settings),
        _by_name(_queries(settings.folder)),
        _by_name(_webhooks(settings.folder)),
    )


def folder_files(folder: Path) -> list[Path]:
    """The files of queries and webhooks that are there now."""
    return [*query_files(folder), *_sorted(folder / "webhooks", "*.toml")]


def _queries(folder: Path) -> Iterator[tuple[str, str, Path]]:
    files = query_files(folder)
    yield from ((path.stem, text, path) for path, text in completed_rules(files).items())
    for path in files:
        if is_over_time(path):
            continue
        text = _text(path)
        name = path.stem
        try:
            registration = parse_query(text).registration
            if registration is not None:
                name = str(registration.name)
        except QueryError:
            pass  # The server says what is wrong with it.
        yield name, text, path


def _webhooks(folder: Path) -> Iterator[tuple[str, str, Path]]:
    for path in _sorted(folder / "webhooks", "*.toml"):
        try:
            told = tomllib.loads(_text(path))
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{path}: not TOML: {error}") from None
        if "secret" in told:
            raise SettingsError(
                f"{path}: a secret has no place in a file: the server makes one when the webhook "
                "is new, and 'sensorstream webhooks rotate' sets another"
            )
        known = {each.name: each.default for each in fields(WebhookDefinition)}
        unknown = told.keys() - known.keys()
        flags = [told.get(name, each) for name, each in known.items() if isinstance(each, bool)]
        wrong = not (
            isinstance(told.get("url"), str)
            and isinstance(told.get("queries", []), list)
            and all(isinstance(each, bool) for each in flags)
        )
        if unknown or wrong:
            raise SettingsError(
                f'{path}: expected url = "…", and maybe queries = ["…"], '
                'format = "cloudevents" or "alertmanager", changes = true, escalated = true and '
                'group = { by = ["rule"], wait = 30, interval = 300 }, no more'
                + (f"; not {', '.join(sorted(unknown))}" if unknown else "")
            )
        try:
            text = WebhookDefinition.read(told).text()
        except WebhookError as error:
            raise SettingsError(f"{path}: {error}") from None
        yield path.stem, text, path


def _by_name(found: Iterator[tuple[str, str, Path]]) -> dict[str, str]:
    texts: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for name, text, path in found:
        if name in texts:
            raise SettingsError(f"{path} and {paths[name]} have one name: {name}")
        texts[name], paths[name] = text, path
    return texts


def _sorted(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from None
