"""A mirror of the windows of engines on Spark, for questions.

With each batch the engines tell what their windows hold anew, and the pipeline stores it together
with the effects of the batch (``store.held``). When a question comes, the mirror reads what is new
since the question before. So an answer is of the last batch that is stored, all engines together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from itertools import chain
from threading import Lock
from typing import Final, TypeAlias, TypeVar

from psycopg2 import extensions

from sensorstream.app.control.rule_exchange import aside_of
from sensorstream.app.control.wiring import Deployment
from sensorstream.engine.engine import Engine
from sensorstream.engine.held_content import HeldContent, WindowTotals, digests, read_held
from sensorstream.engine.inferences import BegunInterval
from sensorstream.errors import OntologyError, ReasonerError, Unavailable
from sensorstream.history.database import OwnConnection, one_value
from sensorstream.history.effects_writer import GONE_KEPT
from sensorstream.journal.records import number_of_message
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta, Individual
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.processes.fork_once import held
from sensorstream.reasoning.reasoner import Aside, SchemaClosure, change_between
from sensorstream.window.window_spec import WindowSpec

_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 5_000
_PATIENCE: Final = 30.0
"""Seconds to wait for others who read, too."""
_NOTHING: Final = HeldContent()
_DEGRADED: Final = WindowTotals(degraded=True)
_ALWAYS: Final = Origin.STATIC | Origin.STATIC_INFERRED
_K = TypeVar("_K")
_Holders: TypeAlias = dict[_K, tuple[bytes, ...]]
"""The parts that hold something, by their digests: one, in most cases."""


class MirroredWindow:
    """The parts that engines tell, put together: the individuals of all keys, and what is inferred.

    Keys may say the same triple: it is there once. Individuals of one name in several windows are
    as many stays; :meth:`get` gives the latest, with the statements of all.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self.kb = KnowledgeBase()
        self.spec = spec
        self.now: Instant | None = None
        self.parts: dict[bytes, HeldContent] = {}
        self.totals: dict[bytes, WindowTotals] = {}
        self._individuals: dict[bytes, Individual] = {}
        self._names: _Holders[Subject] = {}
        self._said: _Holders[Triple] = {}
        self._inferred: _Holders[Triple] = {}
        self._begun: dict[Triple, BegunInterval] = {}

    @property
    def window(self) -> MirroredWindow:
        """The mirror itself, which stands for the parts of an engine."""
        return self

    inferences = window

    def __len__(self) -> int:
        return len(self._individuals)

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._individuals.values())

    def __contains__(self, name: Subject) -> bool:
        return name in self._names

    def get(self, name: Subject) -> Individual | None:
        """The individual of that name, if it is in any window."""
        found = sorted(
            (self._individuals[each] for each in self._names.get(name, ())),
            key=lambda each: (each.time, each.arrival),
        )
        if len(found) < 2:
            return found[0] if found else None
        statements = {t: said for each in found for t, said in each.statements.items()}
        return replace(found[-1], statements=statements)

    def begun(self) -> Mapping[Triple, BegunInterval]:
        """The beginnings of the statements that are inferred now; where several engines infer the
        same, those of the first.
        """
        return self._begun

    def marks_of(self, key: str) -> dict[Triple, Origin] | None:
        """Every triple that the engine of a key holds, and the graphs that hold it there; None: the
        plain profile stands in there, or it holds nothing.
        """
        totals, *parts = digests(key, {*self._names, *(triple[0] for triple in self._inferred)})
        if self.totals.get(totals, _DEGRADED).degraded:
            return None
        marks = {t: self.kb.origins(t) & _ALWAYS for t in self.kb.match(None, None, None)}
        marks = {t: graphs for t, graphs in marks.items() if graphs}
        for part in filter(None, map(self.parts.get, parts)):
            for origin, said in (
                (Origin.WINDOW, part.statements),
                (Origin.INFERRED, part.inferred),
            ):
                marks |= {t: marks.get(t, origin) | origin for t in said}
        return marks

    @property
    def partitions(self) -> int:
        """Partitions of all windows that hold something."""
        return sum(each.partitions for each in self.totals.values())

    @property
    def pending(self) -> int:
        """Events that wait for the next step of a window."""
        return sum(each.pending for each in self.totals.values())

    @property
    def held(self) -> int:
        """Messages that wait for earlier ones."""
        return sum(each.held for each in self.totals.values())

    def change(self, digest: bytes, content: str | None) -> None:
        """Put a part in the place of the one before; None: it has gone. O(part)."""
        told = _NOTHING if content is None else read_held(content)
        self.totals.pop(digest, None)
        if isinstance(told, WindowTotals):
            self.totals[digest] = told
            return
        one = told.individual
        if one is not None:
            # Each engine counts arrivals by itself; those of all come in the order of the journal.
            one.arrival += number_of_message(one.message) << _OF_MESSAGE
        old = self.parts.pop(digest, _NOTHING)
        if told is not _NOTHING:
            self.parts[digest] = told
        if old.individual is not None:
            del self._individuals[digest]
            _release(self._names, old.individual.name, digest)
        if one is not None:
            self._individuals[digest] = one
            _hold(self._names, one.name, digest)
        self._turn(Origin.WINDOW, self._said, digest, old.statements, told.statements)
        self._turn(Origin.INFERRED, self._inferred, digest, old.inferred, told.inferred)
        for triple in chain(old.inferred, told.inferred):
            if triple in self._inferred:
                first = self.parts[self._inferred[triple][0]]
                self._begun[triple] = first.inferred[triple]
            else:
                self._begun.pop(triple, None)
        for part in (old, told):
            for triple in (t for t, said in part.statements.items() if said.graphs):
                holders = (self.parts[each] for each in self._said.get(triple, ()))
                named = (each.statements[triple].graph_names for each in holders)
                self.kb.place(triple, chain.from_iterable(named))

    def _turn(
        self,
        origin: Origin,
        holders: _Holders[Triple],
        digest: bytes,
        before: Collection[Triple],
        now: Collection[Triple],
    ) -> None:
        """Let the triples of a part be others, in one of the graphs."""
        gone = tuple(t for t in before if t not in now and _release(holders, t, digest))
        come = tuple(t for t in now if t not in before and _hold(holders, t, digest))
        self.kb.apply(origin, Delta(0, come, gone))

    def put_static(self, other: KnowledgeBase) -> None:
        """Let the static graphs be those of another knowledge base."""
        for origin in (Origin.STATIC, Origin.STATIC_INFERRED):
            own = self.kb.triples(origin)
            self.kb.apply(origin, change_between(0, own, other.triples(origin)))


