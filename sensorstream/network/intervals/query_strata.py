"""The order in which queries get an instant, when some of them add triples to it.

A query reads *the present* in a pattern whose occurrence may end at the instant at work: not on the
left of SEQ or OPTIONALSEQ, which is about what ended before. It must see what another query adds at
the instant in the same instant; and if a pattern says that something is *not* there (the optional
side of OPTIONAL and EQUALSOPTIONAL, the right side of MINUS), its query must come last.

Source: "EP-SPARQL", section 4.2 (the closure of a stream under CONSTRUCT rules); stratification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI
from sensorstream.network import graph_components
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan, constant
from sensorstream.network.recursion.triple_kinds import (
    Conclusions,
    KindIndex,
    TriplesRead,
    with_conclusions,
    written,
)
from sensorstream.sparql.algebra import Construct, Query, TriplePattern


@frozen
class InstantKinds:
    """The kinds of triples that a query adds to an instant, and those it reads of it.

    ``asked`` are the kinds of which an absence matters.
    """

    adds: frozenset[TriplesRead]
    reads: frozenset[TriplesRead]
    asked: frozenset[TriplesRead]


def ends_of(query: Query, plan: Plan, conclusions: Conclusions) -> InstantKinds:
    """The kinds that a query adds and reads at the end of its intervals."""
    template = query.form.template if isinstance(query.form, Construct) else ()
    found = list(_read(plan, asked=False))
    return InstantKinds(
        with_conclusions(map(written, template), conclusions),
        frozenset(kind for kind, asked in found if not asked),
        frozenset(kind for kind, asked in found if asked),
    )


def ends_of_rules(
    templates: Iterable[TriplePattern], read: Iterable[TriplesRead], conclusions: Conclusions
) -> InstantKinds:
    """The kinds of rules over time: all that they read must be complete by then."""
    adds = with_conclusions(map(written, templates), conclusions)
    return InstantKinds(adds, frozenset(), frozenset(read))


def feeding(queries: Mapping[str, InstantKinds], rules: InstantKinds) -> frozenset[str]:
    """The queries that add to a moment what rules over time read of it."""
    index = KindIndex[None]()
    for kind in rules.asked:
        index.add(kind, None)
    return frozenset(
        name
        for name, ends in queries.items()
        if any(True for kind in ends.adds for _ in index.meeting(kind))
    )


def strata(
    queries: Mapping[str, InstantKinds], rules: InstantKinds | None = None
) -> dict[str | None, int]:
    """The stratum of each query: it gets an instant after all lower ones are done with it.

    The stratum of None is the one of all rules over time together, which have an order of their
    own. Raises UnsupportedQuery if what a query adds depends on its own absence at the same moment.
    """
    everything: dict[str | None, InstantKinds] = dict(queries.items())
    if rules is not None:
        everything[None] = rules
    adding = KindIndex[str | None]()
    for name, ends in everything.items():
        for kind in ends.adds:
            adding.add(kind, name)
    # The queries that each must not come before (0), and must come after (1).
    waits = dict[str | None, dict[str | None, int]]()
    for name, ends in everything.items():
        waits[name] = dict.fromkeys(_adding(adding, ends.reads), 0)
        waits[name].update(dict.fromkeys(_adding(adding, ends.asked), 1))
    if rules is not None:
        waits[None].pop(None, None)

    def check(members: list[str | None]) -> None:
        for name in members:
            for other in sorted(waits[name].keys() & members, key=str):
                if waits[name][other]:
                    raise _refusal(name, other)

    return graph_components.strata(everything, lambda name: waits[name].items(), check)


def _adding(index: KindIndex[str | None], kinds: Iterable[TriplesRead]) -> set[str | None]:
    return {name for kind in kinds for name in index.meeting(kind)}


def _refusal(name: str | None, other: str | None) -> UnsupportedQuery:
    one, another = ("a rule over time" if each is None else f"'{each}'" for each in (name, other))
    return UnsupportedQuery(
        f"{one} asks whether something is absent that {another} adds at the "
        "same moment, and that depends on it in turn: let SEQ or OPTIONALSEQ "
        "stand between them, so that only what was there before is asked for"
    )


def _read(plan: Plan, *, asked: bool) -> Iterator[tuple[TriplesRead, bool]]:
    """The kinds of triples that may end a solution, and whether their absence matters."""
    match plan:
        case plans.Occurrence(_, predicate, object_):
            yield (
                TriplesRead(predicate if isinstance(predicate, IRI) else None, constant(object_)),
                asked,
            )
        case plans.SeqPlan(left, right):
            yield from _read(right, asked=asked)
            yield from _asked(left)
        case plans.LeftJoinPlan(mandatory, optional, operator="OPTIONALSEQ"):
            yield from _read(mandatory, asked=asked)
            yield from _asked(optional)
        case plans.SlicePlan(source) | plans.GroupPlan(source):
            # Other rows that end at the moment decide which are the first, or what a group is.
            yield from _read(source, asked=True)
        case plans.LeftJoinPlan(one, other) | plans.MinusPlan(one, other) | plans.Mark(one, other):
            yield from _read(one, asked=asked)
            yield from _read(other, asked=True)
        case _:
            for each in plan.inputs:
                yield from _read(each, asked=asked)


def _asked(past: Plan) -> Iterator[tuple[TriplesRead, bool]]:
    """The kinds in a part about the past whose absence matters, each time something ends there."""
    return (each for each in _read(past, asked=False) if each[1])
