"""SPARQL over the archive: as Oxigraph answers it over the same statements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.archive.archive_moves import archive
from sensorstream.archive.archive_queries import Archive, archive_answered, archive_plan
from sensorstream.errors import ArchiveError, Overrun, QueryError
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.history.asking.query_run import AskingLimits
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import ArchiveSettings
from tests.databases import Databases, execute
from tests.history import house

LIMITS = AskingLimits(300.0, 10_000)
LINE = Timeline.INTEGER


class Archived:
    """The house's history, all in its archive; and what Oxigraph knows of it by time."""

    def __init__(self, url: str, home: Path) -> None:
        folder = home / "archive"
        self.home = home
        self.stores = {
            case.question.time: house.exported(url, case.question.time) for case in house.cases()
        }
        archive(url, folder, 10**9, LINE)
        self.archive = Archive(url, folder, 512)


@pytest.fixture(scope="module")
def archived(new_database: Databases, tmp_path_factory: pytest.TempPathFactory) -> Archived:
    url = new_database()
    folder = tmp_path_factory.mktemp("house")
    house.live(url, folder)
    return Archived(url, folder)


def test_postgresql_has_no_statements_left(archived: Archived) -> None:
    assert execute(archived.archive.url, "select count(*) from store.statements") == [(0,)]


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(archived: Archived, case: house.Case) -> None:
    with archive_answered(archived.archive, case.question, LIMITS) as answer:
        found = house.comparable(answer, case)
    assert found == house.expected(archived.stores[case.question.time], case)


def ask(archive: Archive, text: str, limits: AskingLimits = LIMITS) -> int:
    with archive_answered(archive, read_question(text, LINE), limits) as answer:
        return len(list(getattr(answer, "rows", ())))


def test_an_answer_with_too_many_rows_is_an_error_and_never_cut_off(archived: Archived) -> None:
    text = "SELECT * { ?s ?p ?o } LIMIT 11"
    assert ask(archived.archive, text, AskingLimits(300.0, 11)) == 11
    with pytest.raises(Overrun, match=r"more than 10 rows: .* LIMIT \(limits\.question_rows\)"):
        ask(archived.archive, text, AskingLimits(300.0, 10))


def test_a_query_may_not_take_for_ever(archived: Archived) -> None:
    text = "SELECT (COUNT(*) AS ?n) { " + "".join(f"?s{n} ?p{n} ?o{n} . " for n in range(9)) + "}"
    with pytest.raises(Overrun, match="longer than"):
        ask(archived.archive, text, AskingLimits(0.3, 100))


def test_a_text_whose_plan_takes_gigabytes_ends_alone(archived: Archived) -> None:
    ages = "+".join(["(?now - ?then)"] * 3)
    for _ in range(3):
        ages = f"IF({ages} > {ages}, {ages}, ?now - ?then)"
    text = f"SELECT ({ages} AS ?x) {{ ?a ?b ?now . ?c ?d ?then }}"
    small = replace(archived.archive, memory=256)
    with pytest.raises(Overrun, match=r"limits\.question_memory|too large to be answered"):
        ask(small, text)
    assert ask(small, "SELECT * { ?s ?p ?o } LIMIT 11") == 11


@pytest.mark.parametrize("text", ["'; drop table store.terms; --", "$1 %s", "{}", "\\\\", "$$"])
def test_a_constant_stays_a_constant(archived: Archived, text: str) -> None:
    assert ask(archived.archive, f'SELECT ("{text}" AS ?x) {{ }}') == 1
    assert ask(archived.archive, f'SELECT ?s {{ ?s ?p "{text}" }}') == 0


def test_the_plan_shows_the_sql_and_what_duckdb_does(archived: Archived) -> None:
    question = read_question("SELECT ?s { ?s ?p 5 } LIMIT 3", LINE)
    found = archive_plan(archived.archive, question, LIMITS)
    assert "store.statements" in found.sql
    assert "READ_PARQUET" in found.plan
    assert "Total Time" in archive_plan(archived.archive, question, LIMITS, analyze=True).plan


def test_a_file_that_is_missing_is_told(archived: Archived) -> None:
    elsewhere = replace(archived.archive, folder=archived.archive.folder / "no")
    with pytest.raises(ArchiveError, match="is missing"):
        ask(elsewhere, "SELECT * { ?s ?p ?o }")


def test_an_application_asks_its_archive(archived: Archived) -> None:
    told = archived.archive
    settings = replace(
        house.settings(archived.home, told.url), archive=ArchiveSettings(told.folder)
    )
    question = read_question("SELECT ?s { ?s ?p ?o }", LINE)
    none = replace(settings, archive=ArchiveSettings(archived.home / "none"))
    with Application.open(settings) as application:
        with application.asking.archive(question) as answer:
            assert isinstance(answer, Solutions)
            rows = len(list(answer.rows))
        table = application.asking.sql_archive("select count(*) from statements")
    with Application.open(none) as application, pytest.raises(QueryError, match="--older-than D"):
        application.asking.sql_archive("select 1")
    assert rows > 100
    assert int(str(table.rows[0][0])) >= rows
