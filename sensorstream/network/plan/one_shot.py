"""A pattern as a query for an evaluator that knows one set of named graphs, and no windows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyoxigraph as ox

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.network.exact_values import repeated
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.query_sources import TripleSource
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Query, Variable
from sensorstream.sparql.walk import replaced


def check_one_shot(plan: Anew) -> None:
    """Raise UnsupportedQuery, with the reason, if Oxigraph cannot read the query."""
    names = {each: IRI(f"urn:sensorstream:copy:{n}") for n, each in enumerate(plan.sources)}
    try:
        store = ox.Store()
        repeated(one_shot(plan, names))(store).answer(store)
    except (UnsupportedQuery, QueryError) as error:
        raise UnsupportedQuery(
            f"it cannot be kept in step ({plan.reason}), nor evaluated anew: {error.message}",
            part=plan.part,
        ) from None


def one_shot(plan: Anew, names: Mapping[TripleSource, IRI]) -> Query:
    """The query of a plan; ``names`` are those of the graphs that hold its sources."""
    pattern = plan.pattern
    if not isinstance(pattern, algebra.Project):
        pattern = algebra.Project(pattern, tuple(map(Variable, plan.variables)))
    graphs = {name: names[source] for name, source in plan.graphs}
    windows = {name: names[source] for name, source in plan.windows}
    return Query(algebra.Select(_renamed(pattern, graphs, windows)), base=plan.base)


def _renamed(pattern: Pattern, graphs: Mapping[IRI, IRI], windows: Mapping[IRI, IRI]) -> Pattern:
    def change(node: object) -> object | None:
        match node:
            case algebra.Window(IRI() as name, inner):
                return algebra.Graph(windows[name], _renamed(inner, graphs, windows))
            case algebra.Graph(IRI() as name, inner):
                # A graph that is not given keeps its name: the store has no such graph.
                return algebra.Graph(graphs.get(name, name), _renamed(inner, graphs, windows))
            case algebra.Graph(Variable() as variable, inner):
                # All graphs of the store have other names, and some are windows.
                ways: list[Pattern] = [
                    algebra.Join(
                        algebra.Values((variable,), ((name,),)),
                        algebra.Graph(copy, _renamed(inner, graphs, windows)),
                    )
                    for name, copy in graphs.items()
                ]
                nothing = algebra.Join(algebra.Values((variable,), ()), inner)
                return reduce(algebra.Union, ways) if ways else nothing
        return None

    return replaced(pattern, change)
