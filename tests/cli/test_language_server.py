from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import Result

from sensorstream import installation


def test_without_the_extra_it_says_what_to_install(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    result = run("language-server")
    assert result.exit_code != 0
    assert result.stderr.startswith("error[missing-extra]: the language server needs ")
    assert "pip install 'sensorstream[editor]'" in result.stderr


def test_it_ends_when_the_editor_is_gone() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "sensorstream", "language-server"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (0, b"")
