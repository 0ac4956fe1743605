"""Plans of conditions, kept: an engine with the same rules builds its network only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from sensorstream.errors import NotIncremental
from sensorstream.kb.graph_index import GRAPH_MARKS
from sensorstream.model.terms import IRI
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.sources import DEFAULT, Source, Sources
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.rules.given import GIVEN, with_given
from sensorstream.rules.keyed import with_keys
from sensorstream.sparql.algebra import Dataset, Graph, Pattern, Project, Variable
from sensorstream.sparql.walk import nodes

_PLANS: Final = 1024
"""Plans that are kept."""


@lru_cache(maxsize=_PLANS)
def planned(query: ConditionQuery, names: frozenset[str]) -> tuple[Plan, Sources]:
    """The plan of a condition for which some variables are given.

    Raises:
        NotIncremental, UnsupportedQuery, QueryError: it cannot be kept in step.
    """
    pattern = with_given(query.query.form.pattern, names)
    if query.asks:
        pattern = Project(pattern, ())
    return _planned(query, pattern, Source((query, names), "the values given"))


@lru_cache(maxsize=_PLANS)
def planned_for_keys(query: ConditionQuery) -> tuple[Plan, Sources]:
    """The plan that finds the keys for which a condition has a solution.

    Raises:
        NotIncremental, UnsupportedQuery, QueryError: it cannot be kept in step.
    """
    pattern = with_keys(query.query.form.pattern, query.given)
    return _planned(query, pattern, Source((query, "keys"), "what may end"))


def _planned(query: ConditionQuery, pattern: Pattern, given: Source) -> tuple[Plan, Sources]:
    asked = query.query
    default, named = _graphs_of(asked.dataset, pattern)
    sources = Sources(
        default,
        {name: Source(name, f"graph <{name}>") for name in named},
        {GIVEN: given},
    )
    return plan_in_step(pattern, sources, asked.base), sources


def _graphs_of(dataset: Dataset, pattern: Pattern) -> tuple[Source, Sequence[IRI]]:
    """The default graph of a query, and the graphs that GRAPH may match."""
    default, known = DEFAULT, set(GRAPH_MARKS)
    if dataset.default or dataset.named:
        if len(dataset.default) > 1:
            raise NotIncremental("FROM with several graphs")
        default = Source(dataset.default[0] if dataset.default else "empty", "graph of FROM")
        known.intersection_update(dataset.named)
    names = {each.name for each in nodes(pattern) if isinstance(each, Graph)}
    if not any(isinstance(name, Variable) for name in names):
        known.intersection_update(names)
    return default, sorted(known)
