"""``sensorstream spark``: many questions to one warm Spark, and what lets it start sooner."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from sensorstream.cli.options import config_option
from sensorstream.cli.signals import signalled
from sensorstream.cli.terminal import lasting, print_solutions, print_table, working
from sensorstream.own_folders import own_folder
from sensorstream.settings import Settings
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.spark.jobs.protocol import Progress
    from sensorstream.spark.jobs.worker_process import WorkerProcess


@click.command("prepare")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def prepare(quiet: bool) -> None:
    """Keep Spark's classes in a file, so that it starts in a third of the CPU time.

    Takes a minute or two, and about 230 MB in the folder for caches ($XDG_CACHE_HOME, or ~/.cache).
    Once for each installation; after an update of Spark or Java, call it again.
    """
    from sensorstream.extras import require

    require("spark", "Spark")
    from sensorstream.spark.preparation import prepare

    with lasting("running Spark once, and keeping its classes", quiet=quiet):
        file = prepare()
    click.echo(f"{file}: {file.stat().st_size / 1e6:.0f} MB")


_MOST_SHOWN: Final = 1000
_MOST_BYTES: Final = 1 << 30
# What may hold brackets and semicolons that mean nothing: quotes, IRIs, SQL's comments.
_QUOTED: Final = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.|'')*'|\"(?:[^\"\\\n]|\\.)*\"|<[^<>\s]*>|--[^\n]*|['\"].*",
    re.DOTALL,
)
_SPARQL: Final = re.compile(r"\s*(prefix|base|describe|ask|construct)\b", re.IGNORECASE)


@click.group("spark")
def command() -> None:
    """Ask the history many questions in one Spark; let Spark start sooner."""


command.add_command(prepare)


@command.command("shell")
@config_option
def shell(config: Path) -> None:
    """Read questions in SQL or SPARQL, and answer each, until the input ends (Ctrl-D).

    A question ends with a semicolon outside of all brackets, or with an empty line. Ctrl-C ends the
    question that runs, and not the shell. Without a terminal the exit code is 1 if a question could
    not be answered.
    """
    from sensorstream.errors import SensorStreamError
    from sensorstream.extras import require

    require("spark", "a shell of Spark")
    settings = load_settings(config)
    live, failed = sys.stdin.isatty(), False
    with ExitStack() as stack:
        questions = _Shell(settings, stack)
        for text in _typed() if live else _given():
            try:
                questions.answer(text)
            except SensorStreamError as error:
                failed = True
                click.echo(f"error[{error.code}]: {error}", err=True)
    if failed and not live:
        raise click.exceptions.Exit(1)


class _Shell:
    """A process with Spark, which starts while the first question is typed."""

    def __init__(self, settings: Settings, stack: ExitStack) -> None:
        from sensorstream.history.opening import open_kept
        from sensorstream.reasoning.ontology import deployed_ontology
        from sensorstream.spark.jobs.protocol import Task
        from sensorstream.spark.jobs.worker_process import Runner
        from sensorstream.spark.snapshot import Place

        self._folder = stack.enter_context(own_folder("sensorstream-shell-"))
        place = Place(open_kept(settings.history, stack), settings.archive.folder)
        self._schema = deployed_ontology(settings.ontology).schema
        line, limit = settings.time.timeline, settings.limits.question_seconds
        self._runner = Runner(Task(place, line, settings.spark.master, limit))
        self._worker = self._start()
        stack.callback(self._end)

    def answer(self, text: str) -> None:
        """Answer one question on stdout.

        Raises:
            SensorStreamError: it cannot be answered, or was ended.
        """
        from sensorstream.spark.jobs.answer_files import ANSWER
        from sensorstream.spark.jobs.protocol import SPARQL, JobText

        question = JobText(language_of(text), text)
        self._runner.check(question)
        if not self._worker.alive:
            self._worker.close()
            self._worker = self._start()
        with (
            own_folder("answer-", self._folder) as folder,
            working("Spark starts") as say,
            signalled(signal.SIGINT) as cancelled,
        ):

            def told(progress: Progress) -> None:
                done = f"{progress.tasks_done} of {progress.tasks} tasks" if progress.tasks else ""
                say("Spark answers", done)

            rows = self._worker.ask(
                question, self._schema, folder, _MOST_BYTES, told, lambda: bool(cancelled)
            )
            with (folder / ANSWER).open("rb") as answer:
                shown = _show_terms(answer) if question.language == SPARQL else _show_table(answer)
        if rows > shown:
            click.echo(f"the first {shown} of {rows} rows", err=True)

    def _end(self) -> None:
        # Nothing of it is kept: no need to wait until Spark has stopped in order.
        self._worker.kill()
        self._worker.close()

    def _start(self) -> WorkerProcess:
        return self._runner.start(self._folder / "work")


def language_of(text: str) -> str:
    """``sparql`` or ``sql``: outside of quotes SQL has no braces, and SPARQL mostly has."""
    plain = _QUOTED.sub(" ", text)
    return "sparql" if "{" in plain or _SPARQL.match(plain) else "sql"


def ends(text: str) -> bool:
    """Whether a question ends here: with a semicolon outside of all brackets."""
    plain = _QUOTED.sub(" ", text)
    return plain.rstrip().endswith(";") and all(
        plain.count(left) <= plain.count(right) for left, right in ("{}", "()", "[]")
    )


def _typed() -> Iterator[str]:
    """The questions that a person types."""
    import readline  # noqa: F401 - gives input() a history and its keys

    click.echo('SQL or SPARQL, ended by ";" or an empty line. Ctrl-C ends a question, Ctrl-D all.')
    lines: list[str] = []
    while True:
        try:
            lines.append(input("spark> " if not lines else "   ... "))
        except KeyboardInterrupt:
            click.echo()
            lines.clear()
            continue
        except EOFError:
            click.echo()
            return
        if not lines[-1].strip() or ends("\n".join(lines)):
            yield from _question(lines)


def _given() -> Iterator[str]:
    """The questions of a file or a pipe."""
    lines: list[str] = []
    for line in sys.stdin:
        lines.append(line.rstrip("\n"))
        if not line.strip() or ends("\n".join(lines)):
            yield from _question(lines)
    yield from _question(lines)


def _question(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip().removesuffix(";").strip()
    lines.clear()
    if text:
        yield text


def _show_table(answer: IO[bytes]) -> int:
    """Show the first rows of an answer to SQL; how many these are."""
    from sensorstream.spark.jobs.answer_files import first_rows

    columns, shown = first_rows(answer, _MOST_SHOWN)
    print_table(columns, shown)
    return len(shown)


def _show_terms(answer: IO[bytes]) -> int:
    """Show the first solutions or triples of an answer to SPARQL."""
    from sensorstream.history.asking import formats
    from sensorstream.history.asking.answer import Graph, Solutions
    from sensorstream.spark.jobs.answer_files import read_answer

    found = read_answer(answer)
    if isinstance(found, Solutions):
        found = Solutions(found.variables, islice(found.rows, _MOST_SHOWN))
    elif isinstance(found, Graph):
        found = Graph(islice(found.triples, _MOST_SHOWN))
    out = BytesIO()
    if formats.write(found, (formats.JSON, formats.TURTLE), out) == formats.JSON:
        print_solutions(json.loads(out.getvalue()))
    else:
        click.echo(out.getvalue().decode(), nl=False)
    return _MOST_SHOWN
