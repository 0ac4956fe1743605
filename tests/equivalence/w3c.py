"""The texts of the W3C's suites, each on every engine that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sensorstream.sparql.algebra import Query
from tests.archive.sparql.world import World as ArchiveWorld
from tests.equivalence import engines
from tests.equivalence.canonical import quads_text, result_text
from tests.equivalence.items import Item, Tools, absent
from tests.history.sparql.w3c import answer_of_history
from tests.history.sparql.world import World
from tests.network.test_exact_values import answer as answer_of_cache
from tests.w3c.checks import printed, read
from tests.w3c.manifests import SUITES, QueryCase, SyntaxCase, UpdateCase, cases, query_cases
from tests.w3c.network import answer_of_network, files, triple_of
from tests.w3c.oxigraph import after
from tests.w3c.results import Result, parse_graph


def texts(_: Tools) -> Iterator[Item]:
    """What is read of each text, as it is printed; of an update, the data after it."""
    yield from absent("w3c", SUITES)
    for case in cases():
        update = isinstance(case, UpdateCase) or (isinstance(case, SyntaxCase) and case.update)
        yield Item(case.label, lambda case=case, update=update: printed(read(case, update=update)))  # type: ignore[misc]
        if isinstance(case, UpdateCase):
            yield Item(f"{case.label}/after", partial(_after, case))


def _after(case: UpdateCase) -> str:
    return quads_text(after(case, printed(read(case, update=True))))


def answers(tools: Tools) -> Iterator[Item]:
    """Each query on the network, the cache, PostgreSQL and DuckDB."""
    yield from absent("w3c", SUITES)
    if not query_cases():
        return
    world, archived = World(tools.new_database()), ArchiveWorld()
    tools.stack.callback(world.close)
    tools.stack.callback(archived.close)
    asked: dict[str, Callable[[QueryCase, Query], Result]] = {
        "network": lambda case, query: answer_of_network(case, query)[0],
        "cache": answer_of_cache,
        "postgresql": partial(answer_of_history, world=world),
        "duckdb": partial(answer_of_history, world=archived),
    }
    for case in query_cases():
        for name, ask in asked.items():
            yield Item(f"{name}/{case.label}", partial(_answer, case, ask))


def _answer(case: QueryCase, ask: Callable[[QueryCase, Query], Result]) -> str:
    query = read(case, update=False)
    assert isinstance(query, Query)
    return result_text(ask(case, query), case.text.read_text("utf-8"))


def of_spark(tools: Tools) -> Iterator[Item]:
    """Each query about one graph on Spark: their data are one history, true one after the other."""
    yield from absent("w3c", SUITES)
    chosen = [case for case in query_cases() if _is_of_one_graph(case)]
    slices = [
        [triple_of(quad) for file in case.data.default for quad in parse_graph(file)]
        for case in chosen
    ]
    history = engines.past(tools, slices)
    for place, case in enumerate(chosen):
        text = f"BASE <{case.base}>\n{case.text.read_text('utf-8')}"
        time = engines.at(place)
        yield from engines.question_items(case.label, text, history.engines(spark=True), time=time)


def _is_of_one_graph(case: QueryCase) -> bool:
    query = read(case, update=False)
    assert isinstance(query, Query)
    plain = not query.dataset.default and not query.dataset.named
    return plain and all(name is None for name, _ in files(case, query))
