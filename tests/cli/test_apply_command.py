"""What ``apply`` and ``rules`` show and change on a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import httpx
from click.testing import Result

from sensorstream.cli.command_client import CommandClient
from sensorstream.settings.settings_file import load_settings
from tests.cli.served import Served
from tests.waiting import eventually

SPARQL = {"content-type": "application/sparql-query"}
Run = Callable[..., Result]


def test_edited_files_are_shown_then_put_together_and_an_old_version_comes_back(
    run: Run, another: Served, tmp_path: Path
) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    same = run("apply", "-c", another.config, "--url", another.url)
    assert same.stdout == "in force already\n"
    file.write_text(f"{before}# edited\n")
    shown = run("apply", "--diff", "-c", another.config, "--url", another.url)
    assert "+# edited" in shown.stdout.splitlines()
    assert run("rules", "show", file.name, "--url", another.url).stdout == before
    listed = json.loads(run("rules", "files", "--json", "--url", another.url).stdout)
    assert [each["on_disk"] for each in listed["files"]] == ["differs"]
    applied = run("apply", "-c", another.config, "--url", another.url)
    assert applied.stdout.splitlines()[-1].startswith("rules: in force, as m")
    assert run("rules", "show", file.name, "--url", another.url).stdout == f"{before}# edited\n"
    versions = json.loads(
        run("rules", "versions", file.name, "--json", "--url", another.url).stdout
    )
    assert [each["by"] for each in versions] == ["settings", "anonymous"]
    change = versions[0]["change"]
    old = run("rules", "versions", file.name, "--text", change, "--url", another.url).stdout
    assert old == before
    back = run("rules", "restore", file.name, change, "--url", another.url)
    assert back.stdout == f"{file.name} is again as {change} has put it\n"
    assert run("rules", "show", file.name, "--url", another.url).stdout == before
    file.write_text(before)


def test_check_tells_of_files_that_were_edited_and_not_applied(run: Run, another: Served) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()

    def check(*options: str, url: str = another.url) -> str:
        return run("check", "-c", another.config, "--url", url, *options).stdout

    assert "edited" not in check()
    file.write_text(f"{before}# edited\n")
    told = check()
    assert f"edited: {file.name}: {another.url} has other texts in force" in told
    assert "'sensorstream apply' puts them in force" in told
    assert json.loads(check("--json"))["edited"] == [file.name]
    file.write_text(before)
    assert json.loads(check("--json"))["edited"] == []
    # Without a server there is nothing to compare with.
    assert json.loads(check("--json", url="http://127.0.0.1:9"))["edited"] is None


def test_files_that_the_server_refuses_change_nothing(run: Run, another: Served) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    in_force = run("rules", "show", file.name, "--url", another.url).stdout
    file.write_text(f"{before}rule broken on\n")
    refused = run("apply", "-c", another.config, "--url", another.url)
    tried = run("apply", "--dry-run", "-c", another.config, "--url", another.url)
    file.write_text(f"{before}# the same rules\n")
    fine = run("apply", "--dry-run", "-c", another.config, "--url", another.url)
    file.write_text(before)
    assert tried.exit_code == 1
    assert f"{file.name}:" in tried.stdout
    assert fine.stdout == "rules: 0 of 0 recent messages differ\n"
    assert refused.exit_code == 1
    assert "error[language]: " in refused.stderr
    assert f"{file.name}:" in refused.stderr
    assert run("rules", "show", file.name, "--url", another.url).stdout == in_force


def test_a_folder_holds_the_ontology_queries_and_webhooks_too(run: Run, another: Served) -> None:
    def apply(*options: str) -> Result:
        return run("apply", *options, "-c", another.config, "--url", another.url)

    settings = load_settings(another.config)
    (ontology,) = settings.ontology.files
    before = ontology.read_text()
    ontology.write_text(f"{before}\n<urn:x:New> a <http://www.w3.org/2002/07/owl#Class> .\n")
    for name in ("queries", "webhooks"):
        (another.folder / name).mkdir()
    own = another.folder / "queries" / "own.rq"
    own.write_text("SELECT ?x { ?x a <urn:x:New> }")
    (another.folder / "queries" / "b.rq").write_text(
        "REGISTER RSTREAM <urn:x:named> AS SELECT ?x FROM NAMED WINDOW <urn:x:w> "
        "ON <urn:x:s> [RANGE PT5S STEP PT5S] { WINDOW <urn:x:w> { ?x a <urn:x:New> } }"
    )
    hook = another.folder / "webhooks" / "ops.toml"
    hook.write_text('url = "http://127.0.0.1:9/"\nqueries = ["own", "missing"]\n')
    httpx.put(f"{another.url}/queries/other", content="ASK {}", headers=SPARQL, trust_env=False)

    shown = apply("--diff").stdout.splitlines()
    assert [each for each in shown if each.startswith("+++")] == [
        "+++ ontology",
        "+++ query urn:x:named",
        "+++ query own",
        "+++ webhook ops",
    ]
    tried = apply("--dry-run").stdout.splitlines()
    assert "webhook ops: the query missing neither runs nor is in the folder" in tried
    assert "query own: 0 reports on 0 recent messages" in tried

    applied = apply("--json")
    made = json.loads(applied.stdout)
    assert [each["what"] for each in made["changes"]] == [
        "ontology",
        "query urn:x:named",
        "query own",
        "webhook ops",
    ]
    assert made["changes"][-1]["secret"].startswith("whsec_")
    assert made["others"] == ["query other"]
    same = apply()
    assert same.stdout == "in force already\n"
    assert "query other: not in the folder, left alone" in same.stderr

    hook.write_text(hook.read_text() + 'secret = "whsec_x"\n')
    refused = apply()
    assert (refused.exit_code, "a secret has no place in a file" in refused.stderr) == (1, True)
    hook.write_text('url = "http://127.0.0.1:9/other"\n')
    own.write_text("SELECT ?x { ?x a <urn:x:Newer> }")
    changed = apply("--json")
    assert [each["what"] for each in json.loads(changed.stdout)["changes"]] == [
        "query own",
        "webhook ops",
    ]
    # What goes away from the ontology is not put while the rules need it.
    ontology.write_text(before.replace("Human", "Person"))
    assert "error[language]" in apply().stderr
    ontology.write_text(before)


RML = """@prefix rml: <http://w3id.org/rml/> .
@prefix : <http://sensorstream.example/tracking#> .
:places rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/Place" ] ;
  rml:subjectMap [ rml:template "{@iri}" ; rml:class :Location ] .
