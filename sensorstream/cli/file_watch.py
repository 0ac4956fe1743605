"""Runs something again whenever a file that it depends on changes."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import click

from sensorstream.app.control.mapping_files import is_rule_file
from sensorstream.app.control.rule_files import rule_set_files
from sensorstream.cli.terminal import signalled
from sensorstream.errors import SensorStreamError
from sensorstream.language.rule_parser import parse_with_faults
from sensorstream.reasoning.ontology_documents import surroundings
from sensorstream.settings.settings_file import load_settings

_PERIOD: Final = 0.3
"""Seconds between two looks at the files."""

State: TypeAlias = dict[Path, tuple[int, int] | None]


def watch(run: Callable[[], None], files: Callable[[], Iterable[Path]]) -> None:
    """Call ``run``, and again after each change of ``files``, until Ctrl-C.

    An error of the input is printed; the next change may repair it. ``files`` is asked at each
    look, since files appear and vanish.
    """
    with suppress(KeyboardInterrupt), signalled(signal.SIGINT, then=_interrupt) as pressed:
        # A library may have caught the interrupt.
        while not pressed:
            # Before the run, so that a change during it is a reason to run again.
            before = _state(files())
            if sys.stdout.isatty():
                click.clear()
            _attempt(run)
            click.echo("waiting for a change of a file; Ctrl-C ends", err=True)
            while not pressed and _state(files()) == before:
                time.sleep(_PERIOD)
    click.echo("", err=True)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _attempt(run: Callable[[], None]) -> None:
    try:
        run()
    except SensorStreamError as error:
        click.echo(f"error[{error.code}]: {error}", err=True)
    except click.ClickException as error:
        error.show()
    except click.exceptions.Exit:
        return  # a message was not accepted, which has been told
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"error[file]: {error.filename}: {error.strerror}", err=True)


def _state(files: Iterable[Path]) -> State:
    """The time of change and the size of each file; None: there is no such file."""
    state: State = {}
    for path in files:
        try:
            found = path.stat()
        except OSError:
            state[path] = None
        else:
            if not path.is_dir():
                state[path] = (found.st_mtime_ns, found.st_size)
    return state


def files_of_settings(config: Path) -> list[Path]:
    """The files that a deployment is read from, as far as its settings can be read."""
    try:
        settings = load_settings(config)
    except SensorStreamError:
        return [config]
    imported = surroundings(settings.ontology.files)
    sets = rule_set_files(settings.reasoning.profile, settings.folder)
    return [config, *_paths(settings), *sets, *imported, *files_of_rules(settings.rules.files)]


def files_of_rules(paths: Sequence[Path]) -> list[Path]:
    """Rule files, and the tables that they name."""
    states = _state(filter(is_rule_file, paths))
    tables = (each for path, state in states.items() if state for each in _tables(path, state))
    return [*paths, *tables]


@lru_cache(maxsize=256)
def _tables(path: Path, _state: tuple[int, int]) -> tuple[Path, ...]:
    """The tables of a rule file, which is read once in each of its states."""
    try:
        parsed, _ = parse_with_faults(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(path.parent / table.path for table in parsed.tables)


def files_of_messages(names: Iterable[str]) -> list[Path]:
    """The files that ``--messages`` names; in folders those that are there now."""
    found: list[Path] = []
    for path in map(Path, names):
        found += sorted(path.glob("*.xml")) if path.is_dir() else [path]
    return found


def _paths(settings: object) -> Iterator[Path]:
    """The paths in a tree of settings."""
    if isinstance(settings, Path):
        yield settings
    elif is_dataclass(settings):
        for each in fields(settings):
            yield from _paths(getattr(settings, each.name))
    elif isinstance(settings, tuple):
        for each in settings:
            yield from _paths(each)
    elif isinstance(settings, dict):
        for each in settings.values():
            yield from _paths(each)
