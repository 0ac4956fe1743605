"""What docs/use/python-api.md says is so, and ``from sensorstream import …`` is what it names."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import sensorstream
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.client.clients import AsyncClient, Client
from sensorstream.client.results import EventReader, ReportReader, Results, value_of
from sensorstream.errors import MalformedMessage, ServerUnreachable, UnknownQuery

PAGE = (Path(__file__).parents[1] / "docs" / "use" / "python-api.md").read_text(encoding="utf-8")
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Path:
    overrides: dict[str, dict[str, object]] = {
        "reasoning": {"profile": "plain"},
        "history": {"url": new_database()},
    }
    return make_workspace(tmp_path_factory.mktemp("api"), TEMPLATES["tracking"], overrides)


@pytest.fixture(scope="module")
def url(workspace: Path) -> Iterator[str]:
    with ServerProcess(workspace) as process:
        yield process.url()


def test_every_example_of_the_page_runs(
    url: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = (workspace.parent / "messages" / "paper.xml").read_text()
    (tmp_path / "paper.xml").write_text(message)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {"URL": url}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"docs/use/python-api.md, example {number}", "exec"), names)


def test_the_page_names_what_is_public_and_no_more() -> None:
    assert list(sensorstream.__all__) == sorted(sensorstream.__all__)
    table = PAGE.split("| name | what it is |")[1].split("\n\n")[0]
    named = {
        name
        for line in table.splitlines()
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    assert named == set(sensorstream.__all__)
    for name in sensorstream.__all__:
        assert getattr(sensorstream, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(sensorstream, "nothing")  # noqa: B009 - mypy would refuse the plain form


def test_the_page_names_every_method_of_the_clients() -> None:
    table = PAGE.split("\n## A server\n")[1].split("| method | |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+)\(", table)) - {"close"}
    for client in (Client, AsyncClient):
        public = {name for name in dir(client) if not name.startswith("_")}
        assert public - {"close"} == named


def test_importing_the_package_loads_nothing_else() -> None:
    asked = "import sys, sensorstream; print([n for n in sys.modules if n.startswith('sensorstr')])"
    found = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "['sensorstream']"


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(Client) == methods(AsyncClient)


def test_errors_carry_the_problem_document(url: str) -> None:
    with Client(url) as client:
        with pytest.raises(MalformedMessage) as caught:
            client.send("<open>")
        assert caught.value.problem is not None
        assert caught.value.problem["status"] == 400
        with pytest.raises(UnknownQuery):
            next(client.follow("nobody"))
        assert client.ask("ASK { }") is True
        assert client.construct("CONSTRUCT { <a:a> <a:b> 1 } { }").startswith("<a:a> <a:b> ")
    with Client(f"{url}/docs") as nobody, pytest.raises(ServerUnreachable):
        nobody.sql("SELECT 1")


def test_reports_are_followed_from_where_they_were_left(url: str, workspace: Path) -> None:
    message = (workspace.parent / "messages" / "paper.xml").read_text()

    async def follow() -> list[str]:
        found = []
        async with AsyncClient(url) as client:
            await client.register("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "count")
            for number in range(3):
                await client.send(message.replace("2678", str(3000 + number)))
            async for report in client.follow("count", after=""):
                found.append(report.id)
                if len(found) == 2:
                    break
            async for report in client.follow("count", after=found[0]):
                found.append(report.id)
                if len(found) == 4:
                    await client.unregister("count")
        return found

    first, second, *rest = asyncio.run(follow())
    assert rest[0] == second != first
    assert len(set(rest)) == len(rest)


def test_values_are_pythons_own_and_columns_of_one_kind() -> None:
    def cell(text: str, name: str) -> dict[str, str]:
        return {"type": "literal", "value": text, "datatype": f"{XSD}{name}"}

    assert value_of(cell("12", "integer")) == 12
    assert value_of(cell("1.50", "decimal")) == Decimal("1.50")
    assert value_of(cell("true", "boolean")) is True
    assert value_of(cell("twelve", "integer")) == "twelve"
    assert value_of(cell("2014-08-01T08:00:00Z", "dateTime")).year == 2014
    found = Results.of_bindings(
        ["n", "mixed", "text"],
        [
            {"n": cell("1", "integer"), "mixed": cell("1", "integer")},
            {"n": cell("2.5", "double"), "mixed": {"type": "uri", "value": "a:b"}},
        ],
    )
    assert found.to_arrow().to_pydict() == {
        "n": [1.0, 2.5],
        "mixed": ["1", "a:b"],
        "text": [None, None],
    }
    huge = Results.of_bindings(["n"], [{"n": cell("9" * 50, "integer")}])
    assert huge.to_pandas()["n"].tolist() == ["9" * 50]
    assert list(Results.of_bindings([], [{}, {}]).rows) == [(), ()]


def test_what_a_follower_missed_is_told_with_the_next_report() -> None:
    events, reports = EventReader(), ReportReader(["x"])
    text = (
        'event: missed\ndata: {"missed": 3}\n\n: comment\n\n'
        'event: report\nid: m1-4\ndata: {"id": "m1-4", "query": "q",\n'
        'data: "time": 1, "op": "+", "bindings": []}\n\nevent: end\ndata: {}\n\n'
    )
    told = [event for line in text.split("\n") if (event := events.line(line)) is not None]
    (report,) = [each for event in told if (each := reports.report(event)) is not None]
    assert (report.id, report.missed, report.results) == ("m1-4", 3, Results(("x",), ()))
    assert reports.ended
