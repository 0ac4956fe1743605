"""Engines by key say what one engine says whose window is partitioned by the same key."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, build_machine, read_deployment
from sensorstream.history.effects_writer import EngineStanding
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.journal.entry_effects import effects_of, merged
from sensorstream.journal.key_routing import CONTROLS, TAKEOVERS, key_reader
from sensorstream.journal.kinds import replay
from sensorstream.journal.message import PassTime
from sensorstream.journal.records import Effects, Record
from sensorstream.model.events import Alert
from sensorstream.settings.settings import Settings
from sensorstream.streaming import engine_host
from sensorstream.streaming.engine_host import EngineHost
from sensorstream.streaming.keyed_engine import Controls
from sensorstream.streaming.worker_messages import Done, EnginePlace, Work, pack
from tests.streaming.conftest import START, seen, write_deployment

SOURCES: Final = ("north", "south", "")

_MESSAGES = st.tuples(
    st.sampled_from(SOURCES),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 100)), min_size=0, max_size=3),
)
_STREAMS = st.lists(st.lists(_MESSAGES, min_size=1, max_size=6), min_size=1, max_size=6)


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
            rows.append((seq, f"m{seq}", source, START, seq, content, None, "message", False, ""))
        found.append(rows)
    return found


class Said(Controls):
    """The entries for all engines, from memory."""

    def __init__(self, rows: Sequence[JournalRow]) -> None:
        super().__init__("")
        self._rows = rows

    def _read(self, after: int, upto: int, kinds: Sequence[str]) -> Sequence[Record]:
        return [record_of(r) for r in self._rows if after < r[0] <= upto and r[7] in kinds]


class Keys:
    """What Spark does: entries by key, and the state of each key between the batches."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._state: dict[str, tuple[EnginePlace, tuple[int, bytes] | None, list[bytes]]] = {}
        self._key_of = key_reader("source", {}, 64)
        self._rows: list[JournalRow] = []
        self.standings: dict[str, EngineStanding] = {}
        self._start()

    def _start(self) -> None:
        self.host = EngineHost(self._deployment, "")
        self.host._controls = Said(self._rows)

    def lose_engines(self) -> None:
        """The process of the engines ends, and another begins."""
        self.host.close()
        self._start()

    def start_again(self, files: Deployment) -> None:
        """A pipeline starts with what was put so far; the files may say something else by now."""
        upto = max(row[0] for row in self._rows)
        controls = Said(self._rows)
        controls.know(upto)
        self._deployment = controls.in_force(files, upto)
        self.lose_engines()
        self.host._controls.begin(self._deployment, upto)

    def take(self, rows: Sequence[JournalRow], *, commit: bool = True) -> list[Effects]:
        """The effects of a batch; without ``commit``, Spark forgets that it has happened."""
        groups: dict[str, list[JournalRow]] = {}
        for row in rows:
            groups.setdefault(self._key_of(row[7], row[2], row[5]), []).append(row)
        self._rows += (row for row in rows if row not in self._rows)
        times = [(row, PassTime.decode(row[5], "")) for row in rows if row[7] == PassTime.kind]
        told_all = any(row[7] in CONTROLS for row in rows)
        for key, standing in self.standings.items():
            for row, time in times:
                if standing.waits.over(row[4], time.moved, time.present):
                    groups.setdefault(key, [])
            if told_all and (standing.individuals or standing.waits):
                groups.setdefault(key, [])
        needed = max((row[0] for row in self._rows if row[7] != "message"), default=0)
        effects: list[Effects] = []
        for key, its in groups.items():
            place, checkpoint, kept = self._state.get(key, (None, None, []))
            work = Work(key, place, needed, [pack(its[1::2]), pack(its[::2])])
            done = self.host.work(work)
            if done is None:
                again = replace(work, rebuild=True, checkpoint=checkpoint, kept=kept)
                done = self.host.work(again)
            assert isinstance(done, Done)
            effects += pickle.loads(done.effects)
            if commit:
                self.standings[key] = done.standing
            if commit and done.checkpoint is not None:
                self._state[key] = (done.place, (done.place.last, done.checkpoint), [])
            elif commit:
                self._state[key] = (done.place, checkpoint, [*kept, done.entries])
        return effects


