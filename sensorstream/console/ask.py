"""Questions in SPARQL and SQL: about now, about history, about both, and by Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.client.results import Results
from sensorstream.console import places
from sensorstream.console.answers import show_answer, show_graph
from sensorstream.console.code_editor import code_editor, keep_draft
from sensorstream.console.elements import (
    Action,
    Column,
    Listing,
    Notice,
    Row,
    Table,
    change_button,
    heading,
    keep_fresh,
    stand_at,
)
from sensorstream.console.texts import moment, seconds
from sensorstream.console.visits import Visit

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
_JOBS: Final = (
    Column("id", "Job"),
    Column("text", "Question"),
    Column("state", "State"),
    Column("progress", "Progress"),
    Column("rows", "Rows", is_number=True),
    Column("submitted_at", "Since"),
)
_PARTS: Final = {"algebra": "Algebra", "sql": "SQL", "plan": "Plan"}
"""The parts of a plan, with their titles."""


async def build(visit: Visit) -> None:
    """The question of the address stands in the editor: it is asked when somebody says so."""
    asked = visit.asked
    client = visit.client
    notice = Notice()
    with ui.element("div").classes("form"):
        language = ui.select(
            _LANGUAGES,
            label="Language",
            value=_known(_LANGUAGES, asked.get("language")),
            on_change=lambda: offer(),
        )
        on = ui.select(_ON, label="About", value=_known(_ON, asked.get("on")))
        example = ui.select([], label="Begin with", on_change=lambda: begin()).classes("wide")
        at = ui.input("As of (a moment)", value=asked.get("at", ""))
        change_button("Ask", lambda: ask())
        change_button("Explain", lambda: explain()).props("flat")
    with ui.element("div").classes("form") as moments:
        slider = ui.slider(min=0, max=_STEPS, value=_STEPS, on_change=lambda: slide())
        slider.props('aria-label="As of"').classes("wide")
    editor = code_editor("Question", asked.get("text", ""), "SPARQL").classes("short")
    hint = ui.label(_SQL_TIME).classes("hint")
    answer = ui.element("div").props("role=status")
    span: list[Any] = []

    def offer() -> None:
        is_sql = language.value == "sql"
        example.set_options(list(SQL if is_sql else SPARQL))
        editor.language = "PostgreSQL" if is_sql else "SPARQL"
        about = {each: name for each, name in _ON.items() if not is_sql or each in _ON_SQL}
        on.set_options(about, value=on.value if on.value in about else "history")
        at.set_visibility(not is_sql)
        moments.set_visibility(not is_sql)
        hint.set_visibility(is_sql)

    def moment_asked() -> str | None:
        return None if language.value == "sql" else at.value or None

    def begin() -> None:
        known = SQL if language.value == "sql" else SPARQL
        if example.value in known:
            editor.set_value(known[example.value])

    def slide() -> None:
        if len(span) == 2:
            at.set_value(moment_at(span[0], span[1], slider.value / _STEPS))
            if on.value == "cache":
                on.set_value("all")

    async def ask() -> None:
        with notice.of(editor):
            when = moment_asked()
            stand_at(_here(editor.value, language.value, on.value, when))
            await _ask(visit, answer, editor.value, language.value, on.value, when)
            await read()

    async def explain() -> None:
        with notice.of(editor):
            if on.value == "spark":
                started = await client.start_job(
                    editor.value, language.value, at=moment_asked(), plan=True
                )
                answer.clear()
                with answer:
                    ui.label(f"Job {started['id']} waits for Spark, which plans it.")
                await read()
                return
            _show_plan(
                answer,
                await _plan(client, editor.value, language.value, on.value, moment_asked()),
            )

    offer()
    heading("Jobs")
    jobs = Table(_JOBS, "/jobs")

    async def read() -> None:
        jobs.show([_job(each) for each in await client.jobs()])

    async def show_job(row: Row) -> None:
        with notice.of():
            found = await client.job_results(str(row["id"]))
            if row["plan"]:
                _show_plan(answer, {_PARTS[part]: text for part, text in found.rows})
                return
            answer.clear()
            with answer:
                show_answer(found, f"/jobs/{row['id']}/result")

    async def end_job(row: Row) -> None:
        with notice.of():
            await client.delete_job(str(row["id"]))
            await read()

    jobs.add(Action("show", "Show", show_job, lambda row: row["state"] == "done"))
    jobs.add(Action("end", "End and forget", end_job))
    keep_fresh(_PAUSE, read)
    await keep_draft(editor, "question")
    with Notice().of():
        ((first, last),) = (await client.sql(_SPAN)).rows
        if first is not None and last is not None:
            span[:] = [first, last]
    slider.set_visibility(len(span) == 2)


async def _plan(
    client: AsyncClient, text: str, language: str, on: str, at: str | None
) -> dict[str, str]:
    """The parts of the plan of a question, by their titles."""
    if language == "sql":
        found = await client.sql(f"EXPLAIN {text}", on="archive" if on == "archive" else "history")
        return {"Plan": "\n".join(str(row[-1]) for row in found.rows)}
    told = await client.plan(text, on=on, at=at)
    return {title: told[part] for part, title in _PARTS.items() if told[part]}


def _show_plan(answer: ui.element, parts: Mapping[str, str]) -> None:
    answer.clear()
    with answer:
        for title, text in parts.items():
            heading(title)
            Listing(text, title)


async def _ask(
    visit: Visit, answer: ui.element, text: str, language: str, on: str, at: str | None
) -> None:
    client = visit.client
    path = "/sparql"
    shown: Results | str | bool
    if on == "spark":
        started = await client.start_job(text, language, at=at)
        shown = f"Job {started['id']} waits for Spark."
    elif language == "sql":
        path = ""
        shown = await client.sql(text, on="archive" if on == "archive" else "history")
    else:
        path = places.address("/sparql", query=text, on=on, at=at).removeprefix(places.BASE)
        form = form_of(text)
        if form == "ASK":
            shown = await client.ask(text, on=on, at=at)
        elif form in ("CONSTRUCT", "DESCRIBE"):
            graph = await client.construct(text, on=on, at=at)
            answer.clear()
            with answer:
                show_graph(graph)
            return
        else:
            shown = await client.query(text, on=on, at=at)
    answer.clear()
    with answer:
        if isinstance(shown, Results):
            show_answer(shown, path)
        else:
            ui.label(str(shown).lower() if isinstance(shown, bool) else shown).classes("answer")


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


def _here(text: str, language: str, on: str, at: str | None) -> str:
    return places.address(places.ASK.path, text=text, language=language, on=on, at=at)


def _known(choices: Mapping[str, str], asked: str | None) -> str:
    """What an address asks for, or the first choice if there is no such."""
    return asked if asked is not None and asked in choices else next(iter(choices))


def _job(row: dict[str, Any]) -> Row:
    done = row["progress"]
    progress = "" if done is None else f"{done['tasks_done']} of {done['tasks']} tasks"
    error = row["error"]
    state = row["state"] if error is None else f"{row['state']}: {error.get('detail', '')}"
    return {
        "id": row["id"],
        "text": f"{'plan of ' if row['plan'] else ''}{row['text'][:200]}",
        "plan": row["plan"],
        "state": state,
        "progress": progress,
        "rows": row["rows"],
        "submitted_at": moment(row["submitted_at"]),
    }
