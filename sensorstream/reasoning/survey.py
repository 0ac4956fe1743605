"""What reasoning with an ontology comes to: whether it has a model, and what joins individuals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.network.recursion.linear import parted
from sensorstream.reasoning.dl.neighbours import set_apart
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.specialise import standard_name

_SHOWN = 5


def check_consistency(ontology: Ontology, reasoner: Reasoner) -> None:
    """Start a reasoner with an empty window, and end it.

    Raises:
        OntologyError: the ontology contradicts itself, alone or with its own individuals.
        ReasonerError: the reasoner's process failed.
    """
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    try:
        reasoner.start(kb)
    finally:
        reasoner.close()


def rules_left(reasoner: RuleReasoner) -> Iterator[str]:
    """What the rules of a reasoner that was started cost at run time, as sentences."""
    linear, others = parted(reasoner.rules)
    yield (
        f"consistent: no rule finds a contradiction; for this ontology {len(linear)} rules have "
        f"one premise, which costs a look-up, and {len(others)} join what streams"
    )
    counts = Counter(standard_name(rule) for rule in others)
    for name, count in sorted(counts.items()):
        yield f"joins: {name}" if count == 1 else f"joins: {name}, {count} times"


def islands(ontology: Ontology) -> Iterator[str]:
    """What HermiT or Pellet is asked about together when one individual changes, as sentences.

    Raises:
        OntologyError: an axiom is none that HermiT and Pellet can be told.
    """
    terminology = Terminology.of(ontology)
    if terminology.whole:
        yield f"every message asks about the whole window, because of {terminology.whole}"
    apart = set_apart(terminology)
    if apart is not None:
        yield "every individual is asked about alone: no axiom joins two of them"
        return
    if terminology.linking:
        names = sorted(terminology.linking)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        listed = ", ".join(f"<{name}>" for name in names[:_SHOWN])
        yield f"individuals linked by these properties are asked about together: {listed}{more}"
    if terminology.named:
        yield (
            f"axioms name {len(terminology.named)} individuals: what depends on them is asked "
            "about together"
        )
