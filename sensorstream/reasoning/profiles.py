"""The reasoners of profiles: by which rules each infers, and what it does not read.

HermiT, Pellet and the plain profile take from the window the classes of individuals, their values,
and which are the same or different. All else in OWL's vocabulary has no effect there: a negative
assertion of a property, for example. Rule sets read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, Unpack

from sensorstream.clock import SystemClock
from sensorstream.errors import OntologyError, SettingsError
from sensorstream.installation import require
from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, Term, statement_text
from sensorstream.model.vocabulary import OWL
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.reasoning.dl.axioms import ANNOTATIONS, Axioms, built_ins
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner, ResilientReasoner
from sensorstream.reasoning.dl.gap.axiom_trial import AxiomTrial
from sensorstream.reasoning.dl.reasoner_process import HEAP, JavaLimits, Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, place_of
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner, SchemaClosure
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.reasoning.rulesets.rule_set_reader import (
    SUMMARIES,
    bundled_rules,
    plain_rules,
    read,
)

PROFILES: Final = ("none", "plain", "hermit", "pellet")
DESCRIPTION_LOGIC: Final = ("hermit", "pellet")
"""The profiles that decide all of OWL 2 DL."""
_LATEST: Final = 2
"""Shared processes that go on: that of the ontology in force, and of the one before or to come."""
_RULE_FILES: Final = (".ru", ".dlog")


def check_profile(profile: str) -> None:
    """Check that a profile exists, or names rule sets; no file is read.

    Raises:
        SettingsError: it does not.
    """
    for name in rule_set_names(profile):
        if name not in SUMMARIES and not name.endswith(_RULE_FILES):
            raise SettingsError(
                f"reasoning.profile: '{name}' is not known: expected one of "
                f"{', '.join(PROFILES)}, or "
                f"rule sets with commas between them: {', '.join(SUMMARIES)}, or files "
                f"({', '.join(_RULE_FILES)})"
            )


def rule_set_names(profile: str) -> list[str]:
    """The rule sets that a profile names, included ones and files; none if it has none."""
    if profile in PROFILES:
        return []
    return [name.strip() for name in profile.split(",")]


def rule_set_of(profile: str, folder: Path | None = None) -> RuleSet | None:
    """The rules of a profile's rule sets; None: it has none. Paths begin at ``folder``; None: here.

    Raises:
        SettingsError: there is no such profile, or a file cannot be read.
        QueryError: a rule set cannot be read, with the place.
        ProgramError: its rules have no result, or perhaps no end.
    """
    check_profile(profile)
    names = rule_set_names(profile)
    return combined(_rule_set(name, folder or Path()) for name in names) if names else None


def _rule_set(name: str, folder: Path) -> RuleSet:
    if name in SUMMARIES:
        return bundled_rules(name)
    path = folder / name
    return read(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of a file with a rule set.

    Raises:
        SettingsError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the rule set {path}: {error}") from None


def told_to(profile: str, ontology: Ontology) -> Terminology:
    """The part of an ontology that HermiT or Pellet is told.

    Raises:
        MissingExtra: the extra "reasoners" is not installed.
        OntologyError: an axiom is none that it can be told.
    """
    require("reasoners", f"the profile {profile}")
    terminology = Terminology.of(ontology)
    called = built_ins(Axioms(terminology.stated)) if profile == "hermit" else set()
    for each in sorted(called):
        raise OntologyError(
            f"a SWRL rule calls the built-in {each.n3}, and HermiT knows none: expected the "
            "profile pellet, a data range (owl:withRestrictions) for what a value is compared "
            "with, or a semantic rule",
            position=place_of(ontology.files, each) if isinstance(each, IRI) else None,
        )
    return terminology


def make_reasoner(
    profile: str,
    ontology: Ontology,
    *,
    explain: float = 5.0,
    folder: Path | None = None,
    rule_set: RuleSet | None = None,
    limits: Limits = NO_LIMITS,
    workers: dict[bytes, Worker] | None = None,
    **java: Unpack[JavaLimits],
) -> Reasoner:
    """The reasoner of a profile; no process is started before :meth:`Reasoner.start`.

    ``explain`` limits the search for a contradiction, in seconds. ``rule_set`` are the rules of
    the profile's rule sets; None: they are read, and their paths begin at ``folder`` (None: here).
    ``limits`` are for what the rules may take for one change. ``workers`` are the processes of
    HermiT or Pellet that the reasoners of one thread share, by their axioms; it gets a new one.

    Raises:
        SettingsError: there is no such profile.
        QueryError: a rule set cannot be read, with the place.
        ProgramError: its rules have no result, or perhaps no end.
        MissingExtra, OntologyError: as :func:`told_to`.
    """
    check_profile(profile)
    if profile == "none":
        return NoReasoner()
    if profile == "plain":
        return SchemaClosure(ontology.schema)
    found = rule_set or rule_set_of(profile, folder)
    if found is not None:
        return RuleReasoner(found, limits)
    clock = SystemClock()
    terminology = told_to(profile, ontology)
    axioms, shared = terminology.document(profile), workers is not None
    worker = Worker(profile, axioms, clock=clock, shared=shared, **java)
    if workers is not None:
        worker = workers.setdefault(axioms, worker)
        for old in list(workers.values())[:-_LATEST]:
            old.close()
    trial = AxiomTrial(terminology)
    explainer = Explainer(
        ontology,
        lambda: DlReasoner(terminology, worker, limits=limits, trial=trial),
        terminology.datatypes,
        java=java.get("java", ""),
        heap=java.get("heap", HEAP),
        seconds=explain,
        clock=clock,
    )
    return ResilientReasoner(terminology, worker, explainer, limits=limits, trial=trial)


def bare_reasoner(profile: str, ontology: Ontology, **java: Unpack[JavaLimits]) -> DlReasoner:
    """HermiT or Pellet without explanations of contradictions and without a substitute, for
    questions that are asked once. The arguments are those of :func:`make_reasoner`.
    """
    terminology = told_to(profile, ontology)
    return DlReasoner(terminology, Worker(profile, terminology.document(profile), **java))


def rules_of(reasoner: Reasoner) -> RuleSet | None:
    """The rules of a reasoner; None: it has none, as HermiT or Pellet, or infers nothing."""
    if isinstance(reasoner, RuleReasoner):
        return reasoner.rule_set
    if isinstance(reasoner, SchemaClosure):
        return plain_rules()
    if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
        return plain_rules()
    return None


_OF_SCHEMA: Final = frozenset({rdfs.SUBCLASS_OF, rdfs.SUBPROPERTY_OF, rdfs.DOMAIN, rdfs.RANGE})
_OF_INDIVIDUALS: Final = ANNOTATIONS | {
    *(owl.SAME_AS, owl.DIFFERENT_FROM, owl.THING, owl.NOTHING, owl.NAMED_INDIVIDUAL),
}
"""The names of OWL that say nothing of the ontology where they stand in a message."""


@lru_cache(4096)
def says_axiom(word: Term) -> bool:
    """Whether a class or a property is one of axioms, from which nothing follows in a message."""
    return word in _OF_SCHEMA or (
        isinstance(word, IRI) and word.startswith(OWL) and word not in _OF_INDIVIDUALS
    )


def unread_axiom(reasoner: Reasoner, events: Iterable[Event]) -> str:
    """A text on the first axiom that has no effect; "": there is none."""
    if not isinstance(reasoner, ResilientReasoner | SchemaClosure):
        return ""
    for event in events:
        for triple in event.triples:
            _, p, o = triple
            if says_axiom(o if p == rdf.TYPE else p):
                return (
                    f"nothing follows from '{statement_text(triple)}': the profiles plain, hermit "
                    "and pellet read axioms from the ontology alone: put it into the ontology, or "
                    "choose a profile with rule sets that read it"
                )
    return ""
