"""A client for programs with asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import httpx

from sensorstream.client import calls, jobs, operation, versions, webhooks
from sensorstream.client.calls import Call
from sensorstream.client.operation import Chosen, ChosenAbove, OntologyInForce
from sensorstream.client.reports import EventReader, QueryReport, ReportReader, SentEvent
from sensorstream.client.results import Results
from sensorstream.client.versions import Kind

if TYPE_CHECKING:
    import pyarrow

Answer = TypeVar("Answer")


def local(socket: Path) -> httpx.AsyncHTTPTransport:
    """The way to a server on this machine: without TLS, whose certificates are a megabyte each."""
    return httpx.AsyncHTTPTransport(uds=str(socket), verify=False)


class AsyncClient:
    """One server; keeps its connections open. Use as an asynchronous context manager.

    The methods, and what they raise, are those of :class:`.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = calls.TIMEOUT,
        key: str = "",
        ca: str | Path | None = None,
        socket: Path | None = None,
    ) -> None:
        """``timeout`` is in seconds and applies to each request; ``key`` is an API key or a token.

        ``ca`` is a file (PEM) with the certificates to trust instead of those of the system,
        ``socket`` a Unix socket to connect to instead of the URL's host and port.

        Raises:
            SettingsError: ``ca`` cannot be read, or the key is not one line of plain characters.
        """
        self.url = url.rstrip("/")
        # trust_env off: a proxy of the environment must not be used for localhost.
        self._http = httpx.AsyncClient(
            base_url=self.url,
            timeout=timeout,
            trust_env=False,
            transport=None if socket is None else local(socket),
            **calls.credentials(key, ca),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(
        self, message: bytes | str, source: str | None = None, *, key: str | None = None
    ) -> dict[str, Any]:
        """Send one XML message of a source; its outcome.

        With an idempotency ``key`` it may be sent again: it is taken once.
        """
        return await self._do(calls.send(message, source, key))

    async def send_batch(
        self, messages: Sequence[str], source: str | None = None, *, key: str | None = None
    ) -> list[dict[str, Any]]:
        """Send many XML messages in order; each has an ``outcome`` or a ``problem``.

        With an idempotency ``key`` they may be sent again: each is taken once.
        """
        return await self._do(calls.send_batch(messages, source, key))

    async def query(
        self, text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
    ) -> Results:
        """The solutions of a SELECT query over the knowledge base; see :class:`.calls.Scope`."""
        return await self._do(calls.query(text, calls.Scope(on, at, during)))

    async def ask(
        self, text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
    ) -> bool:
        """The answer to an ASK query over the knowledge base; see :class:`.calls.Scope`."""
        return await self._do(calls.ask(text, calls.Scope(on, at, during)))

    async def construct(
        self,
        text: str,
        accept: str = "application/n-triples",
        *,
        on: str = "cache",
        at: str | None = None,
        during: str | None = None,
    ) -> str:
        """The graph of a CONSTRUCT query, in a format; see :class:`.calls.Scope`."""
        return await self._do(calls.construct(text, accept, calls.Scope(on, at, during)))

    async def plan(
        self, text: str, *, on: str = "cache", at: str | None = None, during: str | None = None
    ) -> dict[str, Any]:
        """How a query would be answered: ``algebra``, ``sql`` and ``plan``, each of lines."""
        return await self._do(calls.plan(text, calls.Scope(on, at, during)))

    async def sql(self, text: str, *, on: str = "history") -> Results:
        """The rows of an SQL query over ``history`` or its ``archive``."""
        return await self._do(calls.sql(text, on))

    async def sql_arrow(self, text: str, *, on: str = "history") -> pyarrow.Table:
        """All rows of an SQL query over history, as an Arrow table (extra "frames")."""
        return await self._do(calls.sql_arrow(text, on))

    async def start_job(
        self,
        text: str,
        language: str = "sql",
        *,
        at: str | None = None,
        during: str | None = None,
        plan: bool = False,
    ) -> dict[str, Any]:
        """Put a long question to Spark into the server's queue; the job, with its ``id``.

        ``language`` is ``sql`` or ``sparql``. With ``plan`` the result is not the answer, but how
        Spark would find it: rows of ``part`` and ``text``.
        """
        return await self._do(jobs.start_job(text, language, at, during, plan))

    async def jobs(self) -> list[dict[str, Any]]:
        """All jobs that the server keeps, newest first."""
        return await self._do(jobs.jobs())

    async def job(self, job_id: str) -> dict[str, Any]:
        """One job: its ``state``, its ``progress``, the ``rows`` of its answer, its ``error``."""
        return await self._do(jobs.job(job_id))

    async def delete_job(self, job_id: str) -> None:
        """End a job, if it has not ended, and forget it with its result."""
        await self._do(jobs.delete_job(job_id))

    async def job_results(self, job_id: str) -> Results:
        """The rows of a job that is done; if it failed, its error is raised.

        Of ASK it is one row with the column ``boolean``; of a graph there are no rows, see
        ``GET /jobs/{id}/result``.
        """
        return await self._do(jobs.job_results(job_id))

    async def job_arrow(self, job_id: str) -> pyarrow.Table:
        """The rows of a job that is done, as an Arrow table (extra "frames")."""
        return await self._do(jobs.job_arrow(job_id))

    async def register(self, text: str, name: str | None = None) -> dict[str, Any]:
        """Start a continuous query; its name and present state."""
        return await self._do(calls.register(text, name))

    async def unregister(self, name: str) -> None:
        """Stop a continuous query."""
        await self._do(calls.unregister(name))

    async def queries(self) -> list[dict[str, Any]]:
        """All continuous queries, in the order of their registration."""
        return await self._do(calls.queries())

    async def query_graph(self, name: str) -> dict[str, Any]:
        """The operators of a continuous query with their counters."""
        return await self._do(calls.query_graph(name))

    async def query_state(self, name: str) -> dict[str, Any]:
        """A continuous query as it is now."""
        return await self._do(calls.query_state(name))

    async def steps(self, name: str, last: int = 10) -> list[dict[str, Any]]:
        """The last recorded instants of a query, operator by operator; the first call begins it."""
        return await self._do(calls.steps(name, last))

    async def end_steps(self, name: str) -> None:
        """End the record of instants of a query."""
        await self._do(calls.end_steps(name))

    async def results(self, name: str) -> Results:
        """The whole result of a continuous SELECT query as it is now."""
        return await self._do(calls.results(name))

    async def follow(self, name: str, after: str | None = None) -> AsyncIterator[QueryReport]:
        """The reports of a continuous query as they arrive, until it is removed.

        ``after`` is the id of the last known report; "" starts with the oldest kept report, None
        with the next report. Ends with the connection: continue with the last id.
        """
        reader = ReportReader((await self._do(calls.query_state(name)))["variables"])
        async for event in self._events(calls.reports_path(name), after):
            report = reader.report(event)
            if report is not None:
                yield report
            if reader.ended:
                return

    async def alerts(self, limit: int = 1000, before: int | None = None) -> list[dict[str, Any]]:
        """The newest alerts that the server keeps, newest first, with ``seq`` below ``before``."""
        return await self._do(operation.alerts(limit, before))

    async def follow_alerts(
        self, after: str | None = None, changes: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Alerts as they arrive; ``after`` as for :meth:`follow`, with the ``seq`` of an alert.

        With ``changes`` not each alert, but what becomes of open ones, each with its ``seq``.
        """
        async for event in self._events(calls.alerts_path(changes), after):
            yield event.data

    async def alert_messages(self, id_: str, limit: int = 100, after: int = 0) -> dict[str, Any]:
        """An alert, and a page of the messages that led to it, with ``seq`` above ``after``."""
        return await self._do(operation.alert_messages(id_, limit, after))

    async def why(self, id_: str) -> dict[str, Any]:
        """Why an alert was raised: its rule, what that found, and where in which message."""
        return await self._do(operation.why(id_))

    async def why_statement(self, statement: str) -> dict[str, Any]:
        """Why a statement holds: who said it, or by which rules it follows.

        ``statement`` is as in Turtle, with the prefixes of the rule files: ``:ann a :Person``.
        """
        return await self._do(operation.why_statement(statement))

    async def why_not(self, rule: str, individual: str, variable: str = "") -> dict[str, Any]:
        """What keeps a rule from firing for an individual (an IRI), as things are now."""
        return await self._do(operation.why_not(rule, individual, variable))

    async def alerts_in(
        self, state: str, limit: int = 1000, before: int | None = None
    ) -> list[dict[str, Any]]:
        """What is ``open``, ``acknowledged`` or ``cleared``: alerts of one rule and key together.

        The last opened first, with ``seq`` below ``before``.
        """
        return await self._do(operation.alerts_in(state, limit, before))

    async def alert(self, id_: str) -> dict[str, Any]:
        """The state of what an alert belongs to, and how often it was raised."""
        return await self._do(operation.alert(id_))

    async def alert_history(self, id_: str, limit: int = 100, after: int = 0) -> dict[str, Any]:
        """A page of what became of an alert, oldest first, with ``seq`` above ``after``."""
        return await self._do(operation.alert_history(id_, limit, after))

    async def acknowledge(self, id_: str, text: str = "") -> dict[str, Any]:
        """Say that somebody sees to an alert."""
        return await self._do(operation.change_alert(id_, "acknowledge", {"text": text}))

    async def clear_alert(self, id_: str, text: str = "") -> dict[str, Any]:
        """Say that what an alert told of has ended."""
        return await self._do(operation.change_alert(id_, "clear", {"text": text}))

    async def comment(self, id_: str, text: str) -> dict[str, Any]:
        """Add a text to the history of an alert."""
        return await self._do(operation.change_alert(id_, "comment", {"text": text}))

    async def assign(self, id_: str, to: str) -> dict[str, Any]:
        """Say who is to see to an alert; "": nobody in particular."""
        return await self._do(operation.change_alert(id_, "assign", {"to": to}))

    async def silences(self) -> list[dict[str, Any]]:
        """The silences that have not ended."""
        return await self._do(operation.silences())

    async def silence(
        self,
        ends_at: datetime,
        *,
        rule: str | None = None,
        key: str | None = None,
        severity: str | None = None,
        comment: str = "",
    ) -> dict[str, Any]:
        """Do not tell receivers of alerts that match, until ``ends_at`` (aware).

        ``*`` in ``rule`` and ``key`` is for any signs; at least one of the three is given.
        """
        body = {
            "rule": rule,
            "key": key,
            "severity": severity,
            "ends_at": ends_at.isoformat(),
            "comment": comment,
        }
        return await self._do(operation.silence(body))

    async def end_silence(self, silence_id: int) -> None:
        """Tell receivers again of what a silence matched."""
        await self._do(operation.end_silence(silence_id))

    async def webhooks(self) -> list[dict[str, Any]]:
        """All webhooks and how they do, oldest first, without their secrets."""
        return await self._do(webhooks.all_of_them())

    async def webhook(self, webhook_id: str) -> dict[str, Any]:
        """One webhook, without its secret."""
        return await self._do(webhooks.one(webhook_id))

    async def add_webhook(
        self,
        url: str,
        secret: str | None = None,
        queries: Sequence[str] = (),
        format: str | None = None,
        changes: bool = False,
        group: Mapping[str, object] | None = None,
        escalated: bool = False,
    ) -> dict[str, Any]:
        """Deliver alerts, and reports of the named queries, to a URL; the answer has the secret.

        ``format`` is ``cloudevents`` (also by default) or ``alertmanager``. With ``changes`` it is
        told of what becomes of open alerts, too; with ``group`` (``by``, ``wait``, ``interval``) of
        groups of alerts; with ``escalated`` of alerts that have escalated alone.
        """
        return await self._do(webhooks.add(url, secret, queries, format, changes, group, escalated))

    async def delete_webhook(self, webhook_id: str) -> None:
        """Stop delivering to a webhook."""
        await self._do(webhooks.delete(webhook_id))

    async def enable_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Deliver again to a webhook that was disabled."""
        return await self._do(webhooks.enable(webhook_id))

    async def rotate_secret(self, webhook_id: str, secret: str | None = None) -> dict[str, Any]:
        """Sign with another secret, which the answer has; for a day the old one signs too."""
        return await self._do(webhooks.rotate(webhook_id, secret))

    async def test_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Send a test event to a webhook; what came of it."""
        return await self._do(webhooks.test(webhook_id))

    async def deliveries(
        self,
        webhook_id: str,
        state: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[dict[str, Any]]:
        """The newest deliveries of a webhook, newest first, with an id below ``before``.

        ``state`` is ``pending``, ``delivered`` or ``dead``; None: all.
        """
        return await self._do(webhooks.deliveries(webhook_id, state, limit, before))

    async def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> int:
        """Send all dead deliveries of what was raised in a span again; how many there are."""
        return await self._do(webhooks.recover(webhook_id, since, until))

    async def resend(self, delivery_id: int) -> dict[str, Any]:
        """Send one delivery again."""
        return await self._do(webhooks.resend(delivery_id))

    async def quarantine(
        self, limit: int = 100, before: int | None = None, **chosen: Unpack[ChosenAbove]
    ) -> list[dict[str, Any]]:
        """Messages that were not taken in, or not whole, newest first."""
        return await self._do(operation.quarantine(limit, before, chosen))

    async def messages(
        self,
        limit: int = 100,
        before: int | None = None,
        *,
        status: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
    ) -> list[dict[str, Any]]:
        """The newest messages below a ``seq``, newest first; ``since`` is an aware time."""
        return await self._do(operation.messages(limit, before, status, source, since))

    async def message(self, message_id: str) -> dict[str, Any]:
        """What became of a message up to now."""
        return await self._do(operation.message(message_id))

    async def message_content(self, message_id: str) -> bytes:
        """The content of a message, as it came."""
        return await self._do(operation.message_content(message_id))

    async def replay(self, message_id: str, content: bytes | None = None) -> dict[str, Any]:
        """Take a quarantined message in anew, or another one instead of it; the outcome."""
        return await self._do(operation.replay(message_id, content))

    async def replay_all(self, limit: int = 1000, **chosen: Unpack[Chosen]) -> dict[str, Any]:
        """Take quarantined messages in anew, the oldest first, at most 1000; how it went.

        What is ``left`` is taken in by :meth:`replay_more`, with the answer's ``next``.
        """
        return await self._do(operation.replay_all(limit, chosen))

    async def replay_more(self, following: str) -> dict[str, Any]:
        """Take in anew what an answer of :meth:`replay_all` has left."""
        return await self._do(operation.replay_more(following))

    async def dismiss(self, message_id: str) -> None:
        """Take a message out of quarantine; the journal keeps it."""
        await self._do(operation.dismiss(message_id))

    async def dismiss_all(self, **chosen: Unpack[Chosen]) -> dict[str, Any]:
        """Take messages out of quarantine; how many (``dismissed``), and how many are ``left``."""
        return await self._do(operation.dismiss_all(chosen))

    async def window(self, limit: int = 10_000, offset: int = 0) -> dict[str, Any]:
        """The window's definition, its totals and a page of its individuals, oldest first."""
        return await self._do(operation.window(limit, offset))

    async def individual(self, iri: str, *, rules: bool = False) -> dict[str, Any]:
        """An individual: of each property the values it has in the window, or had last.

        With ``rules``, inferred values of now have the rule that derives them.
        """
        return await self._do(operation.individual(iri, rules=rules))

    async def latest(self, class_: str, limit: int = 100, after: str = "") -> dict[str, Any]:
        """A page of the individuals of a class with their latest values.

        ``after`` is that of the page before; None there: it was the last page.
        """
        return await self._do(operation.latest(class_, limit, after))

    async def rules(self) -> list[dict[str, Any]]:
        """The mapping rules and the semantic rules in force."""
        return await self._do(operation.rules())

    async def rule_files(self) -> dict[str, Any]:
        """The rule files in force: ``files``, ``origin`` and the ``digest`` of the whole set."""
        return await self._do(operation.rule_files())

    async def rule_file(self, name: str) -> str:
        """The text of a rule file in force."""
        return await self._do(operation.rule_file(name))

    async def put_rule_file(self, name: str, text: str) -> str:
        """Put a rule file in force, new or instead of the present one; the id of the change."""
        return await self._do(operation.put_rule_file(name, text))

    async def put_rule_files(self, files: Mapping[str, str], digest: str = "") -> str:
        """Put a whole set of rule files in force, texts by name; the id of the change.

        ``digest`` is that of the set that is to be replaced; empty: whatever is there.
        """
        return await self._do(operation.put_rule_files(files, digest))

    async def try_rule_files(self, files: Mapping[str, str]) -> dict[str, Any]:
        """What a whole set of rule files would change, told by recent messages; nothing is put."""
        return await self._do(operation.try_rule_files(files))

    async def try_message(
        self,
        content: str,
        files: Mapping[str, str] | None = None,
        source: str = "rest",
        *,
        after: int = 0,
    ) -> dict[str, Any]:
        """What the rules make of a message, with other texts of some files; nothing is taken in.

        So many of the last messages come first (``after``), without being told themselves.
        """
        return await self._do(operation.try_message(content, files or {}, source, after))

    async def delete_rule_file(self, name: str) -> str:
        """Take a rule file out of force; the id of the change."""
        return await self._do(operation.delete_rule_file(name))

    async def put(
        self,
        kind: Kind,
        text: bytes,
        name: str = "",
        *,
        media_type: str | None = None,
        digest: str | None = None,
    ) -> dict[str, Any]:
        """Put a rule file, a query, a webhook or the ontology in force.

        With the ``digest`` of the present text it is put only if that is still there. The ontology
        has no name; ``media_type`` is by default that of the kind (the ontology: Turtle).
        """
        return await self._do(versions.put(kind, text, name, media_type, digest))

    async def try_put(
        self, kind: Kind, text: bytes, name: str = "", *, media_type: str | None = None
    ) -> dict[str, Any]:
        """What is wrong with a text, or what :meth:`put` would change; nothing is put."""
        return await self._do(versions.try_put(kind, text, name, media_type))

    async def versions(self, kind: Kind, name: str = "") -> list[dict[str, Any]]:
        """The versions of a rule file, a query, a webhook or the ontology, oldest first."""
        return await self._do(versions.versions(kind, name))

    async def version(self, kind: Kind, change: str, name: str = "") -> tuple[bytes, str]:
        """The text that a change has put, and its media type."""
        return await self._do(versions.version(kind, name, change))

    async def ontology(self) -> OntologyInForce:
        """The ontology in force."""
        return await self._do(operation.ontology())

    async def put_ontology(self, content: bytes | str, media_type: str = "text/turtle") -> str:
        """Put another ontology in force, which may take seconds; the id of the change."""
        return await self._do(operation.put_ontology(content, media_type))

    async def audit(self, limit: int = 100, before: int | None = None) -> list[dict[str, Any]]:
        """Who changed what, newest first, with ``seq`` below ``before``."""
        return await self._do(operation.audit(limit, before))

    async def settings(self) -> list[dict[str, Any]]:
        """The settings that the server has read: ``name``, ``value`` and ``origin`` of each."""
        return await self._do(operation.settings())

    async def alive(self) -> dict[str, Any]:
        """Whether the server runs, and how many messages it holds; else :class:`.Unavailable`."""
        return await self._do(operation.alive())

    async def ready(self) -> dict[str, Any]:
        """Its parts; :class:`.Unavailable` if one cannot work (``error.problem["parts"]``)."""
        return await self._do(operation.ready())

    async def metrics(self) -> str:
        """The server's metrics in Prometheus' text format."""
        return await self._do(operation.metrics())

    async def _do(self, call: Call[Answer]) -> Answer:
        return call.read(calls.check(await self._request(call.method, call.path, **call.options)))

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None

    async def _events(self, path: str, after: str | None) -> AsyncIterator[SentEvent]:
        reader = EventReader()
        try:
            async with self._http.stream(**calls.events(path, after)) as response:
                if not response.is_success:
                    await response.aread()
                calls.check(response)
                async for line in response.aiter_lines():
                    event = reader.line(line)
                    if event is not None:
                        yield event
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None
