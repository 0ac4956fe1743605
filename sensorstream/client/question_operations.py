"""Operations: messages, questions and continuous queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from sensorstream.client.operation import (
    ARROW,
    SOLUTIONS,
    Options,
    given,
    json_object,
    listed,
    media_type,
    nothing,
    operation,
    params,
    read_arrow,
    read_solutions,
    read_table,
    text_of,
)
from sensorstream.client.results import QueryGraph, QueryPlan, Results
from sensorstream.installation import require

if TYPE_CHECKING:
    import httpx

_SPARQL: Final = "application/sparql-query"


class AskedMessages(TypedDict, total=False):
    """A choice of messages; None is any. Received from ``since`` on and before ``until``, which are
    aware times; ``text``: up to 8 words that stand in the message, ``"…"`` is one word.
    """

    status: str | None
    source: str | None
    since: datetime | None
    until: datetime | None
    text: str | None


class AskedOf(TypedDict, total=False):
    """The data that a query asks: ``on`` is ``cache`` (also by default), ``history``, ``all`` or
    ``archive``. In history: the statements that held at a time (``at``) or at any time of
    ``start/end`` (``during``), as the deployment's time line writes them; None: that ever held.
    """

    on: str
    at: str | None
    during: str | None


def asked(text: str, accept: str | None, scope: AskedOf) -> Options:
    """The options of a request with a SPARQL query."""
    headers = {"Content-Type": _SPARQL, **({} if accept is None else {"Accept": accept})}
    told = params(**{"on": "cache", **scope})
    return {**told, "content": text.encode(), "headers": headers}


def _text_and_type(response: httpx.Response) -> tuple[str, str]:
    return media_type(response), response.text


def _job_rows(response: httpx.Response) -> Results:
    if media_type(response) != SOLUTIONS:
        return read_table(response)
    document = json_object(response)
    if "boolean" in document:
        return Results(("boolean",), ((bool(document["boolean"]),),))
    return read_solutions(response)


def _key(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


class QuestionCalls:
    """Messages, questions and continuous queries."""

    @operation("POST /messages", "ingest", json_object)
    def send(
        self, message: bytes | str, source: str | None = None, *, key: str | None = None
    ) -> Options:
        """Send an XML message of a source and return its outcome. With an idempotency ``key`` it
        may be sent again: it is taken once.
        """
        plain = isinstance(message, bytes)
        # A text is sent in UTF-8, whatever its XML declaration says.
        kind = "application/xml" if plain else "application/xml; charset=utf-8"
        content = message if isinstance(message, bytes) else message.encode()
        headers = {"Content-Type": kind, **_key(key)}
        return {**params(source=source), "content": content, "headers": headers}

    @operation("POST /messages/batch", "ingest", listed("results"))
    def send_batch(
        self, messages: Sequence[str], source: str | None = None, *, key: str | None = None
    ) -> Options:
        """Send many XML messages in order; each has an ``outcome`` or a ``problem``. With an
        idempotency ``key`` they may be sent again: each is taken once.
        """
        return {**params(source=source), "json": list(messages), "headers": _key(key)}

    @operation("GET /messages", "read", listed("messages"))
    def messages(
        self, limit: int = 100, before: int | None = None, **chosen: Unpack[AskedMessages]
    ) -> Options:
        """The newest messages below a ``seq``, newest first; see :class:`AskedMessages`."""
        return params(**chosen, limit=limit, before=before)

    @operation("GET /messages", "read", json_object)
    def messages_page(
        self, limit: int = 100, before: int | None = None, **chosen: Unpack[AskedMessages]
    ) -> Options:
        """The same as ``messages``, with the path of the ``next`` page or None. A search with
        ``text`` looks at a number of messages at a time: a page may be empty, and have a next one.
        """
        return params(**chosen, limit=limit, before=before)

    @operation("GET /messages/counts", "read", json_object)
    def message_counts(self, parts: int = 60, **chosen: Unpack[AskedMessages]) -> Options:
        """The numbers of messages by status, in ``parts`` of so many ``seconds``, from the
        ``oldest`` that was looked at (None: all were); see :class:`AskedMessages`.
        """
        return params(**chosen, parts=parts)

    @operation("GET /messages/{id}", "read", json_object)
    def message(self, message_id: str) -> None:
        """The outcome and the later life of a message."""

    @operation("GET /messages/{id}/content", "read", lambda response: response.content)
    def message_content(self, message_id: str) -> None:
        """The content of a message, as it came."""

    @operation("POST /sparql", "ask", read_solutions)
    def query(self, text: str, **scope: Unpack[AskedOf]) -> Options:
        """The solutions of a SELECT query over the knowledge base; see :class:`AskedOf`."""
        return asked(text, SOLUTIONS, scope)

    @operation("POST /sparql", "ask", lambda answer: bool(json_object(answer)["boolean"]))
    def ask(self, text: str, **scope: Unpack[AskedOf]) -> Options:
        """The answer to an ASK query over the knowledge base; see :class:`AskedOf`."""
        return asked(text, SOLUTIONS, scope)

    @operation("POST /sparql", "ask", text_of)
    def construct(
        self, text: str, accept: str = "application/n-triples", **scope: Unpack[AskedOf]
    ) -> Options:
        """The graph of a CONSTRUCT or DESCRIBE query, in a format; see :class:`AskedOf`."""
        return asked(text, accept, scope)

    @operation("POST /sparql", "ask", _text_and_type)
    def _sparql(self, text: str, accept: str, **scope: Unpack[AskedOf]) -> Options:
        """Ask any query; returns the media type of the answer, and its text."""
        return asked(text, accept, scope)

    @operation("POST /sparql/plan", "ask", lambda answer: QueryPlan(json_object(answer)))
    def plan(self, text: str, **scope: Unpack[AskedOf]) -> Options:
        """The plan of a query: ``algebra``, ``sql`` and ``plan``, each as lines."""
        return asked(text, None, scope)

    @operation("POST /sql", "ask", read_table)
    def sql(self, text: str, *, on: str = "history") -> Options:
        """The rows of an SQL query over ``history`` or its ``archive``."""
        return {**params(on=on), "json": {"query": text}}

    @operation("POST /sql", "ask", read_arrow)
    def sql_arrow(self, text: str, *, on: str = "history") -> Options:
        """The rows of an SQL query over history, as an Arrow table (extra "frames").

        Raises:
            MissingExtra: the extra "frames" is not installed.
        """
        require("frames", "an Arrow table")
        return {**params(on=on), "json": {"query": text}, "headers": {"Accept": ARROW}}

    @operation("POST /queries", "operate", json_object)
    def register(self, text: str, name: str | None = None) -> Options:
        """Start a continuous query; returns its name and present state."""
        headers = {"Content-Type": _SPARQL}
        return {**params(name=name), "content": text.encode(), "headers": headers}

    @operation("DELETE /queries/{name}", "operate", nothing)
    def unregister(self, name: str) -> None:
        """Stop a continuous query."""

    @operation("GET /queries", "read", listed("queries"))
    def queries(self) -> None:
        """The continuous queries, in the order of their registration."""

    @operation("GET /queries/{name}", "read", json_object)
    def query_state(self, name: str) -> None:
        """A continuous query as it is now."""

    @operation("GET /queries/{name}/graph", "read", lambda answer: QueryGraph(json_object(answer)))
    def query_graph(self, name: str, key: str | None = None) -> Options:
        """The operators of a continuous query with their counters; ``key``: see :meth:`results`."""
        return params(key=key)

    @operation("GET /queries/{name}/results", "read", read_solutions)
    def results(self, name: str, key: str | None = None) -> Options:
        """The whole result of a continuous SELECT query as it is now. On Spark ``key`` is the key
        whose engine is asked; None: all are, or the only one.
        """
        return {"headers": {"Accept": SOLUTIONS}, **params(key=key)}

    @operation("GET /queries/{name}/results", "read", _text_and_type)
    def _answer(self, name: str, accept: str, key: str | None = None) -> Options:
        """The result of a continuous query as it is now: the media type and the text."""
        return {"headers": {"Accept": accept}, **params(key=key)}

    # The first request begins a record, which costs something at every instant.
    @operation("GET /queries/{name}/step", "look", listed("instants"))
    def steps(self, name: str, last: int = 10, key: str | None = None) -> Options:
        """The last recorded instants of a query, operator by operator; the first call begins it.
        ``key``: see :meth:`results`.
        """
        return params(last=last, key=key)

    @operation("DELETE /queries/{name}/step", "operate", nothing)
    def end_steps(self, name: str, key: str | None = None) -> Options:
        """End the record of instants of a query; ``key``: see :meth:`results`."""
        return params(key=key)

    @operation("POST /jobs", "start", json_object)
    def start_job(
        self,
        text: str,
        language: str = "sql",
        *,
        at: str | None = None,
        during: str | None = None,
        plan: bool = False,
        output: str | None = None,
    ) -> Options:
        """Put a long question to Spark into the server's queue; returns the job, with its ``id``.
        ``language`` is ``sql`` or ``sparql``. With ``plan`` the result is not the answer, but
        Spark's plan for it: rows of ``part`` and ``text``. ``output`` is a folder or an address
        for Spark's executors to write the answer to, as Parquet or CSV by the end of its name.
        """
        told = given(language=language, text=text, at=at, during=during, plan=plan, output=output)
        return {"json": told}

    @operation("GET /jobs", "read", listed("jobs"))
    def jobs(self) -> None:
        """The jobs that the server keeps, newest first."""

    @operation("GET /jobs/{job_id}", "read", json_object)
    def job(self, job_id: str) -> None:
        """A job: its ``state``, its ``progress``, the ``rows`` of its answer, its ``error``."""

    @operation("DELETE /jobs/{job_id}", "start", nothing)
    def delete_job(self, job_id: str) -> None:
        """End a job, if it has not ended, and forget it with its result."""

    @operation("GET /jobs/{job_id}/result", "read", _job_rows)
    def job_results(self, job_id: str) -> Options:
        """The rows of a job that is done; if it failed, its error is raised. ASK gives one row with
        the column ``boolean``; a graph has no rows, see ``GET /jobs/{id}/result``.
        """
        return {"headers": {"Accept": f"{SOLUTIONS}, application/json;q=0.9"}}

    @operation("GET /jobs/{job_id}/result", "read", read_arrow)
    def job_arrow(self, job_id: str) -> Options:
        """The rows of a job that is done, as an Arrow table (extra "frames").

        Raises:
            MissingExtra: the extra "frames" is not installed.
        """
        require("frames", "an Arrow table")
        return {"headers": {"Accept": ARROW}}
