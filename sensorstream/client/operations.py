"""The operations of the API: each one written once, a method of both clients."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from sensorstream.client import calls, deployment
from sensorstream.client import jobs as job_calls
from sensorstream.client import versions as version_calls
from sensorstream.client import webhooks as webhook_calls
from sensorstream.client.calls import Call

if TYPE_CHECKING:
    from sensorstream.client.asynchronous import AsyncClient
    from sensorstream.client.blocking import Client

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class Operation(Generic[Given, Answer]):
    """A function that makes a request, as a method that sends it.

    Of :class:`.Client` the method blocks and gives the answer, of :class:`.AsyncClient` it is
    awaited.
    """

    def __init__(self, call: Callable[Given, Call[Answer]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[Given, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncClient, kind: type
    ) -> Callable[Given, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: Client | AsyncClient | None, kind: type) -> Any:
        if client is None:
            return self

        def send(*given: Given.args, **named: Given.kwargs) -> Any:
            return client._do(self._call(*given, **named))  # noqa: SLF001 - its own method

        return update_wrapper(send, self._call)


class Operations:
    """All operations that are one request with one answer."""

    send = Operation(calls.send)
    send_batch = Operation(calls.send_batch)
    query = Operation(calls.query)
    ask = Operation(calls.ask)
    construct = Operation(calls.construct)
    plan = Operation(calls.plan)
    sql = Operation(calls.sql)
    sql_arrow = Operation(calls.sql_arrow)
    register = Operation(calls.register)
    unregister = Operation(calls.unregister)
    queries = Operation(calls.queries)
    query_graph = Operation(calls.query_graph)
    query_state = Operation(calls.query_state)
    steps = Operation(calls.steps)
    end_steps = Operation(calls.end_steps)
    results = Operation(calls.results)
    start_job = Operation(job_calls.start_job)
    jobs = Operation(job_calls.jobs)
    job = Operation(job_calls.job)
    delete_job = Operation(job_calls.delete_job)
    job_results = Operation(job_calls.job_results)
    job_arrow = Operation(job_calls.job_arrow)
    alerts = Operation(deployment.alerts)
    alert_messages = Operation(deployment.alert_messages)
    why = Operation(deployment.why)
    why_statement = Operation(deployment.why_statement)
    why_not = Operation(deployment.why_not)
    alerts_in = Operation(deployment.alerts_in)
    alert = Operation(deployment.alert)
    alert_history = Operation(deployment.alert_history)
    acknowledge = Operation(deployment.acknowledge)
    clear_alert = Operation(deployment.clear_alert)
    comment = Operation(deployment.comment)
    assign = Operation(deployment.assign)
    silences = Operation(deployment.silences)
    silence = Operation(deployment.silence)
    end_silence = Operation(deployment.end_silence)
    webhooks = Operation(webhook_calls.webhooks)
    webhook = Operation(webhook_calls.webhook)
    add_webhook = Operation(webhook_calls.add_webhook)
    delete_webhook = Operation(webhook_calls.delete_webhook)
    enable_webhook = Operation(webhook_calls.enable_webhook)
    rotate_secret = Operation(webhook_calls.rotate_secret)
    test_webhook = Operation(webhook_calls.test_webhook)
    deliveries = Operation(webhook_calls.deliveries)
    recover = Operation(webhook_calls.recover)
    resend = Operation(webhook_calls.resend)
    quarantine = Operation(deployment.quarantine)
    messages = Operation(deployment.messages)
    message = Operation(deployment.message)
    message_content = Operation(deployment.message_content)
    replay = Operation(deployment.replay)
    replay_all = Operation(deployment.replay_all)
    replay_more = Operation(deployment.replay_more)
    dismiss = Operation(deployment.dismiss)
    dismiss_all = Operation(deployment.dismiss_all)
    window = Operation(deployment.window)
    individual = Operation(deployment.individual)
    latest = Operation(deployment.latest)
    rules = Operation(deployment.rules)
    rule_files = Operation(deployment.rule_files)
    rule_file = Operation(deployment.rule_file)
    put_rule_file = Operation(deployment.put_rule_file)
    put_rule_files = Operation(deployment.put_rule_files)
    try_rule_files = Operation(deployment.try_rule_files)
    try_message = Operation(deployment.try_message)
    delete_rule_file = Operation(deployment.delete_rule_file)
    put = Operation(version_calls.put)
    try_put = Operation(version_calls.try_put)
    versions = Operation(version_calls.versions)
    version = Operation(version_calls.version)
    ontology = Operation(deployment.ontology)
    put_ontology = Operation(deployment.put_ontology)
    audit = Operation(deployment.audit)
    settings = Operation(deployment.settings)
    alive = Operation(deployment.alive)
    ready = Operation(deployment.ready)
    metrics = Operation(deployment.metrics)
