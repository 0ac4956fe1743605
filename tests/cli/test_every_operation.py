"""Everything that the HTTP interface can do, both clients and the command line can do, too; and
all of it works where the engines run on Spark, or is refused there with the way out.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import pytest
from click.testing import Result

from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.command_group import COMMANDS
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from sensorstream.client.deployment_operations import Kind
from sensorstream.errors import RunsOnSpark
from sensorstream.settings.settings_file import load_settings
from tests.cli.served import Served
from tests.streaming.stand_in import running
from tests.waiting import eventually

Run = Callable[..., Result]
PEOPLE: Final = (
    "SELECT ?person ?name { ?person a <http://sensorstream.example/tracking#Human> ; "
    "<http://sensorstream.example/tracking#hasName> ?name }"
)
HUMAN: Final = "http://sensorstream.example/tracking#Human"
# Of the paper's message, which the first test of a module sends.
SEEN: Final = "http://sensorstream.example/tracking#human-2678"
MANY: Final = "select count(*) as n from history.messages"
RECEIVER: Final = "http://127.0.0.1:9/alerts"

OTHER_FORMS: Final = {
    "GET /soap": "POST /soap",
    "GET /sparql": "POST /sparql",
    "GET /sparql/plan": "POST /sparql/plan",
    "GET /graphs": "POST /sparql",
    "GET /graphs/{name}": "POST /sparql",
    "GET /sensorthings/v1.1": "POST /sparql",
    "GET /sensorthings/v1.1/{path}": "POST /sparql",
    "POST /messages/batch": "POST /messages",
    "GET /individuals": "GET /individuals/{iri}",
}
"""Operations that do what another one does, which the command line uses."""

TRACKING: Final = "tracking.rules"
LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
TOMORROW: Final = datetime.now(UTC) + timedelta(days=1)


def hook(client: CommandClient) -> str:
    """The webhook that has been there for the longest time, and has deliveries."""
    return str(client.webhooks()[0]["id"])


def newest(client: CommandClient) -> str:
    """The message that came last."""
    return str(client.messages(1)[0]["message_id"])


def unmatched(client: CommandClient) -> str:
    """A message that has just come and that no rule matches."""
    name = str(client.send("<Nothing/>")["message_id"])
    eventually(lambda: client.message(name)["status"] == "unmatched")
    return name


OPS: Final = json.dumps({"url": RECEIVER}).encode()


def change(client: CommandClient, kind: Kind, name: str = "") -> str:
    """The change that has put the first version of something; it is put if there is none."""
    if not client.versions(kind, name):
        if kind == "ontology":
            client.put_ontology(client.ontology().text, client.ontology().media_type)
        else:
            client.put_rule_file("first.rules", "# first\n")
    return str(client.versions(kind, name)[0]["change"])


CHANGES: Final[Sequence[tuple[Kind, str, str]]] = (
    ("rules", "tracking.rules", "{rules}"),
    ("ontology", "", "{ontology}"),
    ("queries", "urn:x:people", "{query}"),
    ("webhooks", "ops", "{ops}"),
)
CLIENT: Final[Mapping[str, Callable[[CommandClient], object]]] = {
    "POST /messages": lambda client: client.send(PAPER_MESSAGE),
    "POST /messages/batch": lambda client: client.send_batch([PAPER_MESSAGE.decode()]),
    "GET /messages": lambda client: client.messages(2, status="accepted"),
    "GET /messages/counts": lambda client: client.message_counts(7, text="tracker"),
    "GET /messages/{id}": lambda client: client.message(newest(client)),
    "GET /messages/{id}/content": lambda client: client.message_content(newest(client)),
    "POST /soap": lambda client: client.post_soap(PAPER_MESSAGE),
    "POST /sparql": lambda client: client.query(PEOPLE),
    "POST /sparql/plan": lambda client: client.plan(PEOPLE),
    "POST /sql": lambda client: client.sql("SELECT 1"),
    "POST /jobs": lambda client: client.delete_job(client.start_job(MANY)["id"]),
    "GET /jobs": lambda client: client.jobs(),
    "GET /jobs/{job_id}": lambda client: client.job(client.jobs()[-1]["id"]),
    "GET /jobs/{job_id}/result": lambda client: client.job_results(client.jobs()[-1]["id"]),
    "DELETE /jobs/{job_id}": lambda client: client.delete_job(client.start_job(MANY)["id"]),
    "GET /alerts": lambda client: client.alerts(5),
    "GET /alerts/{id}/messages": lambda client: client.alert_messages(client.alerts(1)[0]["id"]),
    "GET /alerts/{id}/why": lambda client: client.why(client.alerts(1)[0]["id"]),
    "GET /why": lambda client: client.why_statement(f"<{SEEN}> a <{HUMAN}>"),
    "GET /why-not": lambda client: client.why_not("uncertain-face", SEEN),
    "POST /trials": lambda client: client.try_message(PAPER_MESSAGE.decode()),
    "GET /alerts/stream": lambda client: next(client.follow_alerts("")),
    "GET /alerts/{id}": lambda client: client.alert(client.alerts_in("open", 1)[0]["id"]),
    "GET /alerts/{id}/history": lambda client: client.alert_history(client.alerts(1)[0]["id"]),
    "POST /alerts/{id}/acknowledge": lambda client: client.acknowledge(client.alerts(1)[0]["id"]),
    "POST /alerts/{id}/comment": lambda client: client.comment(client.alerts(1)[0]["id"], "why?"),
    "POST /alerts/{id}/assign": lambda client: client.assign(client.alerts(1)[0]["id"], "ann"),
    "POST /alerts/{id}/clear": lambda client: client.clear_alert(client.alerts(1)[0]["id"]),
    "POST /silences": lambda client: client.silence(TOMORROW, key="nobody"),
    "GET /silences": lambda client: client.silences(),
    "DELETE /silences/{silence_id}": lambda client: client.end_silence(
        client.silence(TOMORROW, rule="none*")["id"]
    ),
    "POST /webhooks": lambda client: client.add_webhook(RECEIVER),
    "GET /webhooks": lambda client: client.webhooks(),
    "GET /webhooks/{webhook_id}": lambda client: client.webhook(client.webhooks()[0]["id"]),
    "PUT /webhooks/{webhook_id}": lambda client: client.put("webhooks", OPS, "ops"),
    "GET /webhooks/{webhook_id}/versions": lambda client: client.versions("webhooks", "ops"),
    "GET /webhooks/{webhook_id}/versions/{change}": lambda client: client.version(
        "webhooks", change(client, "webhooks", "ops"), "ops"
    ),
    "DELETE /webhooks/{webhook_id}": lambda client: client.delete_webhook(
        client.add_webhook(RECEIVER)["id"]
    ),
    "POST /webhooks/{webhook_id}/enable": lambda client: client.enable_webhook(hook(client)),
    "POST /webhooks/{webhook_id}/secret": lambda client: client.rotate_secret(hook(client)),
    "POST /webhooks/{webhook_id}/test": lambda client: client.test_webhook(hook(client)),
    "GET /webhooks/{webhook_id}/deliveries": lambda client: client.deliveries(hook(client)),
    "POST /webhooks/{webhook_id}/recover": lambda client: client.recover(hook(client), LONG_AGO),
    "POST /deliveries/{delivery_id}/resend": lambda client: client.resend(
        client.deliveries(hook(client))[0]["id"]
    ),
    "GET /window": lambda client: client.window(1),
    "GET /shapes/report": lambda client: client.shapes_report(),
    "GET /individuals/{iri}": lambda client: client.individual(SEEN, rules=True),
    "GET /latest": lambda client: client.latest(HUMAN, 2),
    "GET /rules": lambda client: (client.rules(), client.rule_files()),
    "PUT /rules": lambda client: client.put_rule_files(
        {TRACKING: client.rule_file(TRACKING)}, client.rule_files()["digest"]
    ),
    "GET /rules/{name}": lambda client: client.rule_file(TRACKING),
    "PUT /rules/{name}": lambda client: client.put_rule_file("own.rules", "# nothing yet\n"),
    "DELETE /rules/{name}": lambda client: client.delete_rule_file("own.rules"),
    "GET /rules/{name}/versions": lambda client: client.versions("rules", TRACKING),
    "GET /rules/{name}/versions/{change}": lambda client: client.version(
        "rules", change(client, "rules", TRACKING), TRACKING
    ),
    "GET /ontology": lambda client: client.ontology(),
    "PUT /ontology": lambda client: client.put_ontology(
        client.ontology().text, client.ontology().media_type
    ),
    "GET /ontology/versions": lambda client: client.versions("ontology"),
    "GET /ontology/versions/{change}": lambda client: client.version(
        "ontology", change(client, "ontology")
    ),
    "GET /quarantine": lambda client: client.quarantine(1),
    "POST /quarantine/{id}/replay": lambda client: client.replay(unmatched(client), PAPER_MESSAGE),
    "POST /quarantine/replay": lambda client: client.replay_all(2, status="unmatched"),
    "DELETE /quarantine": lambda client: client.dismiss_all(code="mapping"),
    "DELETE /quarantine/{id}": lambda client: client.dismiss(unmatched(client)),
    "POST /queries": lambda client: client.register(PEOPLE, "urn:x:once"),
    "GET /queries": lambda client: client.queries(),
    "GET /queries/{name}": lambda client: client.query_state("urn:x:people"),
    "PUT /queries/{name}": lambda client: client.put("queries", PEOPLE.encode(), "urn:x:people"),
    "GET /queries/{name}/versions": lambda client: client.versions("queries", "urn:x:people"),
    "GET /queries/{name}/versions/{change}": lambda client: client.version(
        "queries", change(client, "queries", "urn:x:people"), "urn:x:people"
    ),
    "GET /queries/{name}/results": lambda client: client.results("urn:x:people"),
    "GET /queries/{name}/graph": lambda client: client.query_graph("urn:x:people"),
    "GET /queries/{name}/step": lambda client: client.steps("urn:x:people"),
    "DELETE /queries/{name}/step": lambda client: client.end_steps("urn:x:people"),
    "DELETE /queries/{name}": lambda client: client.unregister("urn:x:gone"),
    "GET /audit": lambda client: client.audit(1),
    "GET /settings": lambda client: client.settings(),
    "GET /healthz": lambda client: client.alive(),
    "GET /readyz": lambda client: client.ready(),
    "GET /metrics": lambda client: client.metrics(),
}

COMMAND: Final[Mapping[str, tuple[str, ...]]] = {
    "POST /messages": ("send", "{folder}/messages"),
    "GET /messages": ("messages", "--status", "accepted", "--since", "2026-01-01"),
    "GET /messages/counts": ("messages", "--counts", "--text", "tracker"),
    "GET /messages/{id}": ("messages", "{message}"),
    "GET /messages/{id}/content": ("messages", "{message}", "--content"),
    "POST /soap": ("send", "--soap", "{folder}/messages"),
    "POST /sparql": ("query", PEOPLE),
    "POST /sparql/plan": ("explain", PEOPLE, "--on", "cache"),
    "POST /jobs": ("jobs", "start", MANY),
    "GET /jobs": ("jobs", "list"),
    "GET /jobs/{job_id}": ("jobs", "show", "{job}"),
    "GET /jobs/{job_id}/result": ("jobs", "result", "{job}"),
    "DELETE /jobs/{job_id}": ("jobs", "cancel", "{other_job}"),
    "GET /alerts": ("alerts", "list"),
    "GET /alerts/{id}/messages": ("alerts", "messages", "{alert}"),
    "GET /alerts/{id}/why": ("why", "{alert}"),
    "GET /why": ("why", f"<{SEEN}> a <{HUMAN}>"),
    "GET /why-not": ("why-not", "uncertain-face", SEEN),
    "POST /trials": ("try-message", "{folder}/messages/paper.xml", "{folder}/own.rules"),
    "GET /alerts/stream": ("alerts", "follow", "--after", "", "--count", "1"),
    "GET /alerts/{id}": ("alerts", "show", "{alert}"),
    "GET /alerts/{id}/history": ("alerts", "history", "{alert}"),
    "POST /alerts/{id}/acknowledge": ("alerts", "acknowledge", "{open}"),
    "POST /alerts/{id}/comment": ("alerts", "comment", "{alert}", "why?"),
    "POST /alerts/{id}/assign": ("alerts", "assign", "{alert}", "ann"),
    "POST /alerts/{id}/clear": ("alerts", "clear", "{alert}", "--text", "seen to"),
    "POST /silences": ("alerts", "silence", "--key", "nobody*"),
    "GET /silences": ("alerts", "silences"),
    "DELETE /silences/{silence_id}": ("alerts", "unsilence", "{silence}"),
    "POST /webhooks": ("webhooks", "add", RECEIVER, "--query", "urn:x:people"),
    "GET /webhooks": ("webhooks", "list"),
    "GET /webhooks/{webhook_id}": ("webhooks", "show", "{webhook}"),
    "PUT /webhooks/{webhook_id}": ("webhooks", "restore", "ops", "{ops}"),
    "GET /webhooks/{webhook_id}/versions": ("webhooks", "versions", "ops"),
    "GET /webhooks/{webhook_id}/versions/{change}": ("webhooks", "restore", "ops", "{ops}"),
    "DELETE /webhooks/{webhook_id}": ("webhooks", "delete", "{webhook}"),
    "POST /webhooks/{webhook_id}/enable": ("webhooks", "enable", "{webhook}"),
    "POST /webhooks/{webhook_id}/secret": ("webhooks", "rotate", "{webhook}"),
    "POST /webhooks/{webhook_id}/test": ("webhooks", "test", "{webhook}"),
    "GET /webhooks/{webhook_id}/deliveries": ("webhooks", "deliveries", "{webhook}"),
    "POST /webhooks/{webhook_id}/recover": (
        *("webhooks", "recover", "{webhook}", "--since", "2026-01-01"),
    ),
    "POST /deliveries/{delivery_id}/resend": ("webhooks", "resend", "{delivery}"),
    "GET /window": ("window", "--limit", "2"),
    "GET /shapes/report": ("shapes",),
    "GET /individuals/{iri}": ("individuals", "show", SEEN, "--rules"),
    "GET /latest": ("individuals", "latest", HUMAN, "--limit", "2"),
    "GET /rules": ("rules",),
    "PUT /rules": ("apply", "-c", "{config}"),
    "GET /rules/{name}": ("rules", "show", "tracking.rules"),
    "PUT /rules/{name}": ("rules", "put", "{folder}/own.rules"),
    "DELETE /rules/{name}": ("rules", "delete", "own.rules"),
    "GET /rules/{name}/versions": ("rules", "versions", "tracking.rules"),
    "GET /rules/{name}/versions/{change}": ("rules", "restore", "tracking.rules", "{rules}"),
    "GET /ontology": ("ontology", "show"),
    "PUT /ontology": ("ontology", "put", "{folder}/ontology/tracking.ttl"),
    "GET /ontology/versions": ("ontology", "versions"),
    "GET /ontology/versions/{change}": ("ontology", "restore", "{ontology}"),
    "GET /quarantine": ("quarantine", "list"),
    "POST /quarantine/{id}/replay": ("quarantine", "replay", "{unmatched}"),
    "POST /quarantine/replay": ("quarantine", "replay", "--all", "--code", "mapping"),
    "DELETE /quarantine": ("quarantine", "delete", "--all", "--until", "2026-01-01"),
    "DELETE /quarantine/{id}": ("quarantine", "delete", "{unmatched}"),
    "POST /queries": ("queries", "add", "{folder}/people.rq", "--name", "urn:x:twice"),
    "GET /queries": ("queries", "list"),
    "GET /queries/{name}": ("queries", "show", "urn:x:people"),
    "PUT /queries/{name}": ("queries", "restore", "urn:x:people", "{query}"),
    "GET /queries/{name}/versions": ("queries", "versions", "urn:x:people"),
    "GET /queries/{name}/versions/{change}": ("queries", "restore", "urn:x:people", "{query}"),
    "GET /queries/{name}/results": ("queries", "results", "urn:x:people"),
    "GET /queries/{name}/graph": ("queries", "graph", "urn:x:people"),
    "GET /queries/{name}/step": ("queries", "steps", "urn:x:people"),
    "DELETE /queries/{name}/step": ("queries", "steps", "urn:x:people", "--end"),
    "DELETE /queries/{name}": ("queries", "delete", "urn:x:twice"),
    "GET /audit": ("audit",),
    "GET /settings": ("config", "running"),
    "GET /healthz": ("health",),
    "GET /readyz": ("health",),
    "GET /metrics": ("health", "--metrics"),
}
WITHOUT_JSON: Final = {
    *("cancel", "delete", "enable", "steps", "unsilence", "--metrics", "--content")
}
"""Answers that are empty, or always of one form."""


REFUSED: Final = dict.fromkeys(
    ("GET /queries/{name}/graph", "GET /queries/{name}/step", "DELETE /queries/{name}/step"),
    "expected the key of one, such as 'rest', 'soap'",
)
"""Operations that are refused where engines of several keys run on Spark, and the way out."""
NO_HISTORY: Final = {
    *("check", "config", "demo", "docs", "fmt", "init", "language-server", "map", "rml", "ruleset"),
    *("resend", "restore", "run", "serve", "simulate", "stream", "test", "validate"),
}
"""Commands that ask neither a server nor its history, or are told of elsewhere."""
OF_HISTORY: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "archive": (("list",), ""),
    "backfill": (("{folder}/messages",), ""),
    "backup": (("{folder}/all.tar",), ""),
    "db": (("url",), ""),
    "doctor": ((), ""),
    "erase": (("--individual", SEEN), "the engines of this history run on Spark"),
    "journal": (("list",), ""),
    "keys": (("list",), ""),
    "replay": ((), "there is an engine for each key, and a replay has one"),
    "rereason": ((), "no process knows the windows of all keys"),
    "spark": (("--help",), ""),
    "sql": ((MANY,), ""),
}
"""Commands that read the history themselves, by arguments; and why they are refused where the
engines run on Spark, "" if they are not."""


@pytest.fixture(scope="module")
def webhook(another: Served) -> str:
    """A query, a webhook, messages, alerts and a message in quarantine; the webhook's id."""
    return prepared(another)


