"""Read the settings of a deployment.

They stand in ``sensorstream.toml``; an environment variable ``SENSORSTREAM_<SECTION>_<NAME>`` wins
over the file; one that sets nothing is an error. Relative paths are read from the file's folder.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, TypeVar

from sensorstream.errors import Position, SettingsError
from sensorstream.logs import without_secrets
from sensorstream.model.frozen import field, fields, frozen, mutable
from sensorstream.settings.endpoints import Input, OutputSetting
from sensorstream.settings.settings import (
    LISTED_SECTIONS,
    NAMED_SECTIONS,
    SECTIONS,
    SPARK_OWN,
    Network,
    PipelineStage,
    Settings,
)

PREFIX: Final = "SENSORSTREAM_"
CLIENT_VARIABLES: Final = frozenset({"SENSORSTREAM_KEY", "SENSORSTREAM_CA"})
"""Variables of the commands that are no settings."""
_LINK: Final = re.compile(r"SENSORSTREAM_(SERVICE_(HOST|PORT)(_.*)?|PORT(_\d+_(TCP|UDP).*)?)")
"""What Kubernetes gives to every container beside a service with the name sensorstream."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@frozen
class GivenSetting:
    """A setting as it is read: where its value comes from, and whether that is the default."""

    name: str
    value: object
    origin: str
    """``FILE:LINE``, the name of an environment variable, or ``default``."""
    secret: bool = False

    def shown(self) -> bool | int | float | str | list[str] | None:
        """The value as JSON has it; passwords are ``***``."""
        if self.secret:
            return "***"
        value = self.value
        if isinstance(value, tuple):
            texts = ("=".join(each) if isinstance(each, tuple) else str(each) for each in value)
            return [without_secrets(each) for each in texts]
        if value is None or isinstance(value, bool | int | float):
            return value
        return without_secrets(str(value))


@mutable
class _Reading:
    """A file that is read, and what has been read of it."""

    path: Path
    lines: Sequence[str]
    environment: Mapping[str, str]
    variables: set[str] = field(default_factory=set)
    """The variables that could set something."""
    given: list[GivenSetting] = field(default_factory=list)

    def find(self, name: str, section: str = "", lines: Sequence[str] = ()) -> Position | None:
        """The position of a name in the file, or in some ``lines`` of it; tomllib gives none."""
        inside = not section
        for number, line in enumerate(lines or self.lines, 1):
            text = line.strip()
            if text.startswith("["):
                here = text.strip("[] ").replace('"', "").replace("'", "")
                if not section and here == name:
                    return Position(str(self.path), number, line.index(name) + 1)
                inside = here == section
            elif inside and text.split("=")[0].strip() == name:
                return Position(str(self.path), number, line.index(name) + 1)
        return None


