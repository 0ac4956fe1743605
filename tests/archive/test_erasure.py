"""An erased individual is named nowhere any more, and nothing else has changed."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from sensorstream.archive import erasure
from sensorstream.archive.archive_moves import archive
from sensorstream.archive.erasure import KEPT, erase, names
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.archive.parquet_layout import TABLES
from sensorstream.engine.checkpoint import dump, text_of
from sensorstream.engine.engine import EngineState
from sensorstream.engine.notices import Notices
from sensorstream.errors import HistoryError
from sensorstream.history.effects_writer import PipelineRunner, claim
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf
from sensorstream.model.events import (
    Alert,
    Basis,
    Evidence,
    Individual,
    Matched,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.terms import IRI
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.window.window_partition import PaneState, WindowCounters, WindowState
from tests.archive.conftest import DAY, EX, LINE, START, fill
from tests.archive.test_archiving import count
from tests.databases import execute
from tests.history.ends import stays_told_wrong
from tests.history.test_retention import retain

GONE = IRI(f"{EX}human-1")
# 40 individuals have four stays each; those of human-1 are 1, 41, 81, 121.
_LAST = 25


def state(name: IRI) -> EngineState:
    """An engine's state with one individual in its window."""
    one = Individual(name, 500, 1, 1, 1, "m1", {(name, rdf.TYPE, GONE): Provenance("m1", 1)})
    if name != GONE:
        one.statements.clear()
    window = WindowState(WindowCounters(), (one,), {}, (PaneState(names=(name,)),))
    return EngineState(window, RuleMemory(), Notices())


@pytest.fixture
def url(history: str, archived: Path) -> str:
    """A history whose first day is archived, with alerts and messages that name the individual."""
    with PostgresStore.open(history, LINE) as store:
        texts = (
            f"<a about='{EX}human-12'/>",
            f"<a about='{GONE}'/>",
            "<mapped/>",
            "<other/>",
            "<last/>",
        )
        seqs = range(21, 21 + len(texts))
        store.append(
            [
                Record(n, Message(f"m{n}", text.encode(), n, "rest"), START)
                for n, text in zip(seqs, texts, strict=True)
            ]
        )
        said = Matched((IRI(f"{EX}human-12"), IRI(f"{EX}sees"), GONE), Basis.SAID, "m24")
        about = Evidence("d", (("who", IRI(f"{EX}human-12")),))
        here = f"<{EX}human-12> is here", f"{EX}human-12"
        alerts = (
            Alert("a1", "r", "rule", "info", f"<{GONE}> is here", "", 1, "m24"),
            Alert("a2", "r", "rule", "info", *here, 1, "m24", evidence=about),
            Alert(
                "a3",
                "r",
                "rule",
                "info",
                *here,
                1,
                "m24",
                evidence=replace(about, statements=(said,)),
            ),
        )
        statuses = tuple(MessageStatus(n, Status.REJECTED) for n in seqs)
        store.commit(Effects(_LAST, (), (), alerts, statuses, START))
        store.save_checkpoint(20, dump(state(GONE)))
        store.save_checkpoint(_LAST, dump(state(IRI(f"{EX}human-12"))))
    archive(history, archived, LINE.of(START) + DAY, LINE)
    assert kept_parts(history, State.ARCHIVED)
    return history


def mapped(message: Message) -> bool:
    return message.content == b"<mapped/>"


def statements_left(url: str, folder: Path) -> Mapping[str, list[str]]:
    """All statements and stays, of PostgreSQL and of the archive, as texts."""
    stored = execute(
        url,
        "select s.text, p.text, o.text, valid_from, valid_to, stay, message "
        "from store.statements x join store.terms s on s.id = x.subject "
        "join store.terms p on p.id = x.predicate join store.terms o on o.id = x.object",
    )
    archived: list[Sequence[object]] = []
    for part in kept_parts(url, State.ARCHIVED):
        for row in parquet.read_table(part.file(folder, TABLES[0])).drop(["moment"]).to_pylist():
            archived.append(
                [
                    row["subject"].removeprefix("_:"),
                    row["predicate"],
                    row["object"].removeprefix("_:") if row["kind"] == "blank" else row["object"],
                    *(row[each] for each in ("valid_from", "valid_to", "stay", "message")),
                ]
            )
    return {"all": sorted(str(list(each)) for each in [*stored, *archived])}


def everything(url: str, folder: Path) -> str:
    """All texts that are kept anywhere."""
    found = [
        text_of(bytes(content))
        for (content,) in execute(url, "select state from store.checkpoints")
        if isinstance(content, memoryview)
    ]
    tables = execute(
        url,
        "select table_name from information_schema.tables "
        "where table_schema = 'store' and table_type = 'BASE TABLE'",
    )
    for (table,) in tables:
        found.append(str(execute(url, f"select t::text from store.{table} t")))
    for path in folder.rglob("*.parquet"):
        found.append(str(parquet.read_table(path).to_pydict()))
    found += [
        bytes(content).decode("utf-8", "replace")
        for (content,) in execute(url, "select content from store.messages")
        if isinstance(content, memoryview)
    ]
    return "\n".join(found)


def unknown_numbers(url: str, folder: Path) -> list[object]:
    """The numbers in the archive's files that have not the term written beside them."""
    texts: dict[object, object] = {
        number: f"_:{text}" if kind == 1 else text
        for number, kind, text in execute(url, "select id, kind, text from store.terms")
    }
    return [
        row[f"{column}_id"]
        for part in kept_parts(url, State.ARCHIVED)
        for table, columns in zip(
            TABLES, (("subject", "predicate", "object"), ("name",)), strict=True
        )
        for row in parquet.read_table(part.file(folder, table))
        .drop_columns(["moment"] * (table is TABLES[0]))
        .to_pylist()
        for column in columns
        if texts.get(row[f"{column}_id"]) != row[column]
    ]


