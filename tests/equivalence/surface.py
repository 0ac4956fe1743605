"""What a user sees of the program: the API's description, commands, settings, codes of errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields

import click

from sensorstream import errors
from sensorstream.cli import main
from sensorstream.errors import SensorStreamError
from sensorstream.server.problems import problem_of
from sensorstream.server.web_application import create_app
from sensorstream.settings.settings import LISTED_SECTIONS, NAMED_SECTIONS
from sensorstream.settings.settings_file import read_settings
from tests.equivalence.canonical import masked
from tests.equivalence.items import Item, Tools
from tests.server.memory import MemoryApplication


def openapi(_: Tools) -> Iterator[Item]:
    """The OpenAPI document: each operation, each schema, and all else."""
    application = MemoryApplication()
    document = create_app(application).openapi()
    application.cache.close()
    for path, operations in document.pop("paths").items():
        for method, each in operations.items():
            yield _json(f"{method} {path}", each)
    for kind, parts in document.pop("components").items():
        for name, each in parts.items():
            yield _json(f"{kind} {name}", each)
    yield _json("rest", document)


def _json(name: str, value: object) -> Item:
    return Item(name, lambda: json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False))


def commands(_: Tools) -> Iterator[Item]:
    """The help of each command."""
    yield from _commands(main, click.Context(main, info_name="sensorstream", max_content_width=100))


def _commands(command: click.Command, context: click.Context) -> Iterator[Item]:
    yield Item(context.command_path.replace(" ", "/"), lambda: command.get_help(context))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, click.Context(found, context, name, max_content_width=100))


def settings(tools: Tools) -> Iterator[Item]:
    """Each setting with its default, also of sections whose names a user gives."""
    file = tools.new_folder() / "sensorstream.toml"
    file.write_text("")
    for given in read_settings(file, {})[1]:
        yield Item(given.name, lambda given=given: masked(f"{given.value!r}", file.parent))  # type: ignore[misc]
    kinds = dict(NAMED_SECTIONS)
    for name, (head, types) in LISTED_SECTIONS.items():
        kinds |= {name: head, **{f"{name}.{each}": kind for each, kind in types.items()}}
    for name, kind in kinds.items():
        for each in fields(kind):
            made = each.default_factory
            default = each.default if made is MISSING else made()
            told = f"{each.type}, {'none' if default is MISSING else repr(default)}"
            yield Item(f"{name}.{each.name}", lambda told=told: told)  # type: ignore[misc]


def codes(_: Tools) -> Iterator[Item]:
    """Each error: its code, status and exit code, and what it is a kind of."""
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, SensorStreamError):
            status = problem_of(each("it went wrong")).status
            told = f"{each.code} {status} {3 if each.of_system else 1}"
            above = each.__bases__[0].__name__
            yield Item(each.__name__, lambda told=told, above=above: f"{told} {above}")  # type: ignore[misc]
