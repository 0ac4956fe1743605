"""Questions in SPARQL and SQL: about now, about history, about both, and by Spark."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from nicegui import ui

from sensorstream.client.results import Results
from sensorstream.console import page_addresses
from sensorstream.console.answer_views import show_answer, show_graph
from sensorstream.console.code_editor import (
    CompletionList,
    code_editor,
    keep_draft,
    press_on_ctrl_enter,
)
from sensorstream.console.elements import (
    Listing,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    heading,
    keep_fresh,
    moments,
    stand_at,
)
from sensorstream.console.ontology_page import terms_of
from sensorstream.console.page_addresses import seconds
from sensorstream.console.page_visits import Visit
from sensorstream.console.question_tabs import Question, QuestionTabs
from sensorstream.console.shown_values import Piece, Value, state

SPARQL: Final = {
    "All individuals of a class": "SELECT ?class (COUNT(?s) AS ?number) { ?s a ?class }\n"
    "GROUP BY ?class ORDER BY DESC(?number) LIMIT 50",
    "What is said of anything": "SELECT ?subject ?property ?value { ?subject ?property ?value }\n"
    "LIMIT 100",
    "Is there anything?": "ASK { ?s ?p ?o }",
    "Links between individuals": "SELECT ?from ?link ?to {\n"
    "  ?from ?link ?to . FILTER(isIRI(?to))\n} LIMIT 100",
}
SQL: Final = {
    "The last individuals that left": "select iri, class, time, expired_at\n"
    "from history.individuals\norder by expired_at desc limit 100",
    "Messages an hour": "select date_trunc('hour', received_at) as hour, count(*) as messages\n"
    "from history.messages group by 1 order by 1",
    "Alerts by rule": "select rule, severity, count(*) as alerts\nfrom history.alerts\n"
    "group by 1, 2 order by 3 desc",
    "What held at a moment": "select subject, predicate, object, valid_from, valid_to\n"
    "from history.statements, (select max(valid_from) as moment from history.statements) last\n"
    "where valid_from <= moment and valid_to > moment limit 100",
    "Values that ended": "select subject, predicate, object, valid_from, valid_to\n"
    "from history.statements\norder by valid_to desc limit 100",
}


_PAUSE: Final = 3.0
_STEPS: Final = 1000
_SAVED: Final = "\N{BLACK STAR} "
_LANGUAGES: Final = {"sparql": "SPARQL", "sql": "SQL"}
_ON: Final = {
    "cache": "what holds now",
    "history": "history",
    "all": "now and history",
    "archive": "the archive",
    "spark": "Spark, as a job",
}
_ON_SQL: Final = ("history", "archive", "spark")
_SQL_TIME: Final = "SQL says its moment itself, by valid_from and valid_to."
_NOT_CODE: Final = re.compile(r"#[^\n]*|<[^<>\s]*>|\"[^\"\n]*\"|'[^'\n]*'")
_FORM: Final = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_SPAN: Final = "select min(valid_from) as first, max(valid_to) as last from history.statements"


def _question(row: Row) -> str:
    return f"{'plan of ' if row['plan'] else ''}{row['text'][:200]}"


def _state(row: Row) -> Value:
    error = row["error"]
    if error is not None:
        return Piece(f"{row['state']}: {error.get('detail', '')}", look="bad")
    return state(row["state"], "good" if row["state"] == "done" else "warned")


def _progress(row: Row) -> str:
    done = row["progress"]
    return "" if done is None else f"{done['tasks_done']} of {done['tasks']} tasks"


_JOBS: Final = (
    TableColumn("id", "Job"),
    TableColumn("text", "Question", value=_question),
    TableColumn("state", "State", value=_state),
    TableColumn("progress", "Progress", value=_progress),
    TableColumn("rows", "Rows", is_number=True),
    moments("submitted_at", "Since"),
)
_PARTS: Final = {"algebra": "Algebra", "sql": "SQL", "plan": "Plan"}
"""The parts of a plan, with their titles."""


async def build(visit: Visit) -> None:
    """Build the page; the question of the address is in the editor, and is asked on demand only."""
    page = _Page(visit)
    keep_fresh(_PAUSE, page.read_jobs)
    await page.load(visit.asked)
    with Notice().of():
        page.completion.terms = await terms_of(visit.client)
    with Notice().of():
        ((first, last),) = (await visit.client.sql(_SPAN)).rows
        if first is not None and last is not None:
            page.span = (first, last)
    page.slider.set_visibility(page.span is not None)


class _Page:
    """The question, its answer, and the jobs."""

    def __init__(self, visit: Visit) -> None:
        asked = visit.asked
        self._client = visit.client
        self.span: tuple[Any, Any] | None = None
        """The first and the last moment of history."""
        self._notice = Notice()
        self._questions = QuestionTabs(self._read, self._show, self._offer)
        with ui.element("div").classes("form"):
            self._language = ui.select(
                _LANGUAGES,
                label="Language",
                value=_known(_LANGUAGES, asked.get("language")),
                on_change=lambda: self._offer(),
            )
            self._on = ui.select(_ON, label="About", value=_known(_ON, asked.get("on")))
            self._example = ui.select([], label="Begin with", on_change=lambda: self._begin())
            self._example.classes("wide")
            button = change_button("Ask", self._ask)
            change_button("Explain", self._explain).props("flat")
        with ui.element("div").classes("form") as self._moments:
            self._at = ui.input("As of (a moment)", value=asked.get("at", ""))
            self.slider = ui.slider(
                min=0, max=_STEPS, value=_STEPS, on_change=lambda: self._slide()
            )
            self.slider.props('aria-label="As of"').classes("wide")
        self.editor = code_editor("Question", asked.get("text", ""), "SPARQL").classes("short")
        press_on_ctrl_enter(self.editor, button)
        self.completion = CompletionList(self.editor, " Ctrl+Enter asks.")
        self._hint = ui.label(_SQL_TIME).classes("hint")
        self._answer = ui.element("div").props("role=status")
        self._offer()
        heading("Jobs")
        self._jobs = ShownTable(_JOBS, "/jobs", "No job runs on Spark.")
        self._jobs.add("show", "Show", self._show_job, lambda row: row["state"] == "done")
        self._jobs.add("end", "End and forget", self._end_job)

    async def load(self, asked: Mapping[str, str]) -> None:
        """Show the questions that the browser keeps, and let somebody write."""
        question = {part: asked.get(part, "") for part in ("text", "language", "on", "at")}
        await self._questions.load(self.editor.id, question)
        await keep_draft(self.editor, "question")

    def _read(self) -> Question:
        named = {"language": self._language.value, "on": self._on.value, "at": self._at.value or ""}
        return {"text": self.editor.value, **named}

    def _show(self, question: Question) -> None:
        self._language.set_value(_known(_LANGUAGES, question["language"]))
        self._on.set_value(_known(_ON, question["on"]))
        self._at.set_value(question["at"])
        self.editor.set_value(question["text"])
        self._offer()
        self._answer.clear()

    @property
    def _examples(self) -> dict[str, Question]:
        """The questions to begin with, by their names: those saved, then the examples."""
        now = self._read()
        of_language = SQL if self._is_sql else SPARQL
        saved = {f"{_SAVED}{name}": each for name, each in self._questions.saved.items()}
        return saved | {name: {**now, "text": text} for name, text in of_language.items()}

    @property
    def _is_sql(self) -> bool:
        return bool(self._language.value == "sql")

    @property
    def _moment(self) -> str | None:
        return None if self._is_sql else self._at.value or None

    def _offer(self) -> None:
        is_sql = self._is_sql
        self._example.set_options(list(self._examples))
        self.editor.language = "PostgreSQL" if is_sql else "SPARQL"
        about = {each: name for each, name in _ON.items() if not is_sql or each in _ON_SQL}
        on = self._on.value
        self._on.set_options(about, value=on if on in about else "history")
        self._moments.set_visibility(not is_sql)
        self._hint.set_visibility(is_sql)

    def _begin(self) -> None:
        if (chosen := self._examples.get(str(self._example.value))) is not None:
            self._show(chosen)

    def _slide(self) -> None:
        if self.span is not None:
            self._at.set_value(moment_at(*self.span, self.slider.value / _STEPS))
            if self._on.value == "cache":
                self._on.set_value("all")

    async def _ask(self) -> None:
        with self._notice.of(self.editor):
            text, on = self.editor.value, self._on.value
            asked = {"language": self._language.value, "on": on, "at": self._moment}
            stand_at(page_addresses.address(page_addresses.ASK.path, text=text, **asked))
            self._questions.keep()
            await self._answer_it(text, on)
            await self.read_jobs()

    async def _answer_it(self, text: str, on: str) -> None:
        client, at, path = self._client, self._moment, "/sparql"
        form, begun = form_of(text), time.perf_counter()
        shown: Results | str | bool
        if on == "spark":
            started = await client.start_job(text, self._language.value, at=at)
            shown = f"Job {started['id']} waits for Spark."
        elif self._is_sql:
            path = ""
            shown = await client.sql(text, on="archive" if on == "archive" else "history")
        elif form in ("CONSTRUCT", "DESCRIBE"):
            graph = await client.construct(text, on=on, at=at)
            with self._answered():
                show_graph(graph)
            return
        else:
            path = page_addresses.address("/sparql", query=text, on=on, at=at).removeprefix(
                page_addresses.BASE
            )
            answer_to = client.ask if form == "ASK" else client.query
            shown = await answer_to(text, on=on, at=at)
        with self._answered():
            if isinstance(shown, Results):
                show_answer(shown, path, time.perf_counter() - begun)
            else:
                ui.label(str(shown).lower() if isinstance(shown, bool) else shown).classes("answer")

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Show the elements that the block makes as the answer."""
        self._answer.clear()
        with self._answer:
            yield

    async def _explain(self) -> None:
        with self._notice.of(self.editor):
            text, language, on = self.editor.value, self._language.value, self._on.value
            if on == "spark":
                started = await self._client.start_job(text, language, at=self._moment, plan=True)
                with self._answered():
                    ui.label(f"Job {started['id']} waits for Spark, which plans it.")
                await self.read_jobs()
            elif language == "sql":
                place = "archive" if on == "archive" else "history"
                found = await self._client.sql(f"EXPLAIN {text}", on=place)
                self._show_plan({"Plan": "\n".join(str(row[-1]) for row in found.rows)})
            else:
                told = await self._client.plan(text, on=on, at=self._moment)
                self._show_plan({title: told[part] for part, title in _PARTS.items() if told[part]})

    def _show_plan(self, parts: Mapping[str, str]) -> None:
        with self._answered():
            for title, text in parts.items():
                heading(title)
                Listing(text, title)

    async def read_jobs(self) -> None:
        """Show the jobs that there are now."""
        self._jobs.show(await self._client.jobs())

    async def _show_job(self, row: Row) -> None:
        found = await self._client.job_results(str(row["id"]))
        if row["plan"]:
            self._show_plan({_PARTS[part]: text for part, text in found.rows})
            return
        with self._answered():
            show_answer(found, f"/jobs/{row['id']}/result")

    async def _end_job(self, row: Row) -> None:
        await self._client.delete_job(str(row["id"]))
        await self.read_jobs()


def form_of(text: str) -> str:
    """The form of a SPARQL query; SELECT if the text has none, so that the server says so."""
    found = _FORM.search(_NOT_CODE.sub(" ", text))
    return "SELECT" if found is None else found[1].upper()


def moment_at(first: Any, last: Any, part: float) -> str:
    """A moment between two: of integers, or of times in UTC."""
    if isinstance(first, int):
        return str(round(first + (last - first) * part))
    begin, end = seconds(first), seconds(last)
    return f"{datetime.fromtimestamp(begin + (end - begin) * part, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _known(choices: Mapping[str, str], asked: str | None) -> str:
    """The choice that an address asks for, or the first one if it asks for none that is known."""
    return asked if asked is not None and asked in choices else next(iter(choices))
