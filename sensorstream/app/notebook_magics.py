"""The magics of notebooks: ``%sensorstream``, ``%%sensorstream`` and ``%%sparql``."""

from __future__ import annotations

import json
from io import BytesIO
from threading import Lock
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class

from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import CacheQuestion, Formats
from sensorstream.app.rdflib_graphs import to_graph
from sensorstream.app.recorded_engine import graph_of
from sensorstream.client.clients import Client
from sensorstream.client.results import QueryGraph, Results
from sensorstream.engine.engine import Engine
from sensorstream.errors import SettingsError
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.stopping import Stop
from sensorstream.settings.settings import LimitSettings
from sensorstream.sparql.algebra import Ask, Select
from sensorstream.sparql.query_parser import parse_query

_JSON: Final = "application/sparql-results+json"
_FORMATS: Final = Formats(_JSON, _JSON, "application/n-triples")


def answer_of(cache: Cache, text: str) -> Any:
    """The answer to a SPARQL query over all that an engine knows now: `Results`, a truth value or a
    graph of rdflib.
    """
    out = BytesIO()
    cache.ask(CacheQuestion(text, _FORMATS), out, Stop())
    written = out.getvalue()
    if not written.startswith(b"{"):
        return to_graph(written.decode())
    found = json.loads(written)
    return found["boolean"] if "boolean" in found else Results.of_document(found)


@magics_class
class NotebookMagics(Magics):
    """They ask one engine or server, which ``%sensorstream`` has chosen."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._variables = shell.user_ns
        self._target: Engine | Client | None = None
        self._cache: Cache | None = None

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
            self._choose(chosen)
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
            assert self._cache is not None
            answer = answer_of(self._cache, cell)
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

    def _choose(self, target: Engine | Client) -> None:
        if self._cache is not None:
            self._cache.close()
        self._target, self._cache = target, None
        if isinstance(target, Engine):
            limits = LimitSettings()
            most = limits.question_seconds, limits.question_memory, limits.question_rows
            self._cache = Cache(target.kb, Lock(), QuestionLimits(*most))

    def _chosen(self) -> Engine | Client:
        if self._target is None:
            raise SettingsError("expected '%sensorstream URL', or VARIABLE, before this")
        return self._target
