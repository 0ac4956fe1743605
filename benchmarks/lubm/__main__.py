"""Rule sets on LUBM, beside others: ``python -m benchmarks.lubm [SECTION …]``.

CPU time throughout. *Stay*: all departments of the universities are in the window at last;
*replaced*: each department takes the place of the one before. The naive loop has the same rules.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.lubm import figures, peers
from benchmarks.lubm.generator import QUERIES, departments, text_of
from sensorstream.app.life.process_memory import spare_what_stays

PROFILES = ("plain", "minimal", "rdfs", "owl2rl")
CLASSES = (1000, 10_000, 40_080)
FEWEST = 500
"""Statements of which closures are measured first."""


def rates(universities: int) -> None:
    """Print triples a second by rule set, without queries and with all, and of the naive loop."""
    print(f"\nTriples a second, LUBM({universities})")
    print(f"{'':24}{'queries':>8}{'stay':>10}{'replaced':>10}")
    events = _events(universities)
    for profile in PROFILES:
        make = partial(figures.reasoner, profile)
        for queries in ((), QUERIES):
            found = [figures.rate(make, events, queries, stay=stay)[0] for stay in (True, False)]
            _print_rates(profile, queries, found)
    found = [figures.naive_rate(events, QUERIES, stay=stay)[0] for stay in (True, False)]
    _print_rates("naive loop, minimal", QUERIES, found)


def _print_rates(name: str, queries: Sequence[str], found: Sequence[float]) -> None:
    cells = "".join(f"{each:10,.0f}" for each in found)
    print(f"{name:24}{len(queries):8}{cells}", flush=True)


def queries(universities: int) -> None:
    """Print triples a second and solutions for each query alone, beside the naive loop."""
    print(f"\nOne query each, minimal rules, LUBM({universities}): triples a second, solutions")
    print(f"{'query':>8}{'stay':>10}{'replaced':>10}{'naive, st.':>12}{'naive, re.':>12}{'':>4}")
    events = _events(universities)
    make = partial(figures.reasoner, "minimal")
    for number, text in enumerate(QUERIES, 1):
        cells, solutions = [], []
        for measure in (partial(figures.rate, make), figures.naive_rate):
            for stay in (True, False):
                found, (count,) = measure(events, [text], stay=stay)
                cells.append(found)
                solutions.append(count)
        if solutions[0] != solutions[2] or solutions[1] != solutions[3]:
            raise RuntimeError(f"query {number}: the solutions differ: {solutions}")
        print(
            f"{number:8}{cells[0]:10,.0f}{cells[1]:10,.0f}{cells[2]:12,.0f}{cells[3]:12,.0f}"
            f"{solutions[0]:10,}",
            flush=True,
        )


def change(universities: int) -> None:
    """Print what two statements more or less cost."""
    events = _events(universities)
    print("\nA change of two statements, ms")
    for profile in PROFILES:
        held, spent = figures.change_of_two(partial(figures.reasoner, profile), events)
        print(f"{profile:24}{held:10,} statements{spent:10.3f}", flush=True)
    print(f"{'naive loop, minimal':24}{'':21}{figures.naive_change_of_two(events):10.3f}")


def memory(universities: int) -> None:
    """Print the memory after each of many universities."""
    print("\nMB of the process after 1, 2, … universities, replaced, 14 queries, minimal rules")
    found = figures.memory(max(universities, 5), QUERIES)
    print(" ".join(f"{each:.0f}" for each in found), flush=True)


def members(universities: int) -> None:
    """Print what a member of one of many classes costs, by rules for subclasses."""
    print(f"\n{'classes':>8}{'s to load':>12}{'ms, class new':>16}{'ms, class known':>18}")
    for classes in CLASSES:
        loaded, first, known = figures.membership(classes)
        print(f"{classes:8,}{loaded:12.1f}{first:16.4f}{known:18.4f}", flush=True)


def closures(universities: int, wait: float) -> None:
    """Print what the closure by OWL 2 RL takes, here and elsewhere, of more and more statements.

    An engine that does not answer in ``wait`` seconds is not asked about more.
    """
    print("\nThe closure, CPU seconds; how many times ours; queries answered as here")
    late: set[str] = set()
    for events in _growing(_events(universities)):
        ours = peers.ours(events)
        print(f"\n{sum(each.count(chr(10)) for each in events):,} statements")
        print(f"{ours.name:30}{ours.seconds:10.2f}{'':9}{ours.triples:12,} triples", flush=True)
        for each in peers.theirs(events, wait, late):
            if each.failure:
                late.add(each.name)
                print(f"{each.name:30} {each.failure}", flush=True)
                continue
            pairs = zip(each.solutions, ours.solutions, strict=True)
            print(
                f"{each.name:30}{each.seconds:10.2f}{each.seconds / ours.seconds:8.1f}x"
                f"{each.triples:12,} triples{sum(one == other for one, other in pairs):4} of 14",
                flush=True,
            )


def _growing(events: Sequence[str]) -> Iterator[list[str]]:
    """The first statements of all events, twice as many each time, and then all."""
    size = FEWEST
    while size < sum(each.count("\n") for each in events):
        first, left = [], size
        for each in events:
            lines = each.splitlines(keepends=True)[:left]
            left -= len(lines)
            if lines:
                first.append("".join(lines))
        yield first
        size *= 2
    yield list(events)


def _events(universities: int) -> list[str]:
    return [text_of(each) for each in departments(universities)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lubm", description=__doc__)
    parser.add_argument("--universities", type=int, default=1)
    parser.add_argument("--wait", type=float, default=600, help="seconds for each other engine")
    sections: dict[str, Callable[[int], None]] = {
        each.__name__: each for each in (rates, queries, change, memory, members)
    }
    parser.add_argument("sections", nargs="*", help=", ".join((*sections, "closures")))
    given = parser.parse_args()
    sections["closures"] = partial(closures, wait=given.wait)
    if unknown := set(given.sections) - set(sections):
        parser.error(f"no section {', '.join(unknown)}: expected {', '.join(sections)}")
    spare_what_stays()  # as the server does
    for name in given.sections or sections:
        sections[name](given.universities)


if __name__ == "__main__":
    main()
