"""Queries of the papers, to begin with: those of the examples that come with SensorStream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sensorstream.resources import bundled


@dataclass(frozen=True, slots=True)
class Preset:
    """A query to begin with; ``about`` is the comment that it begins with, which may be empty."""

    name: str
    about: str
    text: str


def presets() -> list[Preset]:
    """All of them, by the folders of their examples."""
    folder = bundled("examples")
    return [
        _read(folder, path) for path in sorted([*folder.glob("*/*.rq"), *folder.glob("*/*.dotr")])
    ]


def _read(folder: Path, path: Path) -> Preset:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    comment: list[str] = []
    while len(comment) < len(lines) and lines[len(comment)].startswith("#"):
        comment.append(lines[len(comment)].removeprefix("#").strip())
    return Preset(path.relative_to(folder).as_posix(), " ".join(comment), text)