def prepared(another: Served) -> str:
    with CommandClient(another.url) as client:
        made = client.add_webhook(RECEIVER)["id"]
        client.register(PEOPLE, "urn:x:people")
        client.put("webhooks", OPS, "ops")
        for message in tracker_messages(12):
            client.send(message)
        client.send("<Stranger/>")
        (another.folder / "people.rq").write_text(PEOPLE)
        eventually(lambda: client.deliveries(str(made)) and client.alerts_in("open", 1))
        job = client.start_job(MANY)["id"]
        while client.job(job)["ended_at"] is None:
            time.sleep(0.1)
        return str(made)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that a client sends, as "METHOD /path"."""
    sent: list[str] = []
    send = httpx.Client.send

    def recorded(self: httpx.Client, request: httpx.Request, **options: object) -> httpx.Response:
        sent.append(f"{request.method} {request.url.raw_path.decode().partition('?')[0]}")
        return send(self, request, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx.Client, "send", recorded)
    return sent


@pytest.fixture(scope="module")
def on_spark(new_workspace: Callable[[], Path]) -> Iterator[Served]:
    """A server whose engines a pipeline has, with what :func:`prepared` makes."""
    config = new_workspace()
    config.write_text(
        re.sub('^#? *runner = "engine"', 'runner = "spark"', config.read_text(), flags=re.M)
    )
    settings = load_settings(config)
    with ServerProcess(config) as process, running(read_deployment(settings), settings.history.url):
        made = Served(config.parent, config, process.url())
        prepared(made)
        with CommandClient(made.url) as client:
            # Of another source, so that there are two engines.
            client.post_soap(PAPER_MESSAGE)
            eventually(lambda: client.messages(1)[0]["status"] == "accepted")
        yield made


def edit(served: Served) -> None:
    """Change a rule file of the deployment, which changes nothing by itself."""
    (file,) = load_settings(served.config).rules.files
    file.write_text(f"{file.read_text()}# edited\n")


def operations(url: str) -> set[str]:
    paths = httpx.get(f"{url}/openapi.json", trust_env=False).json()["paths"]
    return {f"{method.upper()} {path}" for path, found in paths.items() for method in found}


def asked(operation: str, requests: list[str]) -> bool:
    pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation))
    return any(pattern.fullmatch(each) for each in requests)


def test_the_clients_have_a_method_for_every_operation(another: Served) -> None:
    assert operations(another.url) - OTHER_FORMS.keys() | {"POST /messages/batch"} == set(CLIENT)


def test_the_command_line_has_a_command_for_every_operation(another: Served) -> None:
    # "sql" reads the history of a settings file itself, with or without a server.
    assert "sql" in COMMANDS
    assert operations(another.url) - OTHER_FORMS.keys() - {"POST /sql"} == set(COMMAND)


@pytest.mark.parametrize("operation", CLIENT)
def test_on_spark_the_method_has_an_answer(operation: str, on_spark: Served) -> None:
    with CommandClient(on_spark.url) as client:
        if operation == "DELETE /queries/{name}":
            client.register(PEOPLE, "urn:x:gone")
        if operation in REFUSED:
            with pytest.raises(RunsOnSpark, match=REFUSED[operation]):
                CLIENT[operation](client)
        else:
            CLIENT[operation](client)


def test_what_each_command_does_on_spark_is_told() -> None:
    of_server = {command[0] for command in COMMAND.values()}
    assert OF_HISTORY.keys() | NO_HISTORY | of_server == COMMANDS.keys()


@pytest.mark.parametrize("command", OF_HISTORY)
def test_on_spark_a_command_works_or_says_why_not(command: str, on_spark: Served, run: Run) -> None:
    arguments, refused = OF_HISTORY[command]
    given = [each.replace("{folder}", str(on_spark.folder)) for each in arguments]
    options = () if command == "spark" else ("-c", on_spark.config)
    result = run(command, *given, *options)
    assert (result.exit_code == 0) == (not refused), result.output
    assert refused in " ".join(result.output.split())


@pytest.mark.parametrize("operation", CLIENT)
def test_the_method_asks_for_its_operation(
    operation: str, another: Served, webhook: str, requests: list[str]
) -> None:
    with CommandClient(another.url) as client:
        if operation == "DELETE /queries/{name}":
            client.register(PEOPLE, "urn:x:gone")
        CLIENT[operation](client)
    assert asked(operation, requests)


@pytest.mark.parametrize(
    ("operation", "form"),
    [
        (operation, form)
        for operation, command in COMMAND.items()
        for form in [(), ("--json",)]
        if not (form and WITHOUT_JSON & set(command))
    ],
)
def test_the_command_asks_for_its_operation(
    operation: str,
    form: tuple[str, ...],
    run: Run,
    another: Served,
    webhook: str,
    requests: list[str],
) -> None:
    command = COMMAND[operation]
    with CommandClient(another.url) as client:
        runs = operation in ("POST /queries", "DELETE /queries/{name}") and "urn:x:twice" in {
            each["name"] for each in client.queries()
        }
        if runs and operation == "POST /queries":
            client.unregister("urn:x:twice")
        if not runs and operation == "DELETE /queries/{name}":
            client.register(PEOPLE, "urn:x:twice")
        if operation == "PUT /rules":
            edit(another)
        (another.folder / "own.rules").write_text("# nothing yet\n")
        makers: dict[str, Callable[[], object]] = {
            "{folder}": lambda: another.folder,
            "{config}": lambda: another.config,
            "{webhook}": lambda: (
                client.add_webhook(RECEIVER)["id"] if "delete" in command else webhook
            ),
            "{alert}": lambda: client.alerts(1)[0]["id"],
            "{open}": lambda: client.alerts_in("open", 1)[0]["id"],
            "{silence}": lambda: client.silence(TOMORROW, key="x")["id"],
            "{message}": lambda: newest(client),
            "{unmatched}": lambda: unmatched(client),
            "{job}": lambda: client.jobs()[-1]["id"],
            "{other_job}": lambda: client.start_job(MANY)["id"],
            "{delivery}": lambda: client.deliveries(webhook)[0]["id"],
            **{what: partial(change, client, kind, name) for kind, name, what in CHANGES},
        }
        arguments = [
            re.sub(r"^\{\w+\}", lambda name: str(makers[name[0]]()), each) for each in command
        ]
    result = run(*arguments, "--url", another.url, *form)
    # Nobody listens at the webhook, so its test fails.
    assert result.exit_code == (1 if "test" in command else 0), result.output
    assert asked(operation, requests)
    if form:
        assert json.loads(result.stdout) is not None
