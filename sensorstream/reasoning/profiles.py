"""Makes the reasoner of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sensorstream.clock import Clock, SystemClock
from sensorstream.errors import SettingsError
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.process import HEAP, Worker
from sensorstream.reasoning.dl.reasoner import DlReasoner
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.reasoning.rulesets.library import SUMMARIES, bundled_rules
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.reasoning.schema_closure import SchemaClosure

PROFILES: Final = ("none", "plain", "hermit", "pellet")
_RULE_FILES: Final = (".ru", ".dlog")


def check_profile(profile: str) -> None:
    """Check that a profile is one that there is, or names rule sets; no file is read.

    Raises:
        SettingsError: it is not.
    """
    if profile in PROFILES:
        return
    for name in _names(profile):
        if name not in SUMMARIES and not name.endswith(_RULE_FILES):
            raise SettingsError(
                f"reasoning.profile: '{name}' is not known: expected one of "
                f"{', '.join(PROFILES)}, or "
                f"rule sets with commas between them: {', '.join(SUMMARIES)}, or files "
                f"({', '.join(_RULE_FILES)})"
            )


def _names(profile: str) -> list[str]:
    return [name.strip() for name in profile.split(",")]


def _rule_set(name: str, folder: Path) -> RuleSet:
    if name in SUMMARIES:
        return bundled_rules(name)
    path = folder / name
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the rule set {path}: {error}") from None
    return read(text, str(path))


def make_reasoner(
    profile: str,
    ontology: Ontology,
    *,
    java: str = "",
    timeout: float = 10.0,
    heap: int = HEAP,
    explain: float = 5.0,
    clock: Clock | None = None,
    folder: Path | None = None,
    limits: Limits = NO_LIMITS,
) -> Reasoner:
    """The reasoner of a profile; no process is started before :meth:`Reasoner.start`.

    ``java`` is the home of a Java runtime ("" = the one that comes with SensorStream),
    ``timeout`` limits one question to HermiT or Pellet, in seconds, ``heap`` their memory, in MiB.
    ``explain`` limits the search for a contradiction, in seconds. ``folder`` is where paths of rule
    sets begin (None: here), ``limits`` what their rules may take for one change.

    Raises:
        SettingsError: there is no such profile.
        QueryError: a rule set cannot be read, with the place.
        ProgramError: its rules have no result, or perhaps no end.
    """
    check_profile(profile)
    if profile == "none":
        return NoReasoner()
    if profile == "plain":
        return SchemaClosure(ontology.schema)
    if profile not in PROFILES:
        sets = (_rule_set(name, folder or Path()) for name in _names(profile))
        return RuleReasoner(combined(sets), limits)
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
