"""``sensorstream spark``: many questions to one warm Spark; ``stream``: the pipeline on Spark."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Final

import click

from sensorstream.cli.command_kinds import deployed
from sensorstream.cli.options import config_option
from sensorstream.cli.terminal import lasting, print_solutions, print_table, signalled, working
from sensorstream.processes.own_folders import own_folder
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.history.effects_writer import JournalPosition
    from sensorstream.spark.jobs.spark_messages import SparkProgress
    from sensorstream.spark.jobs.spark_worker_process import WorkerProcess


@click.command("prepare")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def prepare(quiet: bool) -> None:
    """Keep Spark's classes in a file, so that it starts in a third of the CPU time.

    Takes a minute or two, and about 230 MB in the folder for caches ($XDG_CACHE_HOME, or ~/.cache).
    Once for each installation; after an update of Spark or Java, call it again.
    """
    from sensorstream.installation import require

    require("spark", "Spark")
    from sensorstream.spark.class_preparation import prepare

    with lasting("running Spark once, and keeping its classes", quiet=quiet):
        file = prepare()
    click.echo(f"{file}: {file.stat().st_size / 1e6:.0f} MB")


_MOST_SHOWN: Final = 1000
_MOST_BYTES: Final = 1 << 30
# Quotes, IRIs and SQL's comments, in which brackets and semicolons mean nothing.
_QUOTED: Final = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.|'')*'|\"(?:[^\"\\\n]|\\.)*\"|<[^<>\s]*>|--[^\n]*|['\"].*",
    re.DOTALL,
)
_SPARQL: Final = re.compile(r"\s*(prefix|base|describe|ask|construct)\b", re.IGNORECASE)


@click.group("spark")
def command() -> None:
    """Ask the history many questions in one Spark; let Spark start sooner."""


command.add_command(prepare)


@deployed(command.command("shell"))
def shell(settings: Settings) -> None:
    """Read questions in SQL or SPARQL, and answer each, until the input ends (Ctrl-D).

    A question ends with a semicolon outside of all brackets, or with an empty line. Ctrl-C ends the
    question that runs, and not the shell. Without a terminal the exit code is 1 if a question could
    not be answered.
    """
    from sensorstream.errors import SensorStreamError
    from sensorstream.installation import require

    require("spark", "a shell of Spark")
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
        from sensorstream.history.open_history import open_kept
        from sensorstream.reasoning.ontology import deployed_ontology
        from sensorstream.spark.history_snapshot import HistoryPlace
        from sensorstream.spark.jobs.spark_messages import Task
        from sensorstream.spark.jobs.spark_worker_process import JobRunner

        self._folder = stack.enter_context(own_folder("sensorstream-shell-"))
        place = HistoryPlace(open_kept(settings.history, stack), settings.archive.folder)
        self._schema = deployed_ontology(settings.ontology).schema
        line, limit = settings.time.timeline, settings.limits.question_seconds
        self._runner = JobRunner(Task(place, line, settings.spark, limit))
        self._worker = self._start()
        stack.callback(self._end)

    def answer(self, text: str) -> None:
        """Answer one question on stdout; raises SensorStreamError if it cannot be, or was ended."""
        from sensorstream.spark.jobs.answer_files import ANSWER
        from sensorstream.spark.jobs.spark_messages import SPARQL, JobText

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

            def told(progress: SparkProgress) -> None:
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
        # Nothing is kept, so there is no need to wait for an orderly stop of Spark.
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
    """Show the first rows of an answer to SQL; returns their number."""
    from sensorstream.spark.jobs.answer_files import first_rows

    columns, shown = first_rows(answer, _MOST_SHOWN)
    print_table(columns, shown)
    return len(shown)


def _show_terms(answer: IO[bytes]) -> int:
    """Show the first solutions or triples of an answer to SPARQL."""
    from sensorstream.history.asking import answer_formats
    from sensorstream.history.asking.query_answer import GraphAnswer, Solutions
    from sensorstream.spark.jobs.answer_files import read_answer

    found = read_answer(answer)
    if isinstance(found, Solutions):
        found = Solutions(found.variables, islice(found.rows, _MOST_SHOWN))
    elif isinstance(found, GraphAnswer):
        found = GraphAnswer(islice(found.triples, _MOST_SHOWN))
    out = BytesIO()
    if (
        answer_formats.write(found, (answer_formats.JSON, answer_formats.TURTLE), out)
        == answer_formats.JSON
    ):
        print_solutions(json.loads(out.getvalue()))
    else:
        click.echo(out.getvalue().decode(), nl=False)
    return _MOST_SHOWN


_STREAM_LOOK: Final = 0.5
"""Seconds between two looks at the pipeline."""
_TOLD: Final = 3
"""Times that time is told at the end to engines that wait for it: one may refuse to go on."""
_SPAN: Final = 20.0
"""Seconds over which messages a second are counted."""
_LINE: Final = 5.0
"""Seconds between two lines of progress where they cannot be written one over the other."""


@click.command("stream")
@config_option
@click.option(
    "--source",
    default="journal",
    show_default=True,
    metavar="SOURCE",
    help="journal: what a server writes; or folder:DIR, or kafka:HOST:PORT/TOPIC.",
)
@click.option("--once", is_flag=True, help="End when all that is there has been processed.")
@click.option(
    "--partitions",
    type=click.IntRange(1, 100_000),
    help="Divide the keys into so many parts from now on; at first there is one for each core.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def stream(config: Path, source: str, once: bool, partitions: int | None, quiet: bool) -> None:
    """Run the pipeline on Spark: an engine for each key of the messages.

    Reads the journal that the server writes if pipeline.runner is "spark", and stores what the
    engines say as a server does: history, alerts and deliveries. Ctrl-C and SIGTERM end it after
    the batch that runs, a second one at once. May be ended by kill -9 too: what was stored is not
    stored again, and nothing is left out.
    """
    ending = signalled(signal.SIGTERM, signal.SIGINT, then=partial(sys.exit, 0))
    click.get_current_context().with_resource(ending)
    from sensorstream.streaming.message_sources import JOURNAL, read_by_now, with_source

    settings = with_source(load_settings(config), source)
    reads = source != JOURNAL
    if once and reads:
        read_by_now(settings)
    from sensorstream.app.application import Application
    from sensorstream.app.life.process_memory import collect_less
    from sensorstream.errors import HistoryError
    from sensorstream.history.effects_writer import PositionReader
    from sensorstream.history.open_history import open_history
    from sensorstream.inputs.inputs import Inputs
    from sensorstream.streaming.spark_stream import running_stream

    # The effects of a batch are many objects, all freed at its end.
    collect_less()
    progress = StreamProgress(quiet=quiet)
    with ExitStack() as stack:
        with lasting("opening the history", quiet=quiet) as say:
            if reads:
                application = stack.enter_context(Application.open(settings, progress=say))
                stack.enter_context(Inputs(application))
                url = application.url
            else:
                url = open_history(settings.history, stack)
            say("starting Spark")
            running = stack.enter_context(
                running_stream(settings, url, progress.stored, partitions)
            )
        # Anew, since Spark has taken Ctrl-C for itself.
        twice = signalled(
            signal.SIGTERM,
            signal.SIGINT,
            then=lambda: sys.exit(0) if len(signals) > 1 else running.stop(),
        )
        signals = stack.enter_context(twice)
        reader = stack.enter_context(closing(PositionReader(url)))
        end: int | None = None
        position = reader.read()
        while not signals and not running.wait(_STREAM_LOOK):
            # Read before the position, so that entries in the journal now are waited for.
            complete = once and (not reads or read_by_now(settings))
            try:
                position = reader.read()
            except HistoryError:
                # The pipeline meets it, too, and waits.
                continue
            progress.show(position)
            if not complete or position.lag:
                continue
            if reads and position.passed:
                # This process lets them go on.
                end = None
                continue
            end = position.journalled if end is None else end
            # With a source, this process tells the engines of other keys how far time has come.
            most = end + _TOLD * (1 + len(settings.stages))
            if not (reads and position.behind) or position.journalled >= most:
                break
        if signals:
            progress.note("ending after this batch; once more: at once")
            running.finish()
        progress.end()
        if position.passed:
            told = "events wait to go on to a later stage: the server lets them, start it"
            click.echo(f"{position.passed} {told}", err=True)


class StreamProgress:
    """A line on stderr: entries stored, entries a second, those that wait, and batches. On a
    terminal it is written over itself; elsewhere there is a line now and then.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._begin = monotonic()
        self._batches: deque[tuple[float, int]] = deque()
        self._count = 0
        self._entries = 0
        self._last = ""
        self._told = float("-inf")

    def stored(self, entries: int, _last: int) -> None:
        """Note that a batch is stored; called in a thread of Spark's."""
        self._count += 1
        self._entries += entries
        self._batches.append((monotonic(), entries))

    def show(self, position: JournalPosition) -> None:
        """Show the progress, if it is news."""
        line = (
            f"batch {self._count}: {self._entries} entries, {self._rate():.0f}/s, "
            f"{position.lag} wait, {position.keys} keys"
        )
        now = monotonic()
        if self._quiet or line == self._last or (not self._live and now - self._told < _LINE):
            return
        self._last, self._told = line, now
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)

    def note(self, text: str) -> None:
        """Show a sentence."""
        if not self._quiet:
            click.echo(f"\r\x1b[2K{text}" if self._live else text, err=True)

    def end(self) -> None:
        """Show the total."""
        seconds = monotonic() - self._begin
        self.note(f"{self._entries} entries in {self._count} batches, {seconds:.1f} s")

    def _rate(self) -> float:
        now = monotonic()
        batches = self._batches
        while batches and now - batches[0][0] > _SPAN:
            batches.popleft()
        span = min(_SPAN, now - self._begin)
        return sum(entries for _, entries in tuple(batches)) / span if span > 0 else 0.0