def of_one_engine(deployment: Deployment, records: Sequence[Record]) -> Effects:
    """The effects that a server with one engine stores."""
    machine = build_machine(deployment, perf_counter)
    target = Exchange(machine.engine, machine.mapper, deployment)
    outcomes = [replay(each, target, ()) for each in records]
    machine.engine.close()
    return effects_of(records, outcomes)


def told(effects: Effects) -> dict[str, object]:
    """All that effects say."""
    return {
        "departures": sorted(
            (
                repr(each.individual.name),
                each.individual.stay,
                each.individual.entered,
                each.individual.time,
                each.expired_at,
                repr(each.individual.statements),
                sorted(map(repr, each.inferred)),
            )
            for each in effects.departures
        ),
        "ended": sorted(map(repr, effects.ended)),
        "alerts": sorted(map(repr, effects.alerts)),
        "reasons": sorted(
            repr((each.id, each.evidence)) for each in effects.alerts if isinstance(each, Alert)
        ),
        "statuses": effects.statuses,
        "watermark": effects.watermark,
    }


@pytest.fixture(scope="module")
def frugal(settings: Settings) -> Deployment:
    """Checkpoints come often."""
    often = replace(settings.history, checkpoint_every=4)
    return read_deployment(replace(settings, history=often))


@profile(max_examples=25, deadline=None)
@given(batches=_STREAMS, lost=st.sets(st.integers(0, 5)), repeated=st.sets(st.integers(0, 5)))
def test_keys_together_say_what_one_engine_says(
    frugal: Deployment, batches: Any, lost: set[int], repeated: set[int]
) -> None:
    by_keys, by_one = both_ways(frugal, batches, lost, repeated)
    assert by_keys == by_one


RULE_SET = """PREFIX : <http://example.org/t#>
# same place
INSERT { ?a a :Met }
WHERE { ?a :by ?s ; :x ?x . ?b :by ?s ; :x ?x FILTER(?a != ?b) } ;
# alone
INSERT { ?a a :Alone } WHERE { ?a :x ?x FILTER NOT EXISTS { ?a a :Met } } ;
"""


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """The engines infer by rule sets; people of one source belong to no other."""
    folder = tmp_path_factory.mktemp("ruled")
    (folder / "met.ru").write_text(RULE_SET)
    settings = write_deployment(folder)
    for name, old, new in (
        ("t.ttl", ":x a owl", ":by a owl:DatatypeProperty . :x a owl"),
        ("t.rules", "; :x {$person/@x} .", '; :x {$person/@x} ; :by "{/seen/@by}" .'),
    ):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
    return read_deployment(
        replace(
            settings,
            reasoning=replace(settings.reasoning, profile="rdfs, met.ru"),
            history=replace(settings.history, checkpoint_every=4),
        )
    )


@profile(max_examples=8, deadline=None)
@given(batches=_STREAMS, lost=st.sets(st.integers(0, 5)), repeated=st.sets(st.integers(0, 5)))
def test_so_they_do_with_rule_sets(
    ruled: Deployment, batches: Any, lost: set[int], repeated: set[int]
) -> None:
    by_keys, by_one = both_ways(ruled, batches, lost, repeated)
    assert by_keys == by_one


def both_ways(
    deployment: Deployment, batches: Any, lost: set[int], repeated: set[int]
) -> tuple[dict[str, object], dict[str, object]]:
    """What engines of keys say, and what one engine says."""
    journal = rows_of(batches)
    keys = Keys(deployment)
    parts: list[Effects] = []
    for number, rows in enumerate(journal):
        if number in lost:
            keys.lose_engines()
        if number in repeated:
            keys.take(rows, commit=False)
        parts += keys.take(rows)
    keys.host.close()
    expected = of_one_engine(deployment, [record_of(row) for rows in journal for row in rows])
    # The first few messages of a kind are told once by a server, and once by each key.
    return told(_without_notices(merged(parts))), told(_without_notices(expected))


