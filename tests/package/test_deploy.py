"""The unit, the image and the compose file: what can be tried without systemd and a registry."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from sensorstream.cli import main
from sensorstream.cli.init_command import TEMPLATES
from sensorstream.installation import EXTRAS
from sensorstream.server.http_connection import HEALTH
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import PREFIX, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "sensorstream.service").read_text(encoding="utf-8")
IMAGE = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
COMPOSE: Mapping[str, Any] = yaml.safe_load(
    (DEPLOY / "compose.yaml")
    .read_text(encoding="utf-8")
    .replace("${POSTGRES_PASSWORD:?set it}", "p")
)


def settings(folder: Path, variables: Mapping[str, str]) -> Settings:
    file = folder / "sensorstream.toml"
    file.touch()
    return load_settings(file, variables)


def instructions(name: str) -> list[str]:
    """What follows an instruction of the image, in order."""
    return re.findall(rf"^{name} +(.*)$", IMAGE, re.MULTILINE)


def image_variables() -> dict[str, str]:
    return dict(re.findall(rf"({PREFIX}\w+)=(\S+)", " ".join(instructions("ENV"))))


def resolves(command: list[str]) -> bool:
    """Whether the command line knows a command."""
    context = main.make_context("sensorstream", list(command), resilient_parsing=True)
    assert isinstance(main, click.Group)
    return main.get_command(context, command[0]) is not None


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze, which checks units, is not installed",
)
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("sensorstream")
    unit = tmp_path / "sensorstream.service"
    unit.write_text(UNIT.replace("/opt/sensorstream/bin/sensorstream", str(program)))
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    # Threshold in tenths: what the document says, and no more.
    exposed = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=17", unit],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert exposed.returncode == 0, exposed.stdout[-200:]


def test_the_unit_starts_a_server_and_sets_what_is_a_setting(tmp_path: Path) -> None:
    [started] = re.findall(r"^ExecStart=\S+ (.*)$", UNIT, re.MULTILINE)
    assert resolves(started.split())
    given = dict(re.findall(rf"^Environment=({PREFIX}\w+)=(.*)$", UNIT, re.MULTILINE))
    assert settings(tmp_path, given).log.format == "json"


def test_the_image_copies_what_is_there_and_starts_a_server(tmp_path: Path) -> None:
    assert (ROOT / "requirements.txt").is_file()
    [extras] = re.findall(r"whl\)\[([a-z,]+)\]", IMAGE)
    assert set(extras.split(",")) <= set(EXTRAS)
    [entry], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    assert json.loads(entry) == ["sensorstream"]
    assert resolves(json.loads(command))
    told = settings(tmp_path, image_variables())
    # Others can reach it, so it must need keys.
    assert told.server.host == "0.0.0.0"
    assert told.http.keys
    [exposed] = instructions("EXPOSE")
    assert int(exposed) == told.server.port
    [path] = re.findall(rf"http://127\.0\.0\.1:{exposed}(/\w+)", IMAGE)
    assert path.encode() in HEALTH
    [user] = instructions("USER")
    assert f"useradd --uid {user} " in IMAGE


def test_the_services_fit_each_other(tmp_path: Path) -> None:
    services = COMPOSE["services"]
    server, postgres = services["server"], services["postgres"]
    told = settings(tmp_path, {**image_variables(), **server["environment"]})
    own = postgres["environment"]
    assert told.history.url == (
        f"postgresql://{own['POSTGRES_USER']}:{own['POSTGRES_PASSWORD']}@postgres/"
        f"{own['POSTGRES_DB']}"
    )
    [port] = server["ports"]
    assert port == f"127.0.0.1:{told.server.port}:{told.server.port}"
    build = server["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    [volume] = server["volumes"]
    assert volume.split(":")[1] == instructions("WORKDIR")[0] == instructions("VOLUME")[0]
    named = {v.split(":")[0] for each in services.values() for v in each.get("volumes", ())}
    assert {each for each in named if not each.startswith(".")} == set(COMPOSE["volumes"])


CHART = DEPLOY / "helm" / "sensorstream"
VALUES: Mapping[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
HELM = shutil.which("helm")
GIVEN = {
    "template": "city",
    "files": {"rules/mine.rules": "prefix : <http://example.org/>\n"},
    "settings": {"LIMITS_QUESTIONS": "8"},
    "history": {"url": "postgresql://u:p@h/d"},
    "ingress": {"enabled": True, "tlsSecret": "tls"},
}


def test_the_chart_is_of_this_version_and_its_values_are_as_its_schema_says() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert chart["version"] == chart["appVersion"] == version
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(VALUES, schema)
    jsonschema.validate({**VALUES, **GIVEN}, schema)
    assert set(schema["properties"]["template"]["enum"]) == {"", *TEMPLATES}
    for wrong in ({"settings": {"LIMITS_QUESTIONS": 8}}, {"files": {"../x": ""}}, {"replicas": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**VALUES, **wrong}, schema)
    used = set(re.findall(r"\.Values\.(\w+)", "".join(map(Path.read_text, CHART.rglob("*.*")))))
    assert used == VALUES.keys()


def test_the_chart_fits_the_image() -> None:
    server = (CHART / "templates" / "server.yaml").read_text(encoding="utf-8")
    [user] = instructions("USER")
    assert set(re.findall(r"(?:runAs\w+|fsGroup): (\d+)", server)) == {user}
    assert re.findall(r"containerPort: (\d+)", server) == instructions("EXPOSE")
    assert {each.encode() for each in re.findall(r"path: (/\w+)", server)} <= HEALTH
    [folder] = instructions("WORKDIR")
    assert set(re.findall(r"mountPath: (/srv\S+)\}", server)) == {folder}
    notes = (CHART / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    [command] = re.findall(r"-- sensorstream (.*)$", notes, re.MULTILINE)
    assert resolves(command.split())


@pytest.mark.skipif(HELM is None, reason="helm, which reads charts, is not installed")
@pytest.mark.parametrize("given", [{}, GIVEN])
def test_helm_accepts_the_chart_and_its_folder_is_a_deployment(
    given: Mapping[str, Any], tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(given), encoding="utf-8")

    def helm(*arguments: str) -> str:
        command = [str(HELM), *arguments, str(CHART), "--values", str(values)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    helm("lint", "--strict")
    made = {each["kind"]: each for each in yaml.safe_load_all(helm("template", "demo"))}
    assert ({"Ingress", "ConfigMap", "Secret"} <= made.keys()) == bool(given)
    pod = made["StatefulSet"]["spec"]["template"]["spec"]
    server = pod["containers"][0]
    variables = {each["name"]: each.get("value", "x") for each in server.get("env", ())}
    assert settings(tmp_path, variables).limits.questions == (8 if given else 4)
    files = tmp_path / "files"
    if given:
        [volume] = [each["configMap"] for each in pod["volumes"] if each["name"] == "files"]
        for item in volume["items"]:
            (files / item["path"]).parent.mkdir(parents=True)
            (files / item["path"]).write_text(made["ConfigMap"]["data"][item["key"]])
    first = pod["initContainers"][0]
    script = first["args"][0].replace("/files/", f"{files}/")
    given_path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for _ in range(2):  # The second start finds the folder.
        command = [*first["command"], script]
        subprocess.run(command, cwd=tmp_path, env=given_path, check=True, timeout=60)
    kept = load_settings(tmp_path / "deployment" / "sensorstream.toml", {})
    assert [each.name for each in kept.rules.files][
        -1
    ] == f"{'mine' if given else 'tracking'}.rules"


def test_the_commands_of_the_document_are_there() -> None:
    text = (ROOT / "docs" / "operate" / "operations.md").read_text(encoding="utf-8")
    commands = re.findall(
        r"(?:^|bin/|run --rm server |-0 -- )(?:sensorstream )?((?:init|keys) .*)$", text, re.M
    )
    assert len(commands) == 4
    assert all(resolves(each.split()) for each in commands)