_OF_MESSAGE: Final = 40
"""Bits for the arrivals of an engine."""


def _hold(holders: _Holders[_K], held: _K, digest: bytes) -> bool:
    """Note a holder; whether it is the first."""
    before = holders.get(held, ())
    holders[held] = (*before, digest)
    return not before


def _release(holders: _Holders[_K], held: _K, digest: bytes) -> bool:
    """Note that a holder has gone; whether it was the last."""
    left = tuple(each for each in holders.pop(held) if each != digest)
    if left:
        holders[held] = left
    return not left


EngineView: TypeAlias = Engine | MirroredWindow
"""The present, for questions: an engine of this process, or the mirror."""


@frozen
class StoredBatch:
    """The batch that an answer is of: its last entry, and when it was stored; None: there is none.

    ``displaced`` counts how often the journal was processed from its beginning again.
    """

    entry: int
    stored_at: datetime | None
    displaced: int

    def __str__(self) -> str:
        at = self.stored_at
        return f"{self.entry}" if at is None else f"{self.entry}; {at.isoformat()}"


ANSWERED_OF: Final[ContextVar[list[StoredBatch] | None]] = ContextVar("answered_of", default=None)
"""Gets the batches that the answer to the present request is of."""
Fix: TypeAlias = Callable[[str], None]
"""A function that fixes the snapshot of a question: that of this name."""


class WindowMirror:
    """The mirror, and the reader that keeps it up to date. Thread-safe.

    Nothing is read while nobody asks; the first question reads all.
    """

    def __init__(self, url: Callable[[], str], deployment: Callable[[], Deployment]) -> None:
        """``url`` is that of the history, ``deployment`` the one in force."""
        self._history = OwnConnection(url, "sensorstream mirror")
        self._deployment = deployment
        self._followed: Deployment | None = None
        self._known: StoredBatch | None = None
        self.lock = Lock()
        self.windows = MirroredWindow(deployment().window)

    @contextmanager
    def looking(self, fix: Fix | None = None) -> Iterator[MirroredWindow]:
        """A block that sees what the engines held after the last batch that is stored; meanwhile it
        does not change. ``fix`` gets the name of the database's snapshot of the same instant.

        Raises:
            HistoryError: it cannot be read.
            Unavailable: others read for too long.
        """
        late = Unavailable("others read what the engines hold: ask again later")
        with held(self.lock, _PATIENCE, late):
            self._follow(self._deployment())
            with self._history.cursor("cannot read what the engines hold") as cursor:
                cursor.execute("begin isolation level repeatable read read only")
                try:
                    batch = self._read(cursor)
                    if fix is not None:
                        fix(one_value(cursor, "select pg_export_snapshot()"))
                finally:
                    cursor.execute("rollback")
            if (told := ANSWERED_OF.get()) is not None:
                told.append(batch)
            yield self.windows

    def close(self) -> None:
        with self.lock:
            self._history.close()

    def _read(self, cursor: extensions.cursor) -> StoredBatch:
        """Read what is new."""
        cursor.execute("select routed, stored_at, displaced, moved from store.pipeline")
        *told, now = cursor.fetchone() or (0, None, 0, None)
        batch, known, windows = StoredBatch(*told), self._known, self.windows
        if batch == known:
            return batch
        since = -1
        if known is not None and known.displaced == batch.displaced:
            since = known.entry if batch.entry - GONE_KEPT <= known.entry <= batch.entry else -1
        left = {*windows.parts, *windows.totals} if since < 0 else set()
        # A fault on the way leaves a mirror of no batch: then all is read again.
        self._known = None
        cursor.execute(
            "declare held no scroll cursor for "
            "select digest, content from store.held where since > %s",
            (since,),
        )
        while True:
            cursor.execute(f"fetch {_AT_ONCE} from held")
            rows = cursor.fetchall()
            for digest, content in rows:
                left.discard(bytes(digest))
                windows.change(bytes(digest), content)
            if len(rows) < _AT_ONCE:
                break
        for digest in left:
            windows.change(digest, None)
        windows.now, self._known = now, batch
        return batch

    def _follow(self, deployment: Deployment) -> None:
        """Hold the static graphs of a deployment, with what its reasoner infers from them."""
        old, ontology = self._followed, deployment.ontology
        same = old is not None and old.ontology is ontology and old.rule_set is deployment.rule_set
        if not same:
            try:
                aside = aside_of(deployment)
            except (OntologyError, ReasonerError) as error:
                _LOG.warning("no reasoner for the ontology here, the plain profile: %s", error)
                aside = Aside(ontology.triples, SchemaClosure(ontology.schema))
            self.windows.put_static(aside.kb)
            aside.reasoner.close()
        self._followed = deployment
