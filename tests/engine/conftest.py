"""Engines to feed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.app.recorded_engine import build_engine
from sensorstream.engine.engine import Engine
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings
from tests.engine import feeding

Deploy = Callable[..., Deployment]
Start = Callable[[Deployment], Engine]
Started = Callable[..., Engine]
Build = Callable[..., Engine]


@pytest.fixture
def deploy(tmp_path: Path) -> Deploy:
    """Read a deployment of an ontology and rules, with any settings."""

    def read(ontology: str, rules: str, **sections: object) -> Deployment:
        (tmp_path / "o.ttl").write_text(ontology)
        (tmp_path / "r.rules").write_text(rules)
        settings = Settings(
            tmp_path / "sensorstream.toml",
            ontology=OntologySettings((tmp_path / "o.ttl",)),
            rules=RuleSettings((tmp_path / "r.rules",), 4),
        )
        return read_deployment(replace(settings, **sections))  # type: ignore[arg-type]

    return read


@pytest.fixture
def start() -> Iterator[Start]:
    """Start engines; they are stopped at the end."""
    engines: list[Engine] = []

    def new(deployment: Deployment) -> Engine:
        engines.append(feeding.machine_of(deployment).engine)
        return engines[-1]

    yield new
    for engine in engines:
        engine.close()


@pytest.fixture
def started(deploy: Deploy, start: Start) -> Started:
    """Start an engine of an ontology and rules, with any settings."""
    return lambda ontology, rules, **sections: start(deploy(ontology, rules, **sections))


@pytest.fixture
def build() -> Iterator[Build]:
    """Build engines that are given events, on the integer time line; stopped at the end."""
    engines: list[Engine] = []

    def new(**values: object) -> Engine:
        engine = build_engine(**{"line": "integer", **values})  # type: ignore[arg-type]
        engines.append(engine)
        return engine

    yield new
    for engine in engines:
        engine.close()
