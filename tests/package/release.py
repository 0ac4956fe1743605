"""Makes a release: looks at what must hold, builds, checks, tries it in fresh environments, tags.

``make release`` does so. With ``--draft`` it only builds, checks and tries.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.package import site
from tests.package.building import ROOT, build
from tests.package.every_python import pythons, try_out

OUT: Final = ROOT / "dist"


def project() -> dict[str, Any]:
    """The project of pyproject.toml."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = told["project"]
    return found


def differing() -> Iterator[str]:
    """The files that do not have the version of pyproject.toml."""
    version = project()["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    if cited != version:
        yield f"CITATION.cff has the version {cited}, expected {version}"
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md has no section [{version}]"


def obstacles() -> Iterator[str]:
    """What must be mended before this version can be tagged."""
    yield from differing()
    version = project()["version"]
    if "Not released yet" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md says 'Not released yet': expected the date of {version}"
    for name, url in project()["urls"].items():
        if ".example" in url:
            yield f"pyproject.toml: the URL {name} is an example: {url}"
    if _git("status", "--porcelain", "--untracked-files=no"):
        yield "there are changes that are not committed"
    if _git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} is there already"


def make(out: Path) -> list[Path]:
    """Build the sdist and the wheel into a folder and check their descriptions."""
    with tempfile.TemporaryDirectory(prefix="sensorstream-release-") as name:
        made = build(Path(name))
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        files = [Path(shutil.copy2(each, out)) for each in (made.sdist, made.wheel)]
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)]
    subprocess.run(command, check=True)
    return files


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> int:
    """Make the release; 1 if something is in the way."""
    draft = "--draft" in arguments
    found = [] if draft else list(obstacles())
    for each in found:
        print(each)
    if found:
        return 1
    site.build()
    _, wheel = make(OUT)
    for (major, minor), python in pythons().items():
        with tempfile.TemporaryDirectory(prefix="sensorstream-release-") as name:
            try_out(python, wheel, Path(name))
        print(f"Python {major}.{minor}: installed and at work")
    if not draft:
        tag = f"v{project()['version']}"
        _git("tag", "--annotate", tag, "--message", f"SensorStream {tag}")
        print(f"tagged {tag}: git push origin {tag}; twine upload dist/*")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
