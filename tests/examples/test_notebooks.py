"""The notebooks run from the first cell to the last, as a person would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
_RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shown = []
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]))
        done.raise_error()
        formats, _ = shell.display_formatter.format(done.result)
        if "text/html" in formats:
            shown.append(type(done.result).__name__)
print("shown:", *shown)
"""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _RUN, notebook],
        cwd=tmp_path,
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert told.returncode == 0, told.stdout[-2000:] + told.stderr[-2000:]
    shown = told.stdout.rpartition("shown: ")[2].split()
    assert {"DataFrame", "QueryGraph", "Outcome", "Results"} <= {*shown}


def test_the_notebooks_are_as_jupyter_writes_them() -> None:
    assert [each.stem for each in NOTEBOOKS] == ["city", "paper"]
    for notebook in NOTEBOOKS:
        text = notebook.read_text(encoding="utf-8")
        told = json.loads(text)
        assert (told["nbformat"], told["nbformat_minor"]) == (4, 5)
        assert text == json.dumps(told, indent=1, ensure_ascii=False) + "\n"
        assert not [each for each in told["cells"] if each.get("outputs")]
