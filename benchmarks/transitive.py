"""Transitive properties: what chains, trees and random links cost as they come and go.

Run it with ``python -m benchmarks.transitive [RULE_SET …]``. It is processor time, of the reasoner
with its writing to the inferred graph, in milliseconds: of all links together, then one in the
middle leaves and comes back. *symmetric* is a chain whose property is symmetric as well.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules

OWL: Final = "http://www.w3.org/2002/07/owl#"
PART: Final = IRI("http://example.org/partOf")
NEAR: Final = IRI("http://example.org/near")
SCHEMA: Final[Sequence[Triple]] = (
    (PART, rdf.TYPE, IRI(f"{OWL}TransitiveProperty")),
    (NEAR, rdf.TYPE, IRI(f"{OWL}TransitiveProperty")),
    (NEAR, rdf.TYPE, IRI(f"{OWL}SymmetricProperty")),
)


def shapes() -> Mapping[str, Sequence[Triple]]:
    """The links that are measured."""
    dice = random.Random(1)
    pairs = dict.fromkeys((dice.randrange(60), dice.randrange(60)) for _ in range(245))
    return {
        "tree of 510, depth 8": [_link(each, (each - 1) // 2) for each in range(1, 511)],
        "chain of 100": [_link(*two) for two in pairwise(range(101))],
        "chain of 300": [_link(*two) for two in pairwise(range(301))],
        "at random, 60 names": [_link(*two) for two in pairs],
        "symmetric, 30 names": [_link(*two, NEAR) for two in pairwise(range(30))],
    }


def milliseconds(rule_set: str, links: Sequence[Triple]) -> list[tuple[int, float]]:
    """For each change how many triples it adds to the inferred graph or removes, and its time."""
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, SCHEMA)
    reasoner = RuleReasoner(bundled_rules(rule_set))
    reasoner.start(kb)
    middle = (links[len(links) // 2],)
    found = []
    for added, removed in ((tuple(links), ()), ((), middle), (middle, ())):
        delta = Delta(0, added, removed)
        begun = time.process_time()
        kb.apply(Origin.WINDOW, delta)
        change = reasoner.react(kb, delta)
        spent = (time.process_time() - begun) * 1000
        found.append((len(change.added) + len(change.removed), spent))
    return found


def main(names: list[str]) -> None:
    titles = "".join(f"{each:>10}" for each in ("together", "leaves", "returns"))
    print(f"{'':10}{'':24}{'triples':>9}{titles}")
    for name in names:
        for shape, links in shapes().items():
            measured = milliseconds(name, links)
            told = "".join(f"{each:10.1f}" for _, each in measured)
            print(f"{name:10}{shape:24}{measured[0][0]:9,}{told}", flush=True)


def _link(one: int, other: int, property: IRI = PART) -> Triple:
    names = (IRI(f"http://example.org/n{each}") for each in (one, other))
    return next(names), property, next(names)


if __name__ == "__main__":
    main(sys.argv[1:] or ["owl2rl", "pdstar"])
