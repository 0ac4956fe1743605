"""A commented settings file, written from the table of settings itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TypeAlias

from sensorstream.settings import LISTED_SECTIONS, NAMED_SECTIONS, SECTIONS

Given: TypeAlias = Mapping[str, Mapping[str, object]]


def settings_text(heading: str, given: Given) -> str:
    """The text of a ``sensorstream.toml``: every setting with its sentence.

    Settings in ``given`` (section, then name) are set; all others are comments with their defaults.
    Sections with names that the user chooses follow as comments.
    """
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, kind in SECTIONS.items():
        lines += ["", f"[{section}]"]
        lines += _settings(kind, given.get(section, {}))
    for section, kind in NAMED_SECTIONS.items():
        lines += ["", f"# [{section}.NAME]"]
        for setting in fields(kind):
            lines.append(f"#   {setting.metadata['sentence']}")
            lines.append(f"#   {setting.name.rstrip('_')} = {_toml(setting.default)}")
    for section, (head, types) in LISTED_SECTIONS.items():
        known = ", ".join(types)
        lines += ["", f"# [[{section}]]  (as often as needed; docs/inputs.md has the options)"]
        for setting in fields(head):
            told = f" One of {known}." if setting.metadata["choices"] else ""
            lines.append(f"#   {setting.metadata['sentence']}{told}")
            lines.append(f"#   {setting.name} = {_toml(setting.default)}")
    return "\n".join(lines) + "\n"


def _settings(kind: type, given: Mapping[str, object]) -> Iterator[str]:
    for setting in fields(kind):
        yield f"# {setting.metadata['sentence']}"
        if setting.name in given:
            yield f"{setting.name} = {_toml(given[setting.name])}"
        else:
            yield f"# {setting.name} = {_toml(setting.default)}"


def _toml(value: object) -> str:
    # TOML writes strings, numbers, booleans and lists of strings as JSON does.
    if value is None:
        value = ""
    if isinstance(value, Path):
        value = str(value)
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
