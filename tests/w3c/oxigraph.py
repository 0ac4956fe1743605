"""The suites' tests on Oxigraph, by any text that is to mean what the test's own text means."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

from tests.w3c.manifests import Data, QueryCase, UpdateCase
from tests.w3c.results import Result, actual, parse_graph


def store_of(data: Data, more: Iterable[tuple[str, Path]] = ()) -> ox.Store:
    """A store with the data of a test, and named graphs besides."""
    store = ox.Store()
    for file in data.default:
        store.extend(parse_graph(file))
    for name, file in (*data.named, *more):
        graph = ox.NamedNode(name)
        store.extend(
            ox.Quad(quad.subject, quad.predicate, quad.object, graph) for quad in parse_graph(file)
        )
    return store


def answer(case: QueryCase, text: str, named_by_text: Iterable[str] = ()) -> Result:
    """What Oxigraph answers to ``text`` on the data of a test.

    ``named_by_text`` are the graphs that the text takes with FROM: files beside the test's.
    """
    files = [(iri, case.text.parent / iri.rpartition("/")[2]) for iri in named_by_text]
    return actual(store_of(case.data, files).query(text, base_iri=case.base))


def after(case: UpdateCase, text: str) -> ox.Store:
    """The store of a test after the update ``text``."""
    store = store_of(case.before)
    store.update(text, base_iri=case.base)
    return store
