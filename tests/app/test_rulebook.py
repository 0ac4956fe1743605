"""Rule files changed while messages come in, over a real PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import (
    ChangedMeanwhile,
    LanguageError,
    OntologyError,
    RulesError,
    UnknownRules,
    UnknownVersion,
)
from sensorstream.settings.settings import (
    FunctionSettings,
    OntologySettings,
    RuleSettings,
    Settings,
)
from tests.app.conftest import Open
from tests.databases import forget_effects
from tests.waiting import eventually

ONTOLOGY = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Human a owl:Class . :level a owl:DatatypeProperty . :grade a owl:DatatypeProperty .
"""
PREFIXES = """prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
"""
MAPPING = (
    PREFIXES
    + """mapping person on message {/p}
then update individual :{@id} a :Human at {@t} ; :%s {@level}^^xsd:integer .
"""
)
ALERT = PREFIXES + 'rule seen on insert :Human as ?x then alert info "%s {?x}"\n'


@pytest.fixture
def small(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "map.rules").write_text(MAPPING % "level")
    (tmp_path / "alerts.rules").write_text(ALERT % "first")
    return replace(
        settings,
        path=tmp_path / "sensorstream.toml",
        ontology=OntologySettings((tmp_path / "o.ttl",)),
        rules=RuleSettings((tmp_path / "map.rules", tmp_path / "alerts.rules")),
    )


def send(application: Application, name: str, time: int) -> None:
    application.submit(f"<p id='{name}' t='{time}' level='7'/>".encode(), "test").result(60)


def told(application: Application) -> list[str]:
    """The texts of the alerts, oldest first."""
    found = [each.alert.text for each in application.reader.alerts_before(100)]
    return [text.replace("http://example.org/", "") for text in reversed(found)]


def properties(application: Application, name: str) -> set[str]:
    values = application.individuals.individual(f"http://example.org/{name}").values
    return {each.triple[1].rpartition("/")[2] for each in values} & {"level", "grade"}


