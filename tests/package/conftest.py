"""The package as others get it: built as an sdist, the wheel made from that, installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from sensorstream.installation import EXTRAS
from tests.package.building import Distributions, alone, build


@dataclass(frozen=True)
class Installed:
    """An environment of its own with the wheel, its dependencies and no optional part."""

    folder: Path

    def run(self, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``sensorstream`` there."""
        return subprocess.run(
            [self.folder / "bin" / "sensorstream", *map(str, arguments)],
            cwd=cwd,
            env=alone(),
            capture_output=True,
            text=True,
            timeout=240,
        )


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return build(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="session")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip"]
    python, wheel = str(folder / "bin" / "python"), str(distributions.wheel)
    subprocess.run(
        [*pip, "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        env=alone(),
        check=True,
    )
    # The dependencies are those of the tests, so that nothing is fetched; optional ones are hidden.
    hidden = sorted({module for modules in EXTRAS.values() for module in modules})
    site = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (site / "dependencies.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n"
        f"import sys; sys.modules.update(dict.fromkeys({hidden!r}))\n",
        encoding="utf-8",
    )
    return Installed(folder)
