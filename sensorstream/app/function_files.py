"""Reads the functions of the user's own from Python files."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

from sensorstream.errors import LanguageError, Position, SensorStreamError, SettingsError
from sensorstream.mapping.functions.definition import Definition
from sensorstream.mapping.functions.own import own_function
from sensorstream.mapping.functions.registry import builtins


def read_functions(
    files: Sequence[Path],
) -> tuple[dict[str, Definition], list[SensorStreamError]]:
    """The functions of some files by name, and the faults of those that are left out.

    The functions of a file are those that it defines itself, at its top level, with a name that
    does not begin with ``_``. Reading a file runs it.
    """
    found: dict[str, Definition] = {}
    faults: list[SensorStreamError] = []
    for file in files:
        try:
            functions = _functions(_imported(file))
        except SensorStreamError as error:
            faults.append(error)
            continue
        for name, function in functions:
            place = Position(str(file), inspect.unwrap(function).__code__.co_firstlineno, 1)
            try:
                if name in builtins():
                    raise _taken(name, "is built in", place)
                if name in found:
                    raise _taken(name, f"is defined at {found[name].position}", place)
                found[name] = own_function(name, function, place)
            except LanguageError as error:
                faults.append(error)
    return found, faults


def _taken(name: str, why: str, place: Position) -> LanguageError:
    return LanguageError(f"function {name}: {name} {why}: expected another name", position=place)


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, each in vars(module).items():
        # functools.cache and other decorators wrap a function.
        function = isinstance(each, FunctionType) or hasattr(each, "__wrapped__")
        own = function and each.__module__ == module.__name__
        if own and not name.startswith("_"):
            yield name, each


def _imported(file: Path) -> ModuleType:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"functions.files: cannot read {file}: {error}") from None
    module = ModuleType(f"sensorstream functions {file}")
    module.__file__ = str(file)
    # A dataclass looks up the module of its class there.
    sys.modules[module.__name__] = module
    try:
        # No bytecode is kept, which could be that of an earlier text of the same second.
        exec(compile(content, str(file), "exec"), vars(module))
    except SyntaxError as error:
        inside = error.filename == str(file)
        line, column = (error.lineno, error.offset) if inside else (_line(file, error), 1)
        raise LanguageError(
            f"not Python: {error.msg}", position=Position(str(file), line or 1, column or 1)
        ) from None
    except (Exception, SystemExit) as error:
        raise LanguageError(
            f"the file cannot be imported: {type(error).__name__}: {error}",
            position=Position(str(file), _line(file, error), 1),
        ) from None
    return module


def _line(file: Path, error: BaseException) -> int:
    """The line of a file at which an error came up."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    return (lines[-1] if lines else None) or 1