def _without_notices(effects: Effects) -> Effects:
    return replace(effects, alerts=tuple(a for a in effects.alerts if a.kind == "rule"))


@profile(max_examples=10, deadline=None)
@given(batches=_STREAMS, lost=st.sets(st.integers(0, 5)))
def test_stays_have_numbers_of_their_own_that_a_repetition_gives_again(
    frugal: Deployment, batches: Any, lost: set[int]
) -> None:
    def stays(lost: set[int]) -> list[int]:
        keys, found = Keys(frugal), []
        for number, rows in enumerate(rows_of(batches)):
            if number in lost:
                keys.lose_engines()
            effects = keys.take(rows)
            found += [d.individual.stay for each in effects for d in each.departures]
        keys.host.close()
        return found

    numbers = stays(set())
    assert len(set(numbers)) == len(numbers)
    assert stays(lost) == numbers


def test_a_pattern_in_time_goes_on_in_an_engine_that_was_rebuilt(frugal: Deployment) -> None:
    text = b"""PREFIX : <http://example.org/t#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        SELECT ?x (COUNT(*) AS ?n) WHERE { { ?p :x ?y } SEQ { ?q :x ?x } FILTER(?y < ?x) }
        GROUP BY ?x HAVING(getDURATION() < "PT9S"^^xsd:duration)"""
    query: JournalRow = (1, "m1", "rising", START, 1, text, None, "query", False, "")
    said = [[("north", 1, [(n, 7 * n % 10)]), ("south", 1, [(n, n)])] for n in range(12)]
    journal = [[(r[0] + 1, f"m{r[0] + 1}", *r[2:]) for r in rows] for rows in rows_of(said)]

    def reports(lost: bool) -> list[str]:
        keys, found = Keys(frugal), []
        for rows in [[query], *journal]:
            if lost:
                keys.take(rows, commit=False)
                keys.lose_engines()
            found += [repr(each) for effects in keys.take(rows) for each in effects.reports]
        keys.host.close()
        return found

    whole = reports(lost=False)
    assert len(whole) > 10
    assert reports(lost=True) == whole


def test_a_batch_that_was_not_committed_is_done_again_from_the_state(frugal: Deployment) -> None:
    first, second = rows_of([[("north", 1, [(1, 80)])], [("north", 1, [(2, 90)])]])
    keys = Keys(frugal)
    keys.take(first)
    before = keys.take(second, commit=False)
    assert keys.take(second) == before
    keys.host.close()


def test_engines_hold_so_many_statements_at_most(frugal: Deployment, monkeypatch: Any) -> None:
    most = 3 * len(frugal.ontology.triples)
    monkeypatch.setattr(engine_host, "_MOST_STATEMENTS", most)
    keys = Keys(frugal)
    parts: list[Effects] = []
    batches = [[(f"s{n}", 1, [(1, 71 + turn)]) for n in range(5)] for turn in range(3)]
    journal = rows_of(batches)
    for rows in journal:
        parts += keys.take(rows)
        held = [each.size for each in keys.host._engines.values()]
        assert 0 < sum(held) == keys.host._statements <= most
    keys.host.close()
    expected = of_one_engine(frugal, [record_of(row) for rows in journal for row in rows])
    assert len(merged(parts).alerts) == len(expected.alerts) > 0


def test_an_engine_that_was_rebuilt_is_kept_as_a_checkpoint_sooner(
    settings: Settings, monkeypatch: Any
) -> None:
    monkeypatch.setattr(engine_host, "_FEW", 3)
    keys = Keys(read_deployment(settings))
    journal = rows_of([[("north", 1, [(1, 71)])] * 2] * 4)
    kept = []
    for rows in journal:
        keys.take(rows)
        kept.append(len(keys._state["=north"][2]))
        keys.lose_engines()
    keys.host.close()
    # Two of the first batch; with those of the second there are four: a checkpoint; and so on.
    assert kept == [1, 0, 1, 0]


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
