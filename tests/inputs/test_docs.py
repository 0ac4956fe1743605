"""The document on inputs and outputs: its settings can be read, its tables are the code's."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sensorstream.settings.endpoints import INPUT_TYPES, OUTPUT_TYPES
from sensorstream.settings.settings_file import load_settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "operate" / "inputs.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
KINDS: dict[str, type[Any]] = {
    **INPUT_TYPES,
    **{f"{name} output": kind for name, kind in OUTPUT_TYPES.items()},
}


def table_of(name: str) -> str:
    """The table of the options of a type."""
    lines = ["| option | default | |", "|---|---|---|"]
    for option in fields(KINDS[name]):
        value = "" if option.default is None else option.default
        told = json.dumps(list(value) if isinstance(value, tuple) else value)
        default = "required" if option.metadata["required"] else f"`{told}`"
        choices = option.metadata["choices"]
        known = f" One of {', '.join(choices)}." if choices else ""
        lines.append(f"| `{option.name}` | {default} | {option.metadata['sentence']}{known} |")
    return "\n".join(lines)


@pytest.mark.parametrize("name", KINDS)
def test_the_options_of_a_type_are_those_of_the_code(name: str) -> None:
    assert f"<!-- options: {name} -->\n{table_of(name)}\n" in TEXT


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL))
def test_the_settings_of_the_document_can_be_read(block: str, tmp_path: Path) -> None:
    file = tmp_path / "sensorstream.toml"
    file.write_text(block, encoding="utf-8")
    settings = load_settings(file, {})
    assert len(settings.inputs) + len(settings.outputs) == 1
