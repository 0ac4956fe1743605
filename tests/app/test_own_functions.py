"""Functions of the user's own in a whole application: on the way in, in quarantine, on replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import LanguageError, MappingError
from sensorstream.settings.settings import FunctionSettings, RuleSettings, Settings
from tests.app.conftest import Open

CODE = """def room(code: str) -> str:
    return {"A1": "hall"}[code]
"""
RULES = """prefix : <http://sensorstream.example/tracking#>
mapping seen
on message {/Seen}
then insert individual :room-{@code |> room} a :Location .
"""


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "functions.py").write_text(CODE)
    (tmp_path / "seen.rules").write_text(RULES)
    return replace(
        settings,
        rules=RuleSettings((tmp_path / "seen.rules",)),
        functions=FunctionSettings((tmp_path / "functions.py",)),
    )


def rooms(application: Application) -> list[str]:
    return [each.name.rpartition("#")[2] for each in application.window_view(10).individuals]


def test_what_a_function_refuses_is_in_quarantine_and_all_else_goes_on(
    own: Settings, open_application: Open
) -> None:
    application = open_application(own)
    with pytest.raises(MappingError, match="room: 'B7' is refused: KeyError: 'B7'"):
        application.submit(b"<Seen code='B7'/>", "test").result(300)
    application.submit(b"<Seen code='A1'/>", "test").result(300)
    assert rooms(application) == ["room-hall"]
    (kept,) = application.reader.quarantined(10)
    assert (kept.status, kept.content) == ("rejected", b"<Seen code='B7'/>")
    assert "{@code |> room}" in kept.reason
    application.close()
    assert rooms(open_application(own)) == ["room-hall"]


def test_an_application_does_not_start_with_a_faulty_function(
    own: Settings, open_application: Open, tmp_path: Path
) -> None:
    (tmp_path / "functions.py").write_text("def room(code): return code")
    with pytest.raises(LanguageError, match=r"functions\.py:1:1: function room: its first"):
        open_application(own)


def test_a_start_with_edited_functions_says_so_and_they_are_in_force_from_a_start_on_only(
    own: Settings, open_application: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    application = open_application(own)
    assert not application.reader.alerts_before(10)
    application.submit(b"<Seen code='A1'/>", "test").result(300)
    edited = CODE.replace("hall", "attic")
    (tmp_path / "functions.py").write_text(edited)
    # Neither a change of rules nor a trial reads the file again.
    rules = RULES.replace("room-{", "place-{")
    assert application.rulebook.try_put("seen.rules", rules).faults == ()
    application.rulebook.put("seen.rules", rules, "me")
    application.submit(b"<Seen code='A1'/>", "test").result(300)
    assert rooms(application) == ["room-hall", "place-hall"]
    application.close()
    again = open_application(own)
    (alert,) = again.reader.alerts_before(10)
    assert (alert.alert.kind, alert.alert.key) == ("functions-changed", "functions")
    assert "functions.py edited" in alert.alert.text
    assert "functions.py edited" in caplog.text
    again.submit(b"<Seen code='A1'/>", "test").result(300)
    assert rooms(again) == ["room-hall", "place-hall", "place-attic"]
    again.close()
    caplog.clear()
    same = open_application(own)
    assert [each.seq for each in same.reader.alerts_before(10)] == [alert.seq]
    assert "functions.py edited" not in caplog.text
