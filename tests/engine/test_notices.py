"""Every alert of the system has a row in the page on alerts."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from sensorstream.engine import notices
from sensorstream.history import effects_store
from sensorstream.journal import notice

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "alerts.md").read_text("utf-8")
RAISING = {"_raise": 1, "_alert": 1, "report": 1}
"""What raises an alert, and which of its arguments is the kind."""


def kinds(module: ModuleType) -> Iterator[str]:
    """The kinds of the alerts that the code of a module raises."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            at = RAISING.get(name)
            given = [] if at is None else node.args[at : at + 1]
            given += [each.value for each in node.keywords if each.arg == "kind"]
            for kind in given:
                if isinstance(kind, ast.Constant):
                    yield str(kind.value)
                elif isinstance(kind, ast.Name) and hasattr(module, kind.id):
                    yield getattr(module, kind.id)


def test_every_kind_is_told() -> None:
    raised = {each for module in (notices, notice, effects_store) for each in kinds(module)}
    raised |= {each.alert[0] for each in notice._Notice.__subclasses__()}
    section = PAGE.partition("\n## Alerts of the system\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    assert raised == {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