def test_a_rule_file_that_is_put_counts_from_the_next_message_on_and_after_a_restart(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    rulebook = application.rulebook
    assert rulebook.files().origin == "settings"
    send(application, "a", 1)
    change = rulebook.put("alerts.rules", ALERT % "second", "key:me")
    send(application, "b", 2)
    rulebook.put("more.rules", ALERT.replace("seen", "again") % "third", "key:me")
    send(application, "c", 3)
    rulebook.remove("alerts.rules", "key:you")
    send(application, "d", 4)
    expected = ["first a", "second b", "second c", "third c", "third d"]
    assert told(application) == expected
    versions = list(rulebook.versions.all("alerts.rules"))
    assert [(each.by, each.text) for each in versions] == [
        ("settings", (ALERT % "first").encode()),
        ("key:me", (ALERT % "second").encode()),
        ("key:you", None),
    ]
    assert versions[1].change == change
    assert rulebook.versions.one(change, "alerts.rules") == versions[1]
    with pytest.raises(UnknownVersion, match=f"there are m2, {change}"):
        rulebook.versions.one(versions[2].change, "alerts.rules")
    window, files = application.window_view(100), rulebook.files()
    application.close()
    again = open_application(small)
    assert again.window_view(100) == window
    assert again.rulebook.files() == files
    assert [(each.name, each.on_disk) for each in files.files] == [
        ("map.rules", "same"),
        ("more.rules", "absent"),
    ]
    send(again, "e", 5)
    assert told(again) == [*expected, "third e"]
    again.close()
    forget_effects(small.history.url)
    # Each message meets the rules of its time again.
    replayed = open_application(small)
    assert told(replayed) == [*expected, "third e"]
    assert replayed.rulebook.files() == files


def test_mapping_rules_change_and_a_new_ontology_keeps_what_was_put(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    application.rulebook.put("map.rules", MAPPING % "grade", "me")
    # An edit that nobody has put counts for nothing, now and at the next start.
    small.rules.files[1].write_text(ALERT % "edited")
    application.ontologies.put(ONTOLOGY.encode(), "text/turtle")
    send(application, "b", 2)
    assert told(application) == ["first a", "first b"]
    assert (properties(application, "a"), properties(application, "b")) == ({"level"}, {"grade"})
    edited = application.rulebook.file("alerts.rules")
    assert (edited.on_disk, edited.text) == ("differs", ALERT % "first")
    application.close()
    again = open_application(small)
    send(again, "c", 3)
    assert told(again)[-1] == "first c"
    assert properties(again, "c") == {"grade"}


def test_messages_meet_the_table_of_their_time_whatever_its_file_says_now(
    small: Settings, open_application: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = tmp_path / "tables" / "levels.csv"
    table.parent.mkdir()
    table.write_text("code,level\n7,70\n")
    looked_up = (
        (MAPPING % "level")
        .replace(
            "mapping person",
            'table levels from "tables/levels.csv" key "code" value "level"\nmapping person',
        )
        .replace("{@level}", "{@level |> lookup levels}")
    )
    small.rules.files[0].write_text(looked_up)

    def levels(application: Application, *names: str) -> list[str]:
        found = []
        for name in names:
            values = application.individuals.individual(f"http://example.org/{name}").values
            found += [
                e.triple[2].n3.split('"')[1] for e in values if str(e.triple[1]).endswith("level")
            ]
        return found

    application = open_application(small)
    send(application, "a", 1)
    application.rulebook.put("alerts.rules", ALERT % "second", "me")
    table.write_text("code,level\n7,71\n")
    send(application, "b", 2)
    assert application.rulebook.files().tables == {"tables/levels.csv": "differs"}
    assert levels(application, "a", "b") == ["70", "70"]
    application.close()
    forget_effects(small.history.url)
    caplog.clear()
    replayed = open_application(small)
    assert "tables/levels.csv: not as put; 'sensorstream apply'" in caplog.text
    assert levels(replayed, "b") == ["70"]
    # The same rules put again bring the table as it is now.
    change = replayed.rulebook.put("map.rules", looked_up, "me")
    send(replayed, "c", 3)
    assert levels(replayed, "b", "c") == ["70", "71"]
    replayed.close()
    forget_effects(small.history.url)
    again = open_application(small)
    assert levels(again, "b", "c") == ["70", "71"]
    assert again.rulebook.files().origin == change


def test_what_cannot_be_put_is_refused_and_changes_nothing(
    small: Settings, open_application: Open, tmp_path: Path
) -> None:
    application = open_application(small)
    rulebook = application.rulebook
    before = rulebook.files()
    with pytest.raises(LanguageError, match=r"Stranger") as caught:
        rulebook.put("alerts.rules", (ALERT % "x").replace(":Human", ":Stranger"), "me")
    assert caught.value.position is not None
    assert caught.value.position.file.endswith("alerts.rules")
    with pytest.raises(LanguageError):
        rulebook.put("alerts.rules", "this is no rule", "me")
    with pytest.raises(LanguageError, match="seen"):
        rulebook.put("twice.rules", ALERT % "x", "me")
    for name in ("../etc.rules", "map.owl", ".rules", "a/b.rules", "x" * 200 + ".rules"):
        with pytest.raises(RulesError, match=r"expected letters"):
            rulebook.put(name, ALERT % "x", "me")
    outside = tmp_path.parent / "outside.csv"
    outside.write_text("a,b\n")
    table = PREFIXES + 'table secret from "../outside.csv" key "a" value "b"\n'
    with pytest.raises(LanguageError, match=r"not a file of the deployment's folder"):
        rulebook.put("table.rules", table, "me")
    secret = tmp_path / "server.key"
    secret.write_text("ssk_secret,b\n")
    (tmp_path / "link.csv").symlink_to(secret)
    for path in ("server.key", "link.csv"):
        table = PREFIXES + f'table secret from "{path}" key "a" value "b"\n'
        with pytest.raises(LanguageError, match=r"whose name ends with '\.csv'") as caught:
            rulebook.put("table.rules", table, "me")
        (fault,) = rulebook.try_put("table.rules", table).faults
        assert "ssk_secret" not in caught.value.message + fault.message
    with pytest.raises(UnknownRules, match=r"there are map\.rules, alerts\.rules"):
        rulebook.remove("gone.rules", "me")
    with pytest.raises(UnknownRules):
        list(rulebook.versions.all("gone.rules"))
    with pytest.raises(ChangedMeanwhile):
        rulebook.put("alerts.rules", ALERT % "x", "me", lambda digest: digest == "old")
    assert rulebook.files() == before
    # The same text is no change.
    assert rulebook.put("alerts.rules", ALERT % "first", "me") == "settings"
    assert list(rulebook.versions.all("alerts.rules")) == []


def test_a_message_is_tried_with_the_rules_or_others_and_leaves_nothing(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    rulebook = application.rulebook
    message = b"<p id='ann' t='5' level='7' note='new'/>"
    before = rulebook.files()
    tried = rulebook.try_message(message, "test", {})
    assert (tried.status, tried.matched, tried.faults) == ("accepted", ("person",), ())
    assert {each[1].rpartition("/")[2] for each in tried.statements} >= {"level"}
    assert [each.text for each in tried.alerts] == ["first http://example.org/ann"]
    (explained,) = tried.explanations
    found = {each.role: each.values for each in explained.rules[0].expressions}
    assert found[":level"] == ("7",)
    assert [each.path for each in explained.unmapped] == ["/p/@note"]
    other = rulebook.try_message(message, "test", {"map.rules": MAPPING % "grade"})
    assert {each[1].rpartition("/")[2] for each in other.statements} >= {"grade"}
    (fault,) = rulebook.try_message(message, "test", {"map.rules": MAPPING % "depth"}).faults
    assert fault.position is not None
    broken = rulebook.try_message(b"<p", "test", {})
    assert (broken.status, broken.explanations) == ("rejected", ())
    assert broken.unexplained == "the message cannot be read"
    assert rulebook.files() == before
    # Nor has any alert been raised when a message that is taken in has raised its own.
    send(application, "bob", 1)
    eventually(lambda: told(application))
    assert told(application) == ["first bob"]
    assert rulebook.try_message(message, "test", {}) == tried


def test_a_message_is_tried_after_the_last_ones(small: Settings, open_application: Open) -> None:
    (small.path.parent / "alerts.rules").write_text(
        PREFIXES
        + """rule second on insert :Human as ?x
if select { SELECT ?y { ?y a :Human FILTER(?y != ?x) } }
then alert info "{?x} after {?y}"
"""
    )
    application = open_application(small)
    for number, name in enumerate(("ann", "bob", "cid"), 1):
        send(application, name, number)
    tried = application.rulebook.try_message
    new = b"<p id='dan' t='9' level='7'/>"
    assert tried(new, "test", {}).alerts == ()
    after = tried(new, "test", {}, 2)
    assert after.preceding == 2
    assert sorted(each.text[-4:] for each in after.alerts) == ["/bob", "/cid"]
    assert after.statements == tried(new, "test", {}).statements
    # One that has come already is tried as it came.
    again = tried(b"<p id='bob' t='2' level='7'/>", "test", {}, 100)
    assert again.preceding == 1
    assert [each.text[-4:] for each in again.alerts] == ["/ann"]


def test_rules_are_tried_on_recent_messages_and_put_nothing(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    rulebook = application.rulebook
    for number in range(1, 5):
        send(application, f"p{number}", number)
    before = rulebook.files()
    same = rulebook.try_put("alerts.rules", ALERT % "first")
    assert (same.messages, same.different, same.faults) == (4, 0, ())
    other = rulebook.try_put("alerts.rules", (ALERT % "second"))
    assert (other.messages, other.different) == (4, 4)
    (one, *_) = other.differences
    assert one.message == "m1"
    assert [alert.partition(": ")[2][:5] for alert in one.before.alerts] == ["first"]
    assert [alert.partition(": ")[2][:6] for alert in one.after.alerts] == ["second"]
    assert one.before.statements == one.after.statements == ()
    mapped = rulebook.try_all({"map.rules": MAPPING % "grade", "alerts.rules": ALERT % "first"})
    assert mapped.different == 4
    (statement,) = mapped.differences[0].after.statements
    assert "grade" in statement
    unmapped = rulebook.try_all({"alerts.rules": ALERT % "first"})
    assert {each.after.status for each in unmapped.differences} == {"unmatched"}
    assert (unmapped.lost_before, unmapped.lost_after) == (0, 4)
    # All faults of all files, each with its place.
    wrong = rulebook.try_all(
        {
            "map.rules": (MAPPING % "depth"),
            "alerts.rules": (ALERT % "x").replace(":Human", ":Stranger"),
        }
    )
    places = [Path(each.position.file).name for each in wrong.faults if each.position is not None]
    assert sorted(set(places)) == ["alerts.rules", "map.rules"]
    assert wrong.messages == 0
    table = PREFIXES + 'table secret from "/etc/hostname" key "a" value "b"\n'
    (outside,) = rulebook.try_put("table.rules", table).faults
    assert "not a file of the deployment's folder" in outside.message
    assert rulebook.files() == before
    assert list(rulebook.versions.all("alerts.rules")) == []


def test_a_start_says_that_the_rules_put_do_not_fit_a_changed_ontology(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    application.rulebook.put("alerts.rules", ALERT % "second", "me")
    application.close()
    small.ontology.files[0].write_text(ONTOLOGY.replace(":Human a owl:Class .", ""))
    small.rules.files[0].write_text("")
    small.rules.files[1].write_text("")
    with pytest.raises(LanguageError, match=r"Human.*\(in the rules put as m2, not in the files"):
        open_application(small)


def test_a_broken_file_that_is_not_in_force_stops_no_start_and_is_told(
    small: Settings, open_application: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = tmp_path / "own.py"
    own.write_text("def twice(x: str) -> str:\n    return x * 2\n")
    small = replace(small, functions=FunctionSettings((own,)))
    application = open_application(small)
    assert "files" not in {part.name for part in application.health.parts()}
    send(application, "a", 1)
    application.rulebook.put("alerts.rules", ALERT % "second", "me")
    send(application, "b", 2)
    window = application.window_view(100)
    application.close()
    small.rules.files[0].write_text("mapping of what")
    small.rules.files[1].unlink()
    own.write_text("def twice(:")
    again = open_application(small)
    assert again.window_view(100) == window
    send(again, "c", 3)
    assert told(again)[-1] == "second c"
    (part,) = [each for each in again.health.parts() if each.name == "files"]
    assert part.ready
    assert "map.rules" in part.detail or "alerts.rules" in part.detail
    assert "the files are broken, and what was put is in force instead" in caplog.text
    again.ontologies.put(ONTOLOGY.encode(), "text/turtle")
    again.close()
    # From here on even the ontology's file is not in force.
    small.ontology.files[0].write_text("no Turtle")
    last = open_application(small)
    send(last, "d", 4)
    assert told(last)[-1] == "second d"


def test_a_broken_file_that_is_in_force_stops_the_start(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    application.rulebook.put("alerts.rules", ALERT % "second", "me")
    application.close()
    small.ontology.files[0].write_text("no Turtle")
    with pytest.raises(OntologyError, match=r"o\.ttl"):
        open_application(small)
