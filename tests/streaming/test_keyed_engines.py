"""Engines by key say what one engine says whose window is partitioned by the same key."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.key_routing import CONTROLS, TAKEOVERS
from sensorstream.journal.records import Effects, Record
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.streaming import engine_host
from tests.streaming.conftest import START, edit, often, seen, write_deployment
from tests.streaming.stand_in import Keys, by_keys, entry, of_one_engine, registered, told

SOURCES: Final = ("north", "south", "")

_MESSAGES = st.tuples(
    st.sampled_from(SOURCES),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 100)), min_size=0, max_size=3),
)
_STREAMS = st.lists(st.lists(_MESSAGES, min_size=1, max_size=6), min_size=1, max_size=6)
_SOME = st.sets(st.integers(0, 5))


RISING: Final = """PREFIX : <http://example.org/t#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?x (COUNT(*) AS ?n) WHERE { { ?p :x ?y } SEQ { ?q :x ?x } FILTER(?y < ?x) }
GROUP BY ?x HAVING(getDURATION() < "PT9S"^^xsd:duration)"""


def rows_of(batches: Sequence[Sequence[Any]]) -> list[list[JournalRow]]:
    """The journal of a drawn stream, by batches.

    Times never go back: a server calls late what is late over all sources, a key what is late
    in its own.
    """
    seq, time, found = 0, 10, []
    for batch in batches:
        rows: list[JournalRow] = []
        for source, step, people in batch:
            seq, time = seq + 1, time + step
            content = seen(source or "other", time, *people) if people else b"<not xml"
            rows.append(entry(seq, content, source))
        found.append(rows)
    return found


@profile(max_examples=25, deadline=None)
@given(batches=_STREAMS, lost=_SOME, repeated=_SOME, asleep=_SOME)
def test_keys_together_say_what_one_engine_says(
    frugal: Deployment, batches: Any, lost: set[int], repeated: set[int], asleep: set[int]
) -> None:
    by_keys, by_one = both_ways(frugal, batches, lost, repeated, asleep)
    assert by_keys == by_one


@profile(max_examples=8, deadline=None)
@given(batches=_STREAMS, lost=_SOME, repeated=_SOME, asleep=_SOME)
def test_so_they_do_with_rule_sets(
    ruled: Deployment, batches: Any, lost: set[int], repeated: set[int], asleep: set[int]
) -> None:
    by_keys, by_one = both_ways(ruled, batches, lost, repeated, asleep)
    assert by_keys == by_one


def test_engines_of_a_host_ask_one_process_of_a_reasoner(tmp_path: Path) -> None:
    settings = often(write_deployment(tmp_path))
    more = ":x rdfs:domain [ owl:unionOf ( :Far :Near ) ] . :Far rdfs:subClassOf :At ."
    edit(tmp_path, ("t.ttl", ":x a", f"{more} :Near rdfs:subClassOf :At . :x a"))
    reasoning = replace(settings.reasoning, profile="hermit")
    deployment = read_deployment(replace(settings, reasoning=reasoning))
    keys, parts = Keys(deployment), []
    pids: set[int] = set()
    batches = [[(f"s{n}", 1, [(n, 40 + 20 * turn)]) for n in range(6)] for turn in range(4)]
    journal = rows_of(batches)
    for turn, rows in enumerate(journal):
        if turn == 2:
            # The process is lost: the next question starts another one.
            (pid,) = pids
            os.kill(pid, signal.SIGKILL)
        parts += keys.take(rows)
        (worker,) = keys.host._workers.values()
        assert worker.pid is not None
        pids.add(worker.pid)
        keys.host.lay_down("=s1")
    assert len(pids) == 2
    for each in keys.host._engines.values():
        reasoner = each._engine.reasoner
        assert isinstance(reasoner, ResilientReasoner)
        assert reasoner.degraded == ""
    keys.host.close()
    assert worker.pid is None
    expected = of_one_engine(deployment, [record_of(row) for rows in journal for row in rows])
    assert told(_without_notices(merged(parts))) == told(_without_notices(expected))


def both_ways(
    deployment: Deployment, batches: Any, lost: set[int], repeated: set[int], asleep: set[int]
) -> tuple[dict[str, object], dict[str, object]]:
    """What engines of keys say, and what one engine says."""
    journal = rows_of(batches)
    found = by_keys(deployment, journal, lost, repeated, asleep=asleep)
    records = [record_of(row) for rows in journal for row in rows]
    expected = of_one_engine(deployment, records)
    # What is inferred about a name that is no individual, as a class, each key says for itself.
    alone = [
        of_one_engine(deployment, [each for each in records if each.message.source == source])
        for source in {each.message.source for each in records}
    ]
    own = (each for one in alone for each in one.ended if not each.stay)
    expected = replace(expected, ended=(*(e for e in expected.ended if e.stay), *own))
    # The first few messages of a kind are told once by a server, and once by each key.
    return told(_without_notices(found)), told(_without_notices(expected))


def _without_notices(effects: Effects) -> Effects:
    return replace(effects, alerts=tuple(a for a in effects.alerts if a.kind == "rule"))


@profile(max_examples=10, deadline=None)
@given(batches=_STREAMS, lost=_SOME, asleep=_SOME)
def test_stays_have_numbers_of_their_own_that_a_repetition_gives_again(
    frugal: Deployment, batches: Any, lost: set[int], asleep: set[int]
) -> None:
    def stays(lost: set[int], asleep: set[int]) -> list[int]:
        keys, found = Keys(frugal), []
        for number, rows in enumerate(rows_of(batches)):
            if number in lost:
                keys.lose_engines()
            if number in asleep:
                keys.lay_down()
            effects = keys.take(rows)
            found += [d.individual.stay for each in effects for d in each.departures]
        keys.host.close()
        return found

    numbers = stays(set(), set())
    assert len(set(numbers)) == len(numbers)
    assert stays(lost, asleep) == numbers


def test_a_pattern_in_time_goes_on_in_an_engine_that_was_rebuilt(frugal: Deployment) -> None:
    said = [[("north", 1, [(n, 7 * n % 10)]), ("south", 1, [(n, n)])] for n in range(12)]
    journal = [[(r[0] + 1, f"m{r[0] + 1}", *r[2:]) for r in rows] for rows in rows_of(said)]

    def reports(lost: bool = False, asleep: bool = False) -> list[str]:
        keys, found = Keys(frugal), []
        for rows in [[registered(1, "rising", RISING)], *journal]:
            if asleep:
                keys.lay_down()
            if lost:
                keys.take(rows, commit=False)
                keys.lose_engines()
            found += [repr(each) for effects in keys.take(rows) for each in effects.reports]
        keys.host.close()
        return found

    whole = reports()
    assert len(whole) > 10
    assert reports(lost=True) == reports(asleep=True) == whole


def test_a_batch_that_was_not_committed_is_done_again_from_the_state(frugal: Deployment) -> None:
    first, second = rows_of([[("north", 1, [(1, 80)])], [("north", 1, [(2, 90)])]])
    keys = Keys(frugal)
    keys.take(first)
    before = keys.take(second, commit=False)
    assert keys.take(second) == before
    keys.host.close()


@pytest.mark.parametrize("bytes_asleep", [0, 3_000, 100_000])
def test_engines_hold_so_much_at_most(
    frugal: Deployment, bytes_asleep: int, monkeypatch: Any
) -> None:
    most = 3 * len(frugal.ontology.triples)
    monkeypatch.setattr(engine_host, "_MOST_STATEMENTS", most)
    monkeypatch.setattr(engine_host, "_MOST_ASLEEP", bytes_asleep)
    keys = Keys(frugal)
    parts: list[Effects] = []
    batches = [[(f"s{n}", 1, [(1, 71 + turn)]) for n in range(5)] for turn in range(3)]
    journal = rows_of(batches)
    for rows in journal:
        parts += keys.take(rows)
        held = [each.size for each in keys.host._engines.values()]
        assert 0 < sum(held) == keys.host._statements <= most
        states = [len(state) for _, state in keys.host._asleep.values()]
        assert sum(states) == keys.host._bytes <= bytes_asleep
        assert len(states) + len(held) == 5 or bytes_asleep < 100_000
    keys.host.close()
    expected = of_one_engine(frugal, [record_of(row) for rows in journal for row in rows])
    assert len(merged(parts).alerts) == len(expected.alerts) > 0


def test_the_kinds_of_control_entries_are_those_of_the_journal() -> None:
    from sensorstream.journal.registration import RegisterQuery, RemoveQuery
    from sensorstream.journal.takeover import PutOntology, PutRules

    assert (RegisterQuery.kind, RemoveQuery.kind, *TAKEOVERS) == CONTROLS
    assert (PutOntology.kind, PutRules.kind) == TAKEOVERS


def test_effects_are_merged_in_the_order_of_the_journal(record: Callable[..., Record]) -> None:
    parts = [Effects(n, (), (), (), (), START) for n in (3, 1, 2)]
    assert merged(parts) == Effects(3, (), (), (), (), START)
    with pytest.raises(ValueError, match="at least one"):
        merged([])
