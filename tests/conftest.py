"""Where the tests keep their files; one embedded PostgreSQL for each process of the run."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from sqlalchemy import make_url

from sensorstream.history import embedded
from sensorstream.history.database import engine
from sensorstream.history.migrations import migrate
from tests import effort, java_classes
from tests.databases import Databases, make_history

# New objects minus freed ones before the collector looks at them; Python's own number is 700.
_YOUNG = 10_000
_MEMORY = Path("/dev/shm")
# Of all processes that run tests, at most.
_FILES_BYTES = 4 * 2**30

_CHECKOUT = Path(__file__).parents[1]
_TOOLS = ("__pycache__", "build", "dist")

_OF_ONE_PROCESS = ("tests/spark/", "tests/console/", "tests/reasoning/dl/")
# What takes a minute or more must not begin when the other processes are about to end.
_FIRST = (
    *_OF_ONE_PROCESS,
    "tests/streaming/test_spark_stream.py",
    "tests/cli/demo/",
    "tests/cli/test_documents.py",
    "tests/integration/",
    "tests/package/",
    "tests/streaming/",
    "tests/archive/",
    "tests/app/backfill/",
    "tests/reasoning/",
    "tests/app/",
    "tests/journal/",
    "tests/cli/",
    "tests/server/",
)


def pytest_configure() -> None:
    """Keep temporary files in memory if there is room: PostgreSQL makes thousands a minute."""
    # Until the tests are collected: their modules and items stay, and there are many.
    gc.disable()
    # Or each of the many processes that tests start would compile the whole package for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("JAVA_TOOL_OPTIONS", java_classes.options())
    if os.environ.get("TMPDIR", "/tmp") != "/tmp" or not os.access(_MEMORY, os.W_OK):
        return
    room = min(shutil.disk_usage(_MEMORY).free, psutil.virtual_memory().available // 2)
    if room > _FILES_BYTES:
        # For the processes that tests start, too.
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Any:
    """Give a file to one process, and all files that share a Spark, a console with its browser or
    reasoners to the same process: to start those takes longer than most of the tests.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    found = LoadFileScheduling(config, log)
    file_of = found._split_scope

    def group_of(test: str) -> str:
        return next((each for each in _OF_ONE_PROCESS if test.startswith(each)), file_of(test))

    found._split_scope = group_of
    return found


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than cores, at most four: many tests wait for processes they start."""
    return min((os.cpu_count() or 1) + 2, 4)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a share of the files first, when several processes collect all tests.

    In a first run pytest rewrites their asserts, which is most of the time of a collection, and
    keeps that beside them: so no process does it for all of them.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    if count == 1 or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    own = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for file in sorted(Path(__file__).parent.rglob("test_*.py"))[own::count]:
        # What goes wrong is told when the file is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(_CHECKOUT).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files first; they are given to processes in this order."""
    for test in {each.function for each in items if isinstance(each, pytest.Function)}:
        effort.scale(test)

    def rank(item: pytest.Item) -> int:
        return next((n for n, each in enumerate(_FIRST) if item.nodeid.startswith(each)), 99)

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Spare the cycle collector all that is there before the first test.

    It took half of the time of the collection of the tests, and a quarter of theirs.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 10, 10)


@pytest.fixture(scope="session", autouse=True)
def _checkout_is_left_as_it_is() -> Iterator[None]:
    """No test writes outside a folder of its own."""
    before = _checkout()
    yield
    changed = sorted(str(each) for each in before ^ _checkout())
    assert not changed, f"tests left files in the checkout, or took them: {changed}"


def _checkout() -> set[Path]:
    """All files and folders of the checkout but those that tools keep for themselves."""
    found: set[Path] = set()
    for place, folders, files in os.walk(_CHECKOUT):
        kept = [each for each in folders if each[0] != "." and each not in _TOOLS]
        folders[:] = [each for each in kept if not each.endswith(".egg-info")]
        found.update(Path(place, each) for each in (*folders, *files))
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that PostgreSQL's own user can reach.

    Below pytest's ``tmp_path`` it could not when root runs the tests: every new run of pytest
    locks that folder again.
    """
    with TemporaryDirectory(prefix="sensorstream-test-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a running server's first database."""
    with TemporaryDirectory(prefix="sensorstream-test-") as name:
        with pytest.MonkeyPatch.context() as patch:
            # No test kills this server, so nobody need wait for the disk.
            patch.setitem(embedded._SERVER_OPTIONS, "fsync", "off")
            server = embedded.start(Path(name))
        with server:
            yield server.url
            # Nothing is worth keeping, and flushing a hundred databases takes a while.
            process = (server.folder / "cluster" / "postmaster.pid").read_text().split()[0]
            os.kill(int(process), signal.SIGQUIT)


@pytest.fixture(scope="session")
def empty_database(postgres: str) -> Databases:
    """Makes databases without anything in them; gives their URLs."""
    return Databases(postgres, "empty", "template1")


@pytest.fixture(scope="session")
def new_database(postgres: str, empty_database: Callable[[], str]) -> Databases:
    """Makes databases whose tables are there, and are empty; gives their URLs.

    They are copies of one: to run all migrations takes twenty times as long as to copy.
    """
    url = empty_database()
    template = engine(url, pool_size=1)
    migrate(template)
    template.dispose()
    return Databases(postgres, "test", f"{make_url(url).database}")


@pytest.fixture(scope="session")
def tracking_database(postgres: str, new_database: Databases) -> Databases:
    """Makes databases as a server of the tracking deployment leaves them that has taken nothing in.

    To make its views takes longer than what most tests do with a server.
    """
    from sensorstream.app.control.wiring import read_deployment
    from tests.tracking_settings import tracking

    deployment = read_deployment(tracking(Path()))
    url = new_database()
    make_history(url, deployment.ontology.schema, deployment.timeline)
    return Databases(postgres, "tracking", f"{make_url(url).database}")


@pytest.fixture
def database(new_database: Databases) -> Iterator[str]:
    """A database of this test's own, without a history."""
    url = new_database()
    yield url
    new_database.over.append(url)
