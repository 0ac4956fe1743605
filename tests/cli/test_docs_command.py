"""The documents in a browser."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from sensorstream.cli import docs_command

SCRIPT = """
import signal, sys
from pathlib import Path
from sensorstream.cli import docs_command
# A shell ignores it for what it runs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
docs_command.bundled = lambda name: Path(sys.argv[1]) / name
docs_command.command([])
"""


def test_the_documents_are_served_until_the_command_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<h1>here</h1>")
    (tmp_path / "secret").touch()
    command = [sys.executable, "-u", "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        url = it.stdout.readline().split()[-1]
        assert httpx.get(url).text == "<h1>here</h1>"
        assert httpx.get(f"{url}../secret").status_code == 404
        assert httpx.get(f"{url}%2e%2e/secret").status_code == 404
        it.send_signal(signal.SIGINT)
        _, told = it.communicate(timeout=30)
    assert (it.returncode, told) == (0, "")


def test_an_installation_without_documents_says_so(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs_command, "bundled", lambda name: tmp_path / name)
    result = run("docs")
    assert result.exit_code == 1
    assert "error[settings]: this installation has no documents" in result.stderr