def load_settings(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Read a settings file.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or a setting is unknown or of the
            wrong kind; or the environment has a variable ``SENSORSTREAM_…`` that sets nothing. The
            message names the setting and what was expected.
    """
    return read_settings(path, environment)[0]


def read_settings(
    path: Path, environment: Mapping[str, str] | None = None
) -> tuple[Settings, Sequence[GivenSetting]]:
    """Read a settings file as :func:`load_settings`; return also where each value comes from."""
    path = path.absolute()
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the settings file {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not a TOML file: {error}") from None
    reading = _Reading(path, text.splitlines(), os.environ if environment is None else environment)
    pipeline = table.get("pipeline")
    if isinstance(pipeline, dict) and "stages" in pipeline:
        table["pipeline.stages"] = pipeline.pop("stages")
    known = {**SECTIONS, **NAMED_SECTIONS, **LISTED_SECTIONS}
    for name, value in table.items():
        if name not in known:
            raise _unknown("section", f"[{name}]", name, known, reading.find(name))
        if not isinstance(value, list if name in LISTED_SECTIONS else dict):
            told = f"[[{name}]]" if name in LISTED_SECTIONS else f"[{name}]"
            raise SettingsError(
                f"'{name}' is a section: expected {told}", position=reading.find(name)
            )
    sections = {
        name: _section(kind, name, table.get(name, {}), reading) for name, kind in SECTIONS.items()
    }
    named: dict[str, Any] = {
        name: _named(kind, name, table.get(name, {}), reading)
        for name, kind in NAMED_SECTIONS.items()
    }
    inputs = tuple(
        Input(head.name, head.source or head.name, options)
        for head, options, _ in _listed("inputs", table, reading)
    )
    outputs = tuple(
        OutputSetting(head.name, head.queries, options, head.changes, head.format)
        for head, options, _ in _listed("outputs", table, reading)
    )
    stages = tuple(
        PipelineStage(head, place) for head, _, place in _listed("pipeline.stages", table, reading)
    )
    _check_variables(reading)
    made = Settings(path, inputs=inputs, outputs=outputs, stages=stages, **sections, **named)
    return made, reading.given


def _check_variables(reading: _Reading) -> None:
    known = reading.variables | CLIENT_VARIABLES
    for name in sorted(reading.environment):
        if name.startswith(PREFIX) and name not in known and not _LINK.fullmatch(name):
            rest = [each.removeprefix(PREFIX) for each in known]
            near = difflib.get_close_matches(name.removeprefix(PREFIX), rest, n=1)
            hint = (
                f"did you mean {PREFIX}{near[0]}?"
                if near
                else f"expected {PREFIX}<SECTION>_<NAME>; 'sensorstream config show' lists them"
            )
            raise SettingsError(f"the environment variable {name} sets nothing: {hint}")


S = TypeVar("S")


def _named(
    kind: type[S], section: str, table: Mapping[str, object], reading: _Reading
) -> Mapping[str, S]:
    """The sections ``[section.NAME]``, by name, in the order of the file."""
    found: dict[str, S] = {}
    for name, values in table.items():
        label = f"{section}.{name}"
        if not isinstance(values, dict):
            where = reading.find(name, section)
            raise SettingsError(f"'{label}' is a section: expected [{label}]", position=where)
        found[name] = _section(kind, label, values, reading, variables=False)
    return found


def _listed(
    section: str, table: Mapping[str, Any], reading: _Reading
) -> Iterator[tuple[Any, Any, Position]]:
    """The sections ``[[section]]``, each with its options and place, in the order of the file."""
    kind, types = LISTED_SECTIONS[section]
    lines = reading.lines
    starts = [n for n, line in enumerate(lines) if line.split("#")[0].strip() == f"[[{section}]]"]
    taken: set[str] = set()
    for number, values in enumerate(table.get(section, [])):
        # Positions are sought in the lines of this section only; all others are empty.
        begin = starts[number] if number < len(starts) else 0
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        own = [line if begin <= n < end else "" for n, line in enumerate(lines)]
        if not isinstance(values, dict):
            raise SettingsError(f"'{section}' is a section: expected [[{section}]]")
        options = values.pop("options", {}) if types else {}
        head: Any = _section(kind, section, values, reading, lines=own, variables=False)
        where = reading.find("name", section, own)
        if not _NAME.fullmatch(head.name):
            fault = f"{section}.name: expected small letters, digits, - and _, not {head.name!r}"
            raise SettingsError(fault, position=where)
        variable = _variable(section, head.name)
        if variable in taken:
            fault = f"{section}.name: there are two with the name '{head.name}'"
            raise SettingsError(fault, position=where)
        taken.add(variable)
        inside = f"{section}.options"
        if not isinstance(options, dict):
            fault = f"'{inside}' is a section: expected [{inside}]"
            raise SettingsError(fault, position=reading.find("options", section, own))
        label = f"{section}.{head.name}"
        read = _section(types[head.type], label, options, reading, inside, own) if types else None
        yield head, read, Position(str(reading.path), begin + 1, 1)


def _variable(*names: str) -> str:
    return PREFIX + "_".join(re.sub(r"[^A-Z0-9]", "_", each.upper()) for each in names)


def _section(
    kind: type[S],
    section: str,
    table: Mapping[str, object],
    reading: _Reading,
    inside: str = "",
    lines: Sequence[str] = (),
    *,
    variables: bool = True,
) -> S:
    """Read a section. ``inside`` is the heading under which the file has its settings, and
    ``lines`` the part of the file to look there; by default the section, and all. ``variables``:
    the environment may set it.
    """
    inside = inside or section
    path = reading.path
    # A setting may have the name of a Python keyword: class.
    known = {each.name.rstrip("_"): each for each in fields(kind)}  # type: ignore[arg-type]
    for name in table:
        if name not in known:
            where = reading.find(name, inside, lines)
            raise _unknown("setting", f"{section}.{name}", name, known, where)
    values: dict[str, object] = {}
    for name, each in known.items():
        where = None
        label, variable = f"{section}.{name}", _variable(section, name)
        if variables:
            reading.variables.add(variable)
        if variables and variable in reading.environment:
            given: object = reading.environment[variable]
            origin = label = variable
        elif name in table:
            given = table[name]
            where = reading.find(name, inside, lines)
            origin = f"{path}:{where.line}" if where is not None else str(path)
        else:
            default = each.default
            if each.metadata["required"]:
                where = reading.find(inside, "", lines) or reading.find(
                    inside.split(".")[0], "", lines
                )
                choices = each.metadata["choices"]
                expected = (
                    f"expected one of {', '.join(choices)}"
                    if choices
                    else each.metadata["sentence"]
                )
                raise SettingsError(f"{section}.{name} is not set: {expected}", position=where)
            value = path.parent / default if isinstance(default, Path) else default
            values[each.name] = value
            reading.given.append(GivenSetting(label, value, "default"))
            continue
        try:
            is_zero = each.metadata["or_zero"] and given in (0, "0") and given is not False
            read = _READERS[str(each.type)]
            value = values[each.name] = 0.0 if is_zero else read(given, path.parent)
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{label}: {error}, not {given!r}", position=where) from None
        choices = each.metadata["choices"]
        if choices and value not in choices:
            raise SettingsError(
                f"{label}: expected one of {', '.join(choices)}, not {given!r}", position=where
            )
        if isinstance(value, int) and value < each.metadata["least"]:
            raise SettingsError(
                f"{label}: expected a whole number, {each.metadata['least']} or more, not "
                f"{given!r}; leave it out for the default, {each.default:,}",
                position=where,
            )
        reading.given.append(GivenSetting(f"{section}.{name}", value, origin, not each.repr))
    return kind(**values)


def _paths(given: object, folder: Path) -> tuple[Path, ...]:
    patterns = given.split(os.pathsep) if isinstance(given, str) else given
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise TypeError("expected a list of file names")
    found: list[Path] = []
    for pattern in patterns:
        if any(sign in pattern for sign in "*?["):
            path = Path(pattern)
            root = Path(path.anchor) if path.is_absolute() else folder
            matches = sorted(root.glob(str(path.relative_to(path.anchor))))
            if not matches:
                raise ValueError(f"no file matches '{pattern}' in {folder}")
            found.extend(matches)
        else:
            found.append(folder / pattern)
    return tuple(dict.fromkeys(found))


def _texts(given: object, _folder: Path) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise TypeError("expected a list of texts in quotes")
    return tuple(given)


def _spark_conf(given: object, _folder: Path) -> tuple[tuple[str, str], ...]:
    expected = 'expected names of Spark with values, { "spark.executor.memory" = "4g" }'
    if isinstance(given, str):
        parts = [each.partition("=") for each in given.split()]
        given = {name.strip(): value.strip() for name, _, value in parts}
    if not isinstance(given, dict):
        raise TypeError(expected)
    found: dict[str, str] = {}
    for name, value in given.items():
        if not re.fullmatch(r"spark(\.[\w-]+)+", name) or not isinstance(value, str | int | float):
            raise TypeError(f"{expected}, each name and value in quotes")
        if name in SPARK_OWN:
            raise ValueError(f"{name} is SensorStream's own: expected other names")
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return tuple(found.items())


def _networks(given: object, _folder: Path) -> tuple[Network, ...]:
    texts = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise TypeError("expected a list of networks in quotes")
    try:
        return tuple(map(ip_network, texts))
    except ValueError as error:
        raise ValueError(f"expected networks such as 10.1.0.0/16 or fd00::/8 ({error})") from None


def _path(given: object, folder: Path) -> Path:
    if not isinstance(given, str):
        raise TypeError("expected a path in quotes")
    if _ADDRESS.match(given):
        raise ValueError("expected a path on this machine, which may be of a shared folder")
    return folder / given


def _place(given: object, folder: Path) -> Path | str:
    return given if isinstance(given, str) and _ADDRESS.match(given) else _path(given, folder)


def _text(given: object, _folder: Path) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError("expected a text in quotes")
    return str(given)


def _whole(given: object, _folder: Path) -> int:
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise TypeError("expected a whole number")
    number = int(given) if str(given).strip().isdigit() else -1
    if number < 0:
        raise ValueError("expected a whole number, zero or more")
    return number


def _number(given: object, _folder: Path) -> float:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError("expected a number")
    try:
        number = float(given)
    except ValueError:
        raise ValueError("expected a number") from None
    if not 0 < number < float("inf"):
        raise ValueError("expected a number above zero")
    return number


def _flag(given: object, _folder: Path) -> bool:
    if given in (True, "true", "1"):
        return True
    if given in (False, "false", "0"):
        return False
    raise TypeError("expected true or false")


_READERS: Final[Mapping[str, Callable[[object, Path], object]]] = {
    "tuple[Path, ...]": _paths,
    "tuple[str, ...]": _texts,
    "tuple[Network, ...]": _networks,
    "tuple[tuple[str, str], ...]": _spark_conf,
    "Path": _path,
    "Path | str": _place,
    "Path | None": lambda given, folder: None if given == "" else _path(given, folder),
    "str": _text,
    "int": _whole,
    "float": _number,
    "bool": _flag,
}


def _unknown(
    what: str, label: str, name: str, known: Mapping[str, object], where: Position | None
) -> SettingsError:
    # Of http.key, which is private_key, keys is the nearer in letters only.
    holding = [each for each in known if name in each.split("_")]
    near = dict.fromkeys((*holding, *difflib.get_close_matches(name, known, n=1)))
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(known)}"
    return SettingsError(f"unknown {what} {label}: {hint}", position=where)
