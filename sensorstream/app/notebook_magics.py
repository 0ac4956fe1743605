"""The magics of notebooks: ``%sensorstream``, ``%%sensorstream`` and ``%%sparql``."""

from __future__ import annotations

import json
from typing import Any, cast

import pyoxigraph as ox
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class

from sensorstream.app.rdflib_graphs import known_triples, to_graph
from sensorstream.app.recorded_engine import graph_of
from sensorstream.client.clients import Client
from sensorstream.client.results import QueryGraph, Results
from sensorstream.engine.engine import Engine
from sensorstream.errors import SettingsError
from sensorstream.reasoning.ontology import to_ntriples
from sensorstream.sparql.algebra import Ask, Select
from sensorstream.sparql.query_parser import parse_query


def answer_of(engine: Engine, text: str) -> Any:
    """The answer to a SPARQL query over all that an engine knows now: `Results`, a truth value or a
    graph of rdflib. It reads the whole knowledge base.
    """
    store = ox.Store()
    store.bulk_load(to_ntriples(known_triples(engine)), format=ox.RdfFormat.N_TRIPLES)
    answer = store.query(text)
    if isinstance(answer, ox.QueryBoolean):
        return bool(answer)
    if isinstance(answer, ox.QueryTriples):
        return to_graph(cast(bytes, answer.serialize(format=ox.RdfFormat.N_TRIPLES)).decode())
    told = cast(bytes, answer.serialize(format=ox.QueryResultsFormat.JSON))
    return Results.of_document(json.loads(told))


@magics_class
class NotebookMagics(Magics):
    """They ask one engine or server, which ``%sensorstream`` has chosen."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._variables = shell.user_ns
        self._target: Engine | Client | None = None

    @line_cell_magic
    def sensorstream(self, line: str, cell: str | None = None) -> QueryGraph | None:
        """``%sensorstream URL`` or ``%sensorstream VARIABLE`` chooses a server, or an engine or a
        client; a cell below ``%%sensorstream NAME`` becomes the continuous query of that name, in
        place of the one before, and its operators are shown.
        """
        given = line.strip()
        if cell is None:
            chosen = self._variables.get(given) or (Client(given) if "://" in given else None)
            if not isinstance(chosen, Engine | Client):
                raise SettingsError(
                    f"'{given}': expected the URL of a server, or the name of a variable with an "
                    "Engine or a Client"
                )
            self._target = chosen
            return None
        target = self._chosen()
        if isinstance(target, Engine):
            if given in target.queries.processor.queries:
                target.unregister(given)
            target.register(given, cell)
            return graph_of(target, given)
        if any(each["name"] == given for each in target.queries()):
            target.unregister(given)
        return target.query_graph(target.register(cell, given)["name"])

    @cell_magic
    def sparql(self, line: str, cell: str) -> Any:
        """Ask a query; ``%%sparql VARIABLE`` also keeps the answer in a variable. SELECT gives
        `Results`, ASK a truth value, CONSTRUCT and DESCRIBE a graph of rdflib.
        """
        target = self._chosen()
        if isinstance(target, Engine):
            answer = answer_of(target, cell)
        else:
            form = parse_query(cell).form
            if isinstance(form, Select):
                answer = target.query(cell)
            elif isinstance(form, Ask):
                answer = target.ask(cell)
            else:
                answer = to_graph(target.construct(cell))
        if name := line.strip():
            self._variables[name] = answer
        return answer

    def _chosen(self) -> Engine | Client:
        if self._target is None:
            raise SettingsError("expected '%sensorstream URL', or VARIABLE, before this")
        return self._target
