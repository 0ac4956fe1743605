"""Makes the reasoner of a profile."""

from __future__ import annotations

from typing import Final

from sensorstream.clock import Clock, SystemClock
from sensorstream.errors import SettingsError
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.process import HEAP, Worker
from sensorstream.reasoning.dl.reasoner import DlReasoner
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.reasoning.schema_closure import SchemaClosure

PROFILES: Final = ("none", "plain", "hermit", "pellet")


def make_reasoner(
    profile: str,
    ontology: Ontology,
    *,
    java: str = "",
    timeout: float = 10.0,
    heap: int = HEAP,
    explain: float = 5.0,
    clock: Clock | None = None,
) -> Reasoner:
    """The reasoner of a profile; no process is started before :meth:`Reasoner.start`.

    ``java`` is the home of a Java runtime ("" = the one that comes with SensorStream),
    ``timeout`` limits one question to HermiT or Pellet, in seconds, ``heap`` their memory, in MiB.
    ``explain`` limits the search for a contradiction, in seconds.

    Raises:
        SettingsError: there is no such profile.
    """
    if profile == "none":
        return NoReasoner()
    if profile == "plain":
        return SchemaClosure(ontology.schema)
    if profile not in PROFILES:
        raise SettingsError(
            f"'{profile}' is not a reasoning profile: expected one of {', '.join(PROFILES)}"
        )
    clock = clock or SystemClock()
    terminology = Terminology.of(ontology)
    worker = Worker(
        profile, terminology.document(), java=java, timeout=timeout, heap=heap, clock=clock
    )
    explainer = Explainer(
        ontology,
        lambda: DlReasoner(terminology, worker),
        terminology.datatypes,
        java=java,
        heap=heap,
        seconds=explain,
        clock=clock,
    )
    return ResilientReasoner(DlReasoner(terminology, worker), worker, explainer, ontology.schema)
