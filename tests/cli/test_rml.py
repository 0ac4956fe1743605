from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.cli.init_command import TEMPLATES, make_workspace

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_workspace(tmp_path, TEMPLATES["tracking"])
    return tmp_path


@pytest.fixture
def rml(run: Run, folder: Path) -> Run:
    return lambda *given: run("rml", *given, "-c", folder / "sensorstream.toml")


def use(folder: Path, *files: str) -> None:
    """Let the deployment map by these files only."""
    settings = folder / "sensorstream.toml"
    lines = settings.read_text().splitlines()
    listed = ", ".join(f'"rules/{name}"' for name in files)
    (at,) = [i for i, line in enumerate(lines) if line.startswith("files = ") and "rules" in line]
    lines[at] = f"files = [{listed}]"
    settings.write_text("\n".join(lines))


def test_exported_rules_map_messages_as_the_rules_do(rml: Run, run: Run, folder: Path) -> None:
    message = folder / "messages" / "paper.xml"
    config = folder / "sensorstream.toml"
    by_rules = run("map", "-c", config, message, status=0)
    exported = rml("export", folder / "rules" / "tracking.rules")
    assert exported.exit_code == 0, exported.output
    (folder / "rules" / "tracking.ttl").write_text(exported.stdout)
    use(folder, "tracking.ttl")
    assert run("check", "-c", config).exit_code == 0
    by_rml = run("map", "-c", config, message)

    def body(result: Result) -> set[str]:
        return {line.strip(" ;.") for line in result.stdout.splitlines() if line[:1] in " <:"}

    # Without rule files there are no prefixes: compare what is independent of them.
    assert by_rml.exit_code == 0, by_rml.output
    assert len(body(by_rml)) == len(body(by_rules))
    imported = rml("import", folder / "rules" / "tracking.ttl")
    assert imported.exit_code == 0, imported.output
    (folder / "rules" / "again.rules").write_text(imported.stdout)
    use(folder, "again.rules")
    assert body(run("map", "-c", config, message)) == body(by_rules)


def test_what_rml_cannot_say_is_named_and_the_rest_is_printed(rml: Run, folder: Path) -> None:
    rules = folder / "rules" / "more.rules"
    rules.write_text(
        "prefix : <http://sensorstream.example/tracking#>\n"
        "mapping one on message {/A} then insert individual :a a :Human .\n"
        "mapping two on message {/A} then insert individual :a-{@id |> trim} a :Human .\n"
    )
    result = rml("export", rules)
    assert result.exit_code == 1
    assert "<urn:sensorstream:rule:one> a rml:TriplesMap" in result.stdout
    assert f"{rules}:3:" in result.stderr
    assert "rule two: RML has no counterpart of the value function trim" in result.stderr


def test_a_mapping_that_is_wrong_is_an_error(rml: Run, run: Run, folder: Path) -> None:
    mapping = folder / "rules" / "wrong.ttl"
    mapping.write_text("@prefix rml: <http://w3id.org/rml/> .\n\n<#M> a rml:TriplesMap .\n")
    result = rml("import", mapping)
    assert result.exit_code == 1
    assert f"{mapping}:3:1: triples map <#M>, logical source" in result.stderr or (
        f"{mapping}:3:1: triples map <#M>: no rml:logicalSource" in result.stderr
    )
    use(folder, "tracking.rules", "wrong.ttl")
    checked = run("check", "-c", folder / "sensorstream.toml", status=1)
    assert checked.stdout.startswith(f"{mapping}:3:1: triples map <#M>: no rml:logicalSource")
