"""From the name of a profile to a reasoner."""

from __future__ import annotations

from typing import Final

from sensorstream.errors import SettingsError
from sensorstream.reasoning.closure import Closure
from sensorstream.reasoning.ontology import Ontology, to_ntriples
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner

PROFILES: Final = ("none", "plain", "hermit", "pellet")


def make_reasoner(
    profile: str, ontology: Ontology, *, java: str = "", timeout: float = 30.0
) -> Reasoner:
    """The reasoner of a profile; no process is started before :meth:`Reasoner.start`.

    ``java`` is the home of a Java runtime ("" = the one that comes with SensorStream),
    ``timeout`` bounds one question to HermiT or Pellet, in seconds.

    Raises:
        SettingsError: no such profile.
    """
    if profile == "none":
        return NoReasoner()
    if profile == "plain":
        return Closure(ontology.schema)
    if profile not in PROFILES:
        raise SettingsError(
            f"'{profile}' is no reasoning profile: expected one of {', '.join(PROFILES)}"
        )
    from sensorstream.reasoning.dl.process import Worker
    from sensorstream.reasoning.dl.reasoner import DlReasoner
    from sensorstream.reasoning.dl.terminology import Terminology

    terminology = Terminology.of(ontology)
    worker = Worker(profile, to_ntriples(terminology.axioms), java=java, timeout=timeout)
    return DlReasoner(terminology, worker)
