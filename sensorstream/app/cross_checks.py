"""Cross-checks in the background: everything is inferred anew from time to time, and compared."""

from __future__ import annotations

import logging
from threading import Event, Thread

from prometheus_client import CollectorRegistry, Counter

from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import Pipeline
from sensorstream.clock import Clock
from sensorstream.engine.engine import Engine
from sensorstream.errors import ReasonerError, SensorStreamError
from sensorstream.journal.notice import ReportDifferences
from sensorstream.reasoning.dl.cross_check import Differences, cross_check

_LOG = logging.getLogger(__name__)
_RESULTS = ("same", "different", "unfinished", "skipped")


class CrossChecks:
    """A thread that compares the inferences with HermiT's every ``period`` seconds.

    ``period`` is None: only when asked. A cross-check may take as long as the period. Differences
    are an entry of the journal, whose alert names them; they change nothing else.
    """

    def __init__(
        self,
        engine: Engine,
        exchange: Exchange,
        pipeline: Pipeline,
        *,
        period: float | None,
        clock: Clock,
        metrics: CollectorRegistry,
    ) -> None:
        self._engine = engine
        self._exchange = exchange
        self._pipeline = pipeline
        self._period = period
        self._clock = clock
        told = "Cross-checks of the inferences, by result."
        counter = Counter("sensorstream_cross_checks", told, ["result"], registry=metrics)
        self._results = {name: counter.labels(name) for name in _RESULTS}
        found = "Triples by which inferences differed from a fresh run of HermiT."
        self._differences = Counter("sensorstream_cross_check_differences", found, registry=metrics)
        self._halt = Event()
        self._thread = Thread(target=self._run, name="cross-checks", daemon=True)

    def start(self) -> None:
        """Start the thread, if there is a period."""
        if self._period is not None:
            self._thread.start()

    def stop(self) -> None:
        """End the thread without waiting for a running one, whose process ends with this one."""
        self._halt.set()

    def now(self, seconds: float) -> Differences | None:
        """Compare now, within ``seconds``; None while the plain profile stands in.

        Raises:
            ReasonerError: HermiT did not finish in time, or failed.
        """
        with self._pipeline.lock:
            kb, deployment = self._engine.kb, self._exchange.deployment
            degraded = self._engine.degraded
            marks = {triple: kb.origins(triple) for triple in kb.match(None, None, None)}
        if degraded:
            self._results["skipped"].inc()
            return None
        reasoning = deployment.settings.reasoning
        try:
            found = cross_check(
                deployment.ontology,
                marks,
                java=reasoning.java,
                heap=reasoning.heap,
                seconds=seconds,
                clock=self._clock,
            )
        except ReasonerError:
            self._results["unfinished"].inc()
            raise
        self._results["different" if found else "same"].inc()
        if found:
            self._differences.inc(len(found))
            _LOG.error("the cross-check found %d differences: %s", len(found), found)
            told = f"{len(found)} differences to HermiT's answer: {found}"
            self._pipeline.change(ReportDifferences(told)).result()
        return found

    def _run(self) -> None:
        assert self._period is not None
        while not self._halt.wait(self._period):
            try:
                self.now(self._period)
            except SensorStreamError as error:
                _LOG.warning("the inferences could not be cross-checked: %s", error)
            except Exception:
                _LOG.exception("internal error in the cross-check")
