"""Regular work beside all other, each in a thread of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from random import shuffle
from typing import Final

from prometheus_client import Counter

from sensorstream.app.control.engine_settings import kept_for
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.app.questions.mirrored_window import MirroredWindow
from sensorstream.errors import LONGEST, Contradiction, ReasonerError, SensorStreamError
from sensorstream.history.asked_records import QuarantineChoice, Quarantined
from sensorstream.history.database import connect, opened, translating
from sensorstream.history.effects_writer import keys_of_engines
from sensorstream.history.partitions import instant_ago
from sensorstream.installation import bundled
from sensorstream.journal.key_routing import name_of
from sensorstream.journal.notice import ReportDifferences
from sensorstream.kb.graph_index import Origin
from sensorstream.model.terms import Triple
from sensorstream.reasoning.dl.contradictions import clashing, told, triple_of
from sensorstream.reasoning.dl.cross_check import Differences, cross_check
from sensorstream.settings.settings import Settings

_LOG = logging.getLogger(__name__)
_HOUR: Final = 3600.0
_SCRIPT: Final = "retention.sql"
_NEVER: Final = (str(-(2**63)), "-infinity")
"""Bounds below all values."""


def forget(url: str, settings: Settings, now: datetime) -> None:
    """Delete what is older than the settings keep.

    Raises:
        HistoryError: the database failed; nothing is deleted then.
    """
    length, messages = kept_for(settings)
    ended, received = _NEVER
    if length is not None:
        ended = str(max(instant_ago(url, length, settings.time.timeline, now), int(ended)))
    if messages is not None:
        received = (now - messages).isoformat()
    with (
        translating("cannot delete what is old"),
        closing(connect(url, application="sensorstream retention")) as connection,
    ):
        connection.autocommit = True  # the script has a transaction of its own
        with connection.cursor() as cursor:
            for name, bound in (("ended_before", ended), ("received_before", received)):
                cursor.execute("select set_config(%s, %s, false)", (f"sensorstream.{name}", bound))
            cursor.execute((bundled("persistent") / _SCRIPT).read_text(encoding="utf-8"))


def retention(app: Handle) -> RepeatedWork:
    """Make the thread that forgets at the start and then every hour."""
    return RepeatedWork(
        "retention",
        lambda: forget(app.url, app.settings, app.clock.now()),
        _HOUR,
        ("nothing old was deleted", "internal error while old history was deleted"),
        at_once=True,
    )


_NAP: Final = 10.0
"""Seconds between two looks at what was refused."""
_AT_ONCE: Final = 20
_SECONDS: Final = 300.0
"""Seconds that one contradiction may take."""
_PATIENCE: Final = 1.0
"""Seconds to wait for the end of the thread, which ends with the process otherwise."""


class Narrowing(RepeatedWork):
    """A thread that narrows down contradictions of refused messages which were not at once, in
    turn. It begins with those that are in quarantine already. Each is tried once, with the ontology
    of now; where that finds no contradiction, the kept one stays.
    """

    def __init__(self, app: Handle) -> None:
        trouble = (
            "contradictions wait to be narrowed down",
            "internal error while a contradiction was narrowed down",
        )
        super().__init__("narrowing", self.look, _NAP, trouble, patience=_PATIENCE)
        self._app = app
        self._seen = 0

    def look(self) -> None:
        """Narrow down what was refused since the last look.

        Raises:
            HistoryError: history cannot be read or written.
        """
        chosen = QuarantineChoice(status="rejected", code="inconsistent", after=self._seen)
        found = self._app.reader.quarantined(_AT_ONCE, chosen)
        for each in reversed(found):
            if self.stopping:
                return
            if each.contradiction is not None and each.contradiction.limits:
                self._narrow(each, each.contradiction)
            self._seen = each.seq

    def _narrow(self, refused: Quarantined, contradiction: Contradiction) -> None:
        # Longer lines lost their middle; a contradiction without them is one with them.
        whole = [line for line in contradiction.triples if len(line) < LONGEST]
        assertions = tuple(map(triple_of, whole))
        reasoning = self._app.settings.reasoning
        found = clashing(
            assertions,
            self._app.deployment.ontology,
            java=reasoning.java,
            heap=reasoning.heap,
            seconds=_SECONDS,
            clock=self._app.clock,
        )
        if not found.limits:
            lines = tuple(" ".join(t.n3 for t in each) + " ." for each in found.assertions)
            narrowed = Contradiction(lines, found.axioms)
            reason = f"the message contradicts the ontology: {told(narrowed)}"
            self._app.reader.keep_contradiction(refused.id, reason, narrowed)
            _LOG.info("the contradiction of message %s is narrowed down", refused.id)


_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0


class Revival(RepeatedWork):
    """A thread that replaces a failed reasoner; it waits longer after each failed attempt."""

    def __init__(self, app: Handle) -> None:
        fault = "internal error: the reasoner cannot be replaced"
        super().__init__("revival", self._attempt, lambda: self._wait, (fault, fault))
        self._app = app
        self._wait = _FIRST_WAIT

    def _attempt(self) -> None:
        if not self._app.engine.degraded:
            self._wait = _FIRST_WAIT
            return
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        try:
            self._app.exchange.revive(self._app.pipeline)
        except SensorStreamError as error:
            _LOG.warning(
                "the reasoner cannot be replaced yet, next attempt in %g s: %s", self._wait, error
            )


_MOST_KEYS: Final = 100_000
_RESULTS: Final = ("same", "different", "unfinished", "skipped")


class CrossChecks:
    """Comparisons of the inferences with HermiT's, when asked, or every ``period`` seconds. A
    cross-check may take as long as the period. Differences are an entry of the journal, whose alert
    names them; they change nothing else.
    """

    def __init__(self, app: Handle) -> None:
        self._app, metrics = app, app.meters.registry
        told = "Cross-checks of the inferences, by result."
        counter = Counter("sensorstream_cross_checks", told, ["result"], registry=metrics)
        self._results = {name: counter.labels(name) for name in _RESULTS}
        found = "Triples by which inferences differed from a fresh run of HermiT."
        self._differences = Counter("sensorstream_cross_check_differences", found, registry=metrics)

    def every(self, period: float) -> RepeatedWork:
        """Make a thread for it; its end waits for no running check, which ends with the process."""
        trouble = "the inferences could not be cross-checked", "internal error in the cross-check"
        return RepeatedWork("cross-checks", lambda: self.now(period), period, trouble, patience=0.0)

    def now(self, seconds: float) -> Differences | None:
        """Compare now, within ``seconds``; None while the plain profile stands in. Of engines on
        Spark as many are compared as there is time for, each with what its key has.

        Raises:
            ReasonerError: HermiT did not finish in time, or failed.
        """
        deployment, clock = self._app.deployment, self._app.clock
        reasoning = deployment.settings.reasoning
        found: Differences | None = None
        told, end = [], clock.counter() + seconds
        for whose, marks in self._windows():
            try:
                each = cross_check(
                    deployment.ontology,
                    marks,
                    java=reasoning.java,
                    heap=reasoning.heap,
                    seconds=end - clock.counter(),
                    clock=clock,
                )
            except ReasonerError:
                if found is not None:
                    break
                self._results["unfinished"].inc()
                raise
            found = each if found is None else found + each
            if each:
                told.append(f"{whose}{each}")
        if found is None:
            self._results["skipped"].inc()
            return None
        self._results["different" if found else "same"].inc()
        if found:
            self._differences.inc(len(found))
            text = f"{len(found)} differences to HermiT's answer: {'; '.join(told)}"
            _LOG.error("the cross-check found %s", text)
            self._app.pipeline.change(ReportDifferences(text)).result()
        return found

    def _windows(self) -> Iterator[tuple[str, Mapping[Triple, Origin]]]:
        """The windows to compare: whose they are, as text, and all that they know, by graphs."""
        app, keys = self._app, [""]
        if not app.here:
            with opened(app.url, "cannot read the keys of the engines") as cursor:
                keys = keys_of_engines(cursor, _MOST_KEYS)
            shuffle(keys)
        for key in keys:
            with app.looking() as seen:
                if isinstance(seen, MirroredWindow):
                    marks = seen.marks_of(key)
                else:
                    every = seen.kb.match(None, None, None)
                    marks = None if seen.degraded else {t: seen.kb.origins(t) for t in every}
            if marks is not None:
                yield f"the key '{name_of(key):.60}': " if key else "", marks
