"""The paper's scenario (section 5.2) and what the paper says of it.

The paper lists five property values a message and counts five statements with the type; all
that it lists are inserted here, in every system alike: six statements an individual.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sensorstream.installation import bundled
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

NAMESPACE: Final = "http://sensorstream.example/tracking#"
PHASES: Final = ("t_i", "t_w", "t_m", "t_s")
"""The phases of the paper's equation (10)."""

SLIDING: Final = "sliding"


def paper_ontology() -> Path:
    """The ontology of 31 classes."""
    return bundled("ontologies") / "tracking.ttl"


def deployment(profile: str, kind: str, size: int) -> Settings:
    """Settings of the scenario; ``kind`` and ``size`` are the window's."""
    return Settings(
        path=Path("benchmark.toml").absolute(),
        ontology=OntologySettings(files=(paper_ontology(),)),
        rules=RuleSettings(files=(Path(__file__).parent / "paper.rules",)),
        window=WindowSettings(kind=kind, size=str(size)),
        reasoning=ReasoningSettings(profile=profile),
    )