"""
XSLT = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/></xsl:stylesheet>
"""


def test_rml_files_and_stylesheets_are_applied_and_restored_with_the_rules(
    run: Run, another: Served
) -> None:
    def apply(*options: str) -> Result:
        return run("apply", *options, "-c", another.config, "--url", another.url)

    apply()
    (file,) = load_settings(another.config).rules.files
    before = another.config.read_text()
    for name, text in (("places.ttl", RML), ("names.xsl", XSLT)):
        (file.parent / name).write_text(text)
    all_three = '"rules/*.rules", "rules/places.ttl", "rules/names.xsl"'
    another.config.write_text(before.replace('"rules/*.rules"', all_three))
    shown = apply("--diff").stdout.splitlines()
    assert [e for e in shown if e.startswith("+++")] == ["+++ places.ttl", "+++ names.xsl"]
    assert apply().stdout.splitlines()[-1].startswith("rules: in force, as m")
    assert apply().stdout == "in force already\n"
    (file.parent / "places.ttl").write_text(RML.replace("/Place", "/Room"))
    assert "+:places " in apply("--diff").stdout
    assert apply("--dry-run").stdout == "rules: 0 of 0 recent messages differ\n"
    apply()
    place = ("places.ttl", "--url", another.url)
    first, second = json.loads(run("rules", "versions", *place, "--json").stdout)
    assert run("rules", "versions", *place, "--text", first["change"]).stdout == RML
    run("rules", "restore", "places.ttl", first["change"], "--url", another.url)
    assert run("rules", "show", *place).stdout == RML
    (file.parent / "names.xsl").write_text(XSLT.replace("xsl:output", "xsl:include"))
    refused = apply()
    assert (refused.exit_code, "expected all in one stylesheet" in refused.stderr) == (1, True)
    another.config.write_text(before)
    assert apply().stdout.splitlines()[-1].startswith("rules: in force, as m")
    gone = json.loads(run("rules", "versions", *place, "--json").stdout)[-1]
    assert gone["digest"] is None
    assert second["digest"] is not None


def test_watch_applies_each_edit_until_it_is_ended(another: Served) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    command = [sys.executable, "-m", "sensorstream", "apply", "--watch", "-c", str(another.config)]
    with subprocess.Popen(
        [*command, "--url", another.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            _until(process.stdout, "waiting for a change")
            file.write_text(f"{before}# watched\n")
            _until(process.stdout, "rules: in force, as m")
            _until(process.stdout, "waiting for a change")
            file.write_text(f"{before}rule broken on\n")
            _until(process.stdout, "error[language]")
            _until(process.stdout, "waiting for a change")
            file.write_text(before)
            _until(process.stdout, "rules: in force, as m")
        finally:
            process.send_signal(signal.SIGINT)
            file.write_text(before)
    with CommandClient(another.url) as client:
        texts = [
            client.version("rules", each["change"], file.name)[0].decode()
            for each in client.versions("rules", file.name)
        ]
    assert texts[-2:] == [f"{before}# watched\n", before]


def _until(lines: IO[str], beginning: str) -> None:
    """Read until a line begins so; the end of the lines is a failure."""
    seen = []
    for line in lines:
        if line.startswith(beginning):
            return
        seen.append(line)
    raise AssertionError("".join(seen))


def test_one_that_is_killed_has_put_whole_things_and_the_next_puts_the_rest(
    run: Run, another: Served
) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    file.write_text(f"{before}# killed\n")
    queries = {f"k{number:02}" for number in range(30)}
    (another.folder / "queries").mkdir(exist_ok=True)
    for name in queries:
        (another.folder / "queries" / f"{name}.rq").write_text(f"ASK {{ ?x a <urn:x:{name}> }}")
    command = [sys.executable, "-m", "sensorstream", "apply", "-c", str(another.config)]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    applying = subprocess.Popen([*command, "--url", another.url], **options)  # type: ignore[call-overload]

    with CommandClient(another.url) as client:

        def there() -> set[str]:
            return queries & {each["name"] for each in client.queries()}

        eventually(lambda: len(there()) > 2)
        applying.kill()
        applying.wait()
        assert client.rule_file(file.name) == f"{before}# killed\n"
        run("apply", "-c", another.config, "--url", another.url, status=0)
        assert there() == queries
    same = run("apply", "-c", another.config, "--url", another.url)
    assert same.stdout == "in force already\n"
    file.write_text(before)
