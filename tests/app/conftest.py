"""Deployments to run whole applications on."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from sensorstream.app.application import Application
from sensorstream.app.cache.cache_messages import CacheQuestion, Formats
from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.processes.stopping import Stop
from sensorstream.settings.settings import (
    HistorySettings,
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WebhookSettings,
    WindowSettings,
)
from tests.databases import Databases
from tests.tracking_settings import tracking

Open = Callable[[Settings], Application]


@pytest.fixture
def database(tracking_database: Databases) -> Iterator[str]:
    """A database of this test's own, with the views of the tracking ontology."""
    url = tracking_database()
    yield url
    tracking_database.over.append(url)


@pytest.fixture
def settings(tmp_path: Path, database: str) -> Settings:
    """The tracking ontology and rules over a window of ten, on a database of its own."""
    return tracking(
        tmp_path,
        window=WindowSettings(size="10"),
        history=HistorySettings(url=database, checkpoint_every=7),
        webhooks=WebhookSettings(allow=(ip_network("127.0.0.1/32"),)),
    )


Deploy = Callable[[str, str, str], Settings]


@pytest.fixture
def deploy(settings: Settings, tmp_path: Path) -> Deploy:
    """Settings of an ontology, rules and a window of that size, with the plain profile."""

    def made(ontology: str, rules: str, window: str) -> Settings:
        (tmp_path / "o.ttl").write_text(ontology)
        (tmp_path / "r.rules").write_text(rules)
        return replace(
            settings,
            ontology=OntologySettings((tmp_path / "o.ttl",)),
            rules=RuleSettings((tmp_path / "r.rules",)),
            reasoning=ReasoningSettings(profile="plain"),
            window=WindowSettings(size=window),
        )

    return made


AskCache = Callable[[Application, str], Any]


@pytest.fixture(scope="session")
def ask_cache() -> AskCache:
    """The answer of a cache: of ASK a bool, of SELECT the solutions as pyoxigraph has them."""

    def ask(application: Application, text: str) -> Any:
        json, out = "application/sparql-results+json", io.BytesIO()
        question = CacheQuestion(text, Formats(json, json, None))
        application.asking.cache(question, out, Stop())
        found = ox.parse_query_results(out.getvalue(), ox.QueryResultsFormat.JSON)
        # What pyoxigraph iterates over must not be dropped by another thread, as it would be if
        # a test kept it beside an error whose traceback holds that test's frame.
        return bool(found) if isinstance(found, ox.QueryBoolean) else list(found)

    return ask


@pytest.fixture
def open_application() -> Iterator[Open]:
    """Open applications; those still open at the end are closed."""
    opened: list[Application] = []

    def start(settings: Settings) -> Application:
        application = Application.open(replace(settings))
        opened.append(application)
        return application

    yield start
    for application in opened:
        application.close()


@pytest.fixture
def application(settings: Settings, open_application: Open) -> Application:
    """The application of the tracking ontology and rules."""
    return open_application(settings)


@pytest.fixture(scope="session")
def deployment() -> Deployment:
    """The tracking deployment, with a window of ten and no database."""
    return read_deployment(tracking(Path(), window=WindowSettings(size="10")))
