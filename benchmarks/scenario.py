"""The paper's scenario (section 5.2) and what the paper says of it.

The paper lists five property values a message and counts five statements with the type; all
that it lists are inserted here, in every system alike: six statements an individual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
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
PROFILES: Final = ("plain", "hermit", "pellet")
PHASES: Final = ("t_i", "t_w", "t_m", "t_s")
"""The phases of the paper's equation (10)."""

SLIDING: Final = "sliding"
FILLING: Final = "filling"
UNBOUNDED: Final = "none"
"""The paper's third case: without windowing (figure 3)."""

_NEVER_FULL: Final = 10**9


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the paper's table 1, in milliseconds per message; the row's size in individuals."""

    tumbling: float
    sliding: float


TABLE_1: Final[Mapping[int, Published]] = MappingProxyType(
    {191: Published(1250, 253), 991: Published(5270, 793), 2991: Published(16348, 2306)}
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run. ``peer_steps`` messages are measured of each peer at each size.

    What is measured is divided into ``turns``: the systems take them one after the other.

    ``clearings`` are the sizes at which the paper's way also empties a full tumbling window,
    ``listings`` those at which it lists inferred statements of the oldest individual, and
    ``naive`` maps a size to the messages that the naive way gets.
    """

    messages: int
    sizes: tuple[int, ...]
    peer_steps: int
    clearings: tuple[int, ...]
    listings: tuple[int, ...]
    naive: Mapping[int, int]
    ontology: tuple[int, ...]
    rules: tuple[int, ...]
    statements: tuple[int, ...]
    variation_messages: int
    variation_window: int
    turns: int = 20


DEFAULT: Final = Scale(
    messages=4000,
    sizes=(191, 991, 2991),
    peer_steps=60,
    clearings=(191, 991),
    listings=(191,),
    naive=MappingProxyType({191: 2}),
    ontology=(31, 100, 300, 1000),
    rules=(1, 10, 100, 1000),
    statements=(5, 10, 20, 50),
    variation_messages=300,
    variation_window=91,
)
FULL: Final = Scale(
    messages=4000,
    sizes=(191, 991, 2991),
    peer_steps=400,
    clearings=(191, 991, 2991),
    listings=(191, 991),
    naive=MappingProxyType({191: 5, 991: 1}),
    ontology=(31, 100, 300, 1000),
    rules=(1, 10, 100, 1000),
    statements=(5, 10, 20, 50),
    variation_messages=4000,
    variation_window=191,
)


def paper_ontology() -> Path:
    """The ontology of 31 classes."""
    return bundled("ontologies") / "tracking.ttl"


def paper_rules() -> Path:
    """One mapping rule, one semantic rule."""
    return Path(__file__).parent / "paper.rules"


def deployment(
    profile: str,
    kind: str,
    size: int,
    *,
    ontology: Path | None = None,
    rules: Path | None = None,
) -> Settings:
    """Settings of the scenario; ``kind`` is sliding, filling, or none (``size`` is ignored)."""
    unbounded = kind == UNBOUNDED
    return Settings(
        path=Path("benchmark.toml").absolute(),
        ontology=OntologySettings(files=(ontology or paper_ontology(),)),
        rules=RuleSettings(files=(rules or paper_rules(),)),
        window=WindowSettings(
            kind=SLIDING if unbounded else kind, size=str(_NEVER_FULL if unbounded else size)
        ),
        reasoning=ReasoningSettings(profile=profile),
    )