def test_nothing_names_it_any_more_and_the_rest_is_as_before(url: str, archived: Path) -> None:
    before = statements_left(url, archived)["all"]
    assert names(everything(url, archived), GONE)
    stays = [str(n) for n in (1, 41, 81, 121)]
    told = erase(url, archived, GONE, LINE, mapped, dry=True)
    assert statements_left(url, archived)["all"] == before
    assert erase(url, archived, GONE, LINE, mapped) == told
    assert not names(everything(url, archived), GONE)
    left = statements_left(url, archived)["all"]
    assert left == [each for each in before if each.split(", ")[-2] not in stays]
    assert told["statements"] + told["archived statements"] == 4 * 11
    assert told["stays"] + told["archived stays"] == 4
    assert told["archived stays"] > 0
    kept = [seq for (seq,) in execute(url, "select seq from store.messages order by seq")]
    assert kept[-3:] == [21, 24, 25]
    assert execute(url, "select id from store.alerts") == [("a2",), ("a3",)]
    assert execute(url, "select id from store.alerts where evidence is not null") == [("a2",)]
    assert count(url, archived)[1] == 160 - 4
    assert stays_told_wrong(url)[1] == []
    again = erase(url, archived, GONE, LINE, mapped)
    assert set(again.values()) == {0}
    assert unknown_numbers(url, archived) == []


def test_retention_keeps_the_terms_that_the_archive_names(url: str, archived: Path) -> None:
    retain(url, 2**63 - 1, "2014-08-01")
    assert count(url, archived)[0] > 0
    assert unknown_numbers(url, archived) == []


def killed_at(step: int, url: str, folder: Path) -> bool:
    """Erase in a process that kills itself at a step; False: it came to its end before."""
    process = os.fork()
    if not process:
        left = itertools.count(step, -1)

        def count(*_: object) -> None:
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any) -> Any:
                count()
                return function(*arguments)

            return called

        try:
            # Also between the statements of the transaction, and after its end.
            for name in ("erase_told", "_delete", "record", "sweep", "_copy_without"):
                setattr(erasure, name, counted(getattr(erasure, name)))
            erase(url, folder, GONE, LINE, mapped, say=count)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(process, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


def test_a_kill_erases_all_or_nothing(url: str, archived: Path) -> None:
    before = statements_left(url, archived)["all"]
    stays = [str(n) for n in (1, 41, 81, 121)]
    after = [each for each in before if each.split(", ")[-2] not in stays]
    seen = []
    for step in itertools.count(2, 3):
        killed = killed_at(step, url, archived)
        left = statements_left(url, archived)["all"]
        assert left in (before, after)
        seen.append(left == after)
        if not killed:
            break
    assert seen == sorted(seen)
    assert len(seen) > 3
    assert not names(everything(url, archived), GONE)
    parts = kept_parts(url, State.ARCHIVED)
    assert len(list(archived.rglob("*.parquet"))) == 2 * len(parts)


def test_an_ontology_and_rules_that_name_it_are_told_and_kept(url: str, archived: Path) -> None:
    entry = Message("m26", f"prefix : <{EX}> :human-1 a :Human .".encode(), 26, "text/turtle")
    rules = Message("m27", f"rule far if <{GONE}>".encode(), 27)
    last = Message("m28", b"<a/>", 28, "rest")
    with PostgresStore.open(url, LINE) as store:
        store.append(
            [
                Record(26, entry, START, kind="ontology"),
                Record(27, rules, START, kind="rules"),
                Record(28, last, START),
            ]
        )
        statuses = tuple(MessageStatus(n, Status.REJECTED) for n in (26, 27, 28))
        store.commit(Effects(28, (), (), (), statuses, START))
        store.save_checkpoint(28, dump(state(IRI(f"{EX}human-12"))))
    assert erase(url, archived, GONE, LINE, mapped)[KEPT] == 2
    assert execute(url, "select seq from store.messages where seq in (26, 27)") == [(26,), (27,)]


def test_nothing_is_erased_while_the_windows_are_on_spark(url: str, archived: Path) -> None:
    claim(url, PipelineRunner("spark", "source", by_count=True))
    with pytest.raises(HistoryError, match="the engines of this history run on Spark"):
        erase(url, archived, GONE, LINE, lambda _: False)


def test_one_that_is_still_in_the_window_is_not_erased(url: str, archived: Path) -> None:
    before = everything(url, archived)
    with pytest.raises(HistoryError, match="is still in the window"):
        erase(url, archived, IRI(f"{EX}human-12"), LINE, mapped)
    assert everything(url, archived) == before


def test_a_restart_must_not_need_the_journal(url: str, archived: Path) -> None:
    with PostgresStore.open(url, LINE) as store:
        fill(store, range(161, 163), _LAST + 1, messages=1)
    with pytest.raises(HistoryError, match="start the server and stop it, then erase"):
        erase(url, archived, GONE, LINE, mapped)


def test_a_running_server_is_in_the_way(
    url: str, archived: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.history.effects_writer._PATIENCE", 0.1)
    with PostgresStore.open(url, LINE), pytest.raises(HistoryError, match="another process writes"):
        erase(url, archived, GONE, LINE, mapped)
