"""Names for one thing: what a chain of ``owl:sameAs`` costs as it comes and goes.

Run it with ``python -m benchmarks.equal_names [RULE_SET …]``. It is processor time, of the reasoner
with its writing to the inferred graph. *together* is the time until all names are known to be the
same, which is as many triples as there are pairs; then the last name leaves, then a link in the
middle, then the rest.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules

SIZES: Final = (10, 100, 1000)


def seconds(rule_set: str, names: int) -> list[tuple[int, float]]:
    """For each change how many triples it adds to the inferred graph or removes, and its time."""
    kb = KnowledgeBase()
    reasoner = RuleReasoner(bundled_rules(rule_set))
    reasoner.start(kb)
    links = tuple((_name(each), owl.SAME_AS, _name(each + 1)) for each in range(names - 1))
    middle = links[names // 2 : names // 2 + 1]
    rest = tuple(link for link in links[:-1] if link not in middle)
    found = []
    for added, removed in ((links, ()), ((), links[-1:]), ((), middle), ((), rest)):
        delta = Delta(0, added, removed)
        begun = time.process_time()
        kb.apply(Origin.WINDOW, delta)
        change = reasoner.react(kb, delta)
        found.append((len(change.added) + len(change.removed), time.process_time() - begun))
    return found


def main(names: list[str]) -> None:
    titles = "".join(f" {each:>8}" for each in ("together", "last", "middle", "rest"))
    print(f"{'':10} {'names':>6} {'triples':>10}{titles}")
    for name in names:
        for size in SIZES:
            (triples, together), *leaving = seconds(name, size)
            told = "".join(f" {each:7.3f}s" for _, each in leaving)
            print(f"{name:10} {size:6,} {triples:10,} {together:7.3f}s{told}", flush=True)


def _name(number: int) -> IRI:
    return IRI(f"http://example.org/name{number}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["owl2rl", "pdstar"])
