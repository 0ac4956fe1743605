from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sensorstream.cli import main
from sensorstream.cli.init_command import TEMPLATES
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings_file import load_settings


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments])


def test_a_new_folder_holds_all_that_a_deployment_needs(tmp_path: Path) -> None:
    result = init(str(tmp_path / "new" / "place"))
    assert result.exit_code == 0, result.output
    folder = tmp_path / "new" / "place"
    settings = load_settings(folder / "sensorstream.toml", {})
    assert settings.ontology.files == (folder / "ontology" / "tracking.ttl",)
    assert settings.rules.files == (folder / "rules" / "tracking.rules",)
    assert (folder / "messages" / "paper.xml").read_bytes() == PAPER_MESSAGE
    assert (folder / "README.md").exists()
    assert "sensorstream serve -c" in result.output


def test_an_existing_empty_folder_will_do(tmp_path: Path) -> None:
    assert init(str(tmp_path)).exit_code == 0


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    result = init(str(tmp_path))
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_has_messages_and_its_time_line(template: str, tmp_path: Path) -> None:
    assert init(str(tmp_path), "--template", template).exit_code == 0
    settings = load_settings(tmp_path / "sensorstream.toml", {})
    expected = {"tracking": Timeline.INTEGER, "city": Timeline.DATETIME}
    assert settings.time.timeline is expected[template]
    assert len(list((tmp_path / "messages").glob("*.xml"))) >= 3


def test_an_empty_deployment_is_valid(tmp_path: Path) -> None:
    result = init(str(tmp_path / "new"), "--empty")
    assert result.exit_code == 0, result.output
    config = str(tmp_path / "new" / "sensorstream.toml")
    checked = CliRunner().invoke(main, ["check", "-c", config])
    assert checked.exit_code == 0, checked.output
    assert "ok: 0 classes" in checked.stdout


def test_only_one_kind_of_folder_is_made(tmp_path: Path) -> None:
    result = init(str(tmp_path / "new"), "--empty", "--template", "city")
    assert result.exit_code == 2
    assert "only one of --template, --from and --empty" in result.stderr
