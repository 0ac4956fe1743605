"""A tracking deployment whose server runs in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sensorstream.cli import main
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from tests.cli.served import Served
from tests.forked import commands_are_forks as commands_are_forks
from tests.forked import own_interpreters as own_interpreters

Run = Callable[..., Result]
WINDOW = 10


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs ``sensorstream`` with arguments, in this process; ``status`` is how it must end."""

    def run(*arguments: object, given: str = "", status: int | None = None) -> Result:
        result = CliRunner().invoke(main, [str(each) for each in arguments], input=given)
        assert status is None or result.exit_code == status, result.output
        return result

    return run


@pytest.fixture(scope="session")
def new_workspace(
    tmp_path_factory: pytest.TempPathFactory, tracking_database: Callable[[], str]
) -> Callable[[], Path]:
    """Makes tracking deployments with a small window and no Java; gives their settings files."""

    def make() -> Path:
        overrides: dict[str, dict[str, object]] = {
            "reasoning": {"profile": "plain"},
            "window": {"size": str(WINDOW)},
            "history": {"url": tracking_database()},
            "webhooks": {"allow": ["127.0.0.1/32"]},
        }
        folder = tmp_path_factory.mktemp("deployment")
        return make_workspace(folder, TEMPLATES["tracking"], overrides)

    return make


# One for each file of tests: which files a process has run before must not matter.
@pytest.fixture(scope="module")
def served(new_workspace: Callable[[], Path]) -> Iterator[Served]:
    config = new_workspace()
    with ServerProcess(config) as process:
        yield Served(config.parent, config, process.url())


@pytest.fixture(scope="module")
def another(new_workspace: Callable[[], Path]) -> Iterator[Served]:
    """A second server, for what is sent from one to the other."""
    config = new_workspace()
    with ServerProcess(config) as process:
        yield Served(config.parent, config, process.url())
