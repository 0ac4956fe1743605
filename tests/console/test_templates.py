"""No data come into what a browser takes for code: templates, attributes, scripts, formatters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sensorstream.console

FOLDER = Path(sensorstream.console.__file__).parent
SINKS = {
    "add_slot": 1,
    "props": 0,
    "style": 0,
    "run": 0,
    "ask": 0,
    "run_method": 0,
    "add_head_html": 0,
    "add_body_html": 0,
    "add_css": 0,
}
"""Methods and functions, and which of their arguments the browser takes for code."""
NOT_USED = {
    *("markdown", "mermaid", "restructured_text", "chat_message", "interactive_image", "aggrid"),
    *("run_javascript", "x_run", "run_grid_method", "run_chart_method", "add_sass", "add_scss"),
    *("generic_layer", "marker", "tile_layer", "wms_layer", "run_layer_method", "run_map_method"),
    *("scene", "plotly", "matplotlib", "json_editor", "xterm", "anywidget", "teleport"),
}
"""What takes code or HTML, and is not needed; scripts are run by :mod:`.page_scripts` alone."""


def is_fixed(part: ast.expr) -> bool:
    """Whether an expression is made of what stands in the source: text and constants."""
    if isinstance(part, ast.JoinedStr):
        return all(map(is_fixed, part.values))
    if isinstance(part, ast.FormattedValue):
        return is_fixed(part.value)
    if isinstance(part, ast.BinOp):
        return is_fixed(part.left) and is_fixed(part.right)
    if isinstance(part, ast.Name):
        return part.id.lstrip("_").isupper()
    return isinstance(part, ast.Constant)


def faults_of(source: str) -> Iterator[str]:
    """The places of a source where data could be taken for code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "formatter"
                    and not is_fixed(value)
                ):
                    yield f"line {node.lineno}: formatter"
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = {each.arg: each.value for each in node.keywords}
        at = (
            None
            if name in ("run", "ask") and isinstance(node.func, ast.Attribute)
            else SINKS.get(name)
        )
        if at is not None and len(node.args) > at and not is_fixed(node.args[at]):
            yield f"line {node.lineno}: {name}"
        if name == "add_slot" and not is_fixed(given.get("template", ast.Constant(""))):
            yield f"line {node.lineno}: {name}"
        if not is_fixed(given.get("js_handler", ast.Constant(""))):
            yield f"line {node.lineno}: js_handler"
        if name in NOT_USED:
            yield f"line {node.lineno}: {name}"
        if name == "html" and ("sanitize" in given or not all(map(is_fixed, node.args))):
            yield f"line {node.lineno}: html"


@pytest.mark.parametrize(
    "source",
    [
        "table.add_slot(f'body-cell-{name}', _CELL.format(name=name))",
        "table.add_slot('no-data', template=text)",
        "chart.props(f'aria-label=\"{title}\"')",
        "ui.run_javascript(f'alert({name})')",
        "run('alert(%s)' % name)",
        "ui.html(title, tag='h2')",
        "ui.html('', sanitize=False)",
        "ui.add_head_html(text)",
        "ui.markdown(text)",
        "button.on('click', act, js_handler=f'() => emit({name})')",
        "{'formatter': local_name(iri)}",
        "{'label': {'formatter': name}}",
    ],
)
def test_data_in_code_are_found(source: str) -> None:
    assert list(faults_of(source))


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_no_data_stand_in_what_a_browser_takes_for_code(path: Path) -> None:
    found = list(faults_of(path.read_text()))
    if path.stem == "page_scripts":
        assert [each.rpartition(" ")[2] for each in found] == ["run_javascript"] * 2
    else:
        assert found == []
