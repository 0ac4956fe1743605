"""A deployment and its server, as the fixtures of these tests give it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Served:
    """Settings file, its folder, and where the server answers."""

    folder: Path
    config: Path
    url: str
