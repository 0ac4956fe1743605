"""What a section is made of, and what all of them share: one PostgreSQL, one Spark, a folder."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Final

from click.testing import CliRunner
from sqlalchemy import make_url

from sensorstream.cli import main
from sensorstream.errors import SensorStreamError
from sensorstream.history import embedded
from sensorstream.history.database import engine
from sensorstream.history.migrations import migrate
from sensorstream.settings.settings import SparkSettings
from tests.databases import Databases
from tests.equivalence.canonical import digest, masked, placed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORDS: Final = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Item:
    """Something that has an answer; ``answer`` gives it in canonical form, or raises."""

    name: str
    answer: Callable[[], str]


@dataclass(slots=True)
class Outcome:
    """What became of an item: what stands in the file, and what can be read."""

    told: str
    shown: str


def outcome_of(item: Item) -> Outcome:
    """The digest of an item's answer, or its refusal."""
    try:
        text = placed(item.answer())
    except SensorStreamError as error:
        return Outcome(f"refusal:{error.code}", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome(f"fault:{type(error).__name__}", f"{type(error).__name__}: {error}")
    return Outcome(digest(text), text)


def name_of(text: str) -> str:
    """A name of a text that begins as the text does."""
    return f"{_WORDS.sub('-', text)[-48:].strip('-')}-{digest(text)[:8]}"


def parametrized(module: ModuleType) -> list[str]:
    """All texts that the tests of a module are given."""
    found: dict[str, None] = {}
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "parametrize":
                values = (v if isinstance(v, tuple) else (v,) for v in mark.args[1])
                found.update(dict.fromkeys(t for v in values for t in v if isinstance(t, str)))
    return list(found)


def absent(what: str, folder: Path) -> Iterator[Item]:
    """The one item of a section whose files are not beside the checkout, or nothing."""
    if not folder.exists():
        yield Item(what, lambda: "absent")


@dataclass
class Tools:
    """What the sections use; each part is started when it is first asked for."""

    folder: Path
    stack: ExitStack
    _numbers: list[Path] = field(default_factory=list)

    def new_folder(self) -> Path:
        """An empty folder."""
        made = self.folder / f"f{len(self._numbers)}"
        made.mkdir()
        self._numbers.append(made)
        return made

    @cached_property
    def new_database(self) -> Databases:
        """Makes databases with empty tables."""
        server = self.stack.enter_context(embedded.start(self.new_folder()))
        # Nothing is worth keeping.
        process = (server.folder / "cluster" / "postmaster.pid").read_text().split()[0]
        self.stack.callback(os.kill, int(process), signal.SIGQUIT)
        url = Databases(server.url, "empty", "template1")()
        template = engine(url, pool_size=1)
        migrate(template)
        template.dispose()
        return Databases(server.url, "equivalence", f"{make_url(url).database}")

    @cached_property
    def spark(self) -> SparkSession:
        """Spark for small data: to compile a query would cost more than to run it."""
        from sensorstream.spark.launch import spark_session

        session = self.stack.enter_context(spark_session(SparkSettings("local[2]")))
        session.conf.set("spark.sql.shuffle.partitions", "1")
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        return session

    def command(self, arguments: Sequence[object]) -> str:
        """What a command prints and how it ends."""
        told = CliRunner().invoke(main, [*map(str, arguments)])
        if told.exception is not None and not isinstance(told.exception, SystemExit):
            raise told.exception
        text = f"{told.stdout}\n{told.stderr}\nexit code {told.exit_code}"
        return masked(text, self.folder)


@contextmanager
def tools() -> Iterator[Tools]:
    """The tools of one run; all that was started ends with it."""
    with TemporaryDirectory(prefix="sensorstream-equivalence-") as name, ExitStack() as stack:
        # PostgreSQL has a user of its own.
        Path(name).chmod(0o755)
        yield Tools(Path(name), stack)
