from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]
UGLY = 'rule  a on change # why\nthen reply "x"'
NEAT = 'rule a\non change  # why\nthen\n  reply "x"\n'


def test_a_file_gets_the_standard_layout_and_keeps_its_mode(run: Run, tmp_path: Path) -> None:
    file, neat = tmp_path / "a.rules", tmp_path / "b.rules"
    file.write_text(UGLY)
    neat.write_text(NEAT)
    file.chmod(0o640)
    result = run("fmt", file, neat)
    assert (result.exit_code, result.stdout) == (0, f"{file}\n")
    assert file.read_text() == NEAT
    assert file.stat().st_mode & 0o777 == 0o640
    assert run("fmt", file).stdout == ""
    assert sorted(tmp_path.iterdir()) == [file, neat]


def test_what_one_that_was_killed_has_left_is_removed(run: Run, tmp_path: Path) -> None:
    left = tmp_path / ".sensorstream-fmt-x"
    left.mkdir()
    (left / "new").touch()
    (tmp_path / "a.rules").write_text(UGLY)
    assert run("fmt", tmp_path / "a.rules").exit_code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["a.rules"]


def test_a_link_goes_on_leading_to_the_file(run: Run, tmp_path: Path) -> None:
    file, link = tmp_path / "a.rules", tmp_path / "link.rules"
    file.write_text(UGLY)
    link.symlink_to(file)
    assert run("fmt", link).exit_code == 0
    assert link.is_symlink()
    assert file.read_text() == NEAT


def test_check_changes_nothing_and_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text(UGLY)
    result = run("fmt", "--check", file)
    assert (result.exit_code, result.stdout) == (1, f"{file} would change\n")
    assert file.read_text() == UGLY
    file.write_text(NEAT)
    assert run("fmt", "--check", file).exit_code == 0


def test_the_result_can_be_printed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text(UGLY)
    assert run("fmt", "--stdout", file).stdout == NEAT
    assert file.read_text() == UGLY
    assert run("fmt", "-", given=UGLY).stdout == NEAT
    assert run("fmt", "--stdout", "--check", file).exit_code == 2


def test_a_query_of_another_language_is_printed_in_ours(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    theirs = "REGISTER QUERY q AS SELECT ?s FROM STREAM <s> [RANGE 3s STEP 1s] { ?s <p> ?o } # why"
    file.write_text(theirs)
    assert run("fmt", "--stdout", file).stdout == (
        "REGISTER RSTREAM q AS\nSELECT ?s\n"
        "FROM WINDOW <urn:sensorstream:window:1> ON <s> [RANGE PT3S STEP PT1S]\n"
        "REPORT ON WINDOW CLOSE\nWHERE {\n  ?s <p> ?o .\n}\n"
    )
    refused = run("fmt", file, status=1)
    assert "expected --stdout" in refused.stderr
    assert file.read_text() == theirs


def test_a_faulty_file_is_left_as_it_is_and_the_others_are_laid_out(
    run: Run, tmp_path: Path
) -> None:
    faulty, good, binary = (tmp_path / name for name in ("a.rules", "b.rules", "c.rules"))
    faulty.write_text("rule a\non chance")
    good.write_text(UGLY)
    binary.write_bytes(b"# \n\xff")
    result = run("fmt", faulty, binary, tmp_path / "no.rules", good, status=1)
    errors = result.stderr.splitlines()
    assert errors[0].startswith(f"error[language]: {faulty}:2:4: unexpected 'chance': expected ")
    assert errors[1] == f"error[language]: {binary}:2:1: the line is not UTF-8: expected a text"
    assert "no.rules" in errors[2]
    assert faulty.read_text() == "rule a\non chance"
    assert good.read_text() == NEAT


def test_rules_over_time_are_refused_as_what_they_are(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "fire.dotr"
    file.write_text("define { :it a :Fire }")
    result = run("fmt", file, status=1)
    assert "rules over time have no standard layout" in result.stderr
    assert file.read_text() == "define { :it a :Fire }"
