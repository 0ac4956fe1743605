"""The rule sets of the reasoner, edited and changed, over a real PostgreSQL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.file_faults import faults
from sensorstream.app.control.wiring import reasoner_of
from sensorstream.app.life.recovery import find_start, skip_entry
from sensorstream.errors import (
    LanguageError,
    OntologyConflict,
    OntologyError,
    RulesError,
    SensorStreamError,
    SettingsError,
)
from sensorstream.history.journal_rows import entries
from sensorstream.history.store import PostgresStore
from sensorstream.kb.graph_index import Origin
from sensorstream.model.terms import BlankNode, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.reasoner import Aside
from sensorstream.reasoning.rulesets.rule_set_reader import text_of
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from sensorstream.testing import DAWN
from tests.app.conftest import Open
from tests.app.test_rereasoning import again, inferred
from tests.databases import execute, forget_effects
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Actor a owl:Class . :Human a owl:Class ; rdfs:subClassOf :Actor . :Guide a owl:Class .
:near a owl:ObjectProperty ; rdfs:domain :Guide .
"""
RULES = """prefix : <http://example.org/>
mapping person on message {/p}
then update individual :{@id} a :{@kind} at {@t} ; :near :{@near} .
"""
PREFIXES = "PREFIX : <http://example.org/> PREFIX ss: <urn:sensorstream:mapping#>\n"
SEEN = PREFIXES + "# seen\nINSERT { ?x a :Seen } WHERE { ?x a :Human } ;\n"
KNOWN = PREFIXES + "# known\nINSERT { ?x a :Known } WHERE { ?x :near ?y . ?y a :Human } ;\n"
LOST = PREFIXES + (
    "# lost\nDELETE { ?x :near :gone } INSERT { ?x :near :nobody } "
    "WHERE { ?x a :Known ; :near :gone } ;"
)
AMISS = PREFIXES + (
    '# alone\nINSERT { ?x ss:contradiction "nobody is near" } WHERE { ?x a :Human } ;\n'
)


@pytest.fixture
def small(settings: Settings, tmp_path: Path) -> Settings:
    return deployment(settings, tmp_path, settings.history.url)


def deployment(settings: Settings, folder: Path, url: str) -> Settings:
    (folder / "rules").mkdir(parents=True)
    (folder / "o.ttl").write_text(ONTOLOGY)
    (folder / "map.rules").write_text(RULES)
    (folder / "rules" / "mine.ru").write_text(SEEN)
    return replace(
        settings,
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((folder / "o.ttl",)),
        rules=RuleSettings((folder / "map.rules",)),
        reasoning=ReasoningSettings("rules/mine.ru"),
        window=WindowSettings(size="3"),
        history=replace(settings.history, url=url),
    )


def send(
    application: Application, name: str, time: int, near: str = "b", kind: str = "Human"
) -> None:
    content = f"<p id='{name}' t='{time}' near='{near}' kind='{kind}'/>"
    application.submit(content.encode(), "test").result(60)


def classes(application: Application, name: str) -> set[str]:
    values = application.individuals.individual(f"http://example.org/{name}").values
    kinds = (each.triple[2] for each in values if each.triple[1].endswith("#type"))
    return {str(each).rpartition("/")[2] for each in kinds}


def test_entries_from_before_an_edit_meet_the_rule_set_of_their_time_again(
    settings: Settings, new_database: Callable[[], str], tmp_path: Path, open_application: Open
) -> None:
    stories = []
    for name in ("clean", "killed"):
        small = deployment(settings, tmp_path / name, new_database())
        application = open_application(small)
        send(application, "a", 1)
        send(application, "b", 4)
        application.close()
        if name == "killed":
            forget_effects(small.history.url)
        (small.folder / "rules" / "mine.ru").write_text(KNOWN)
        application = open_application(small)
        assert classes(application, "a") == {"Human", "Known"}
        send(application, "c", 6)
        assert classes(application, "c") == {"Human", "Known"}
        kept = application.rulebook.files()
        assert kept.origin == "settings"
        assert [(each.name, each.on_disk) for each in kept.files] == [
            ("map.rules", "same"),
            ("mine.ru", "same"),
        ]
        texts = [each.text for each in application.rulebook.versions.all("mine.ru")]
        assert texts == [SEEN.encode(), KNOWN.encode()]
        application.close()
        stories.append(sorted(map(str, inferred(small)[0])))
    assert stories[0] == stories[1]
    assert sum("Seen" in each for each in stories[0]) == 1


def test_a_start_writes_what_it_has_found_only_if_that_is_new(
    small: Settings, open_application: Open
) -> None:
    def entries() -> int:
        connection = psycopg2.connect(small.history.url)
        with connection, connection.cursor() as cursor:
            cursor.execute("select count(*) from store.messages where kind = 'rules'")
            (count,) = cursor.fetchone() or (0,)
        connection.close()
        return int(count)

    both = replace(small, reasoning=ReasoningSettings("rhodf, rules/mine.ru"))
    found = []
    for settings in (small, small, both, both, small):
        open_application(settings).close()
        found.append(entries())
    assert found == [1, 1, 2, 2, 3]


def test_a_rule_set_that_was_put_holds_whatever_its_file_says(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    change = application.rulebook.put("mine.ru", KNOWN, "me")
    send(application, "b", 4)
    assert classes(application, "a") == {"Human", "Known"}
    application.rulebook.put("rdfs.ru", text_of("rdfs"), "me")
    assert "Actor" in classes(application, "a")
    application.rulebook.remove("mine.ru", "me")
    assert "Known" not in classes(application, "b")
    assert "Guide" in classes(application, "b")
    application.close()
    (small.folder / "rules" / "mine.ru").write_text(AMISS)
    story = inferred(small)
    forget_effects(small.history.url)
    replayed = open_application(small)
    assert [each.name for each in replayed.rulebook.files().files] == ["map.rules", "rdfs.ru"]
    version = replayed.rulebook.versions.one(change, "mine.ru")
    assert (version.text, version.by) == (KNOWN.encode(), "me")
    replayed.close()
    assert sorted(map(str, inferred(small)[0])) == sorted(map(str, story[0]))


VISIT = PREFIXES + "# visit\nINSERT { ?x :visit [ a :Visit ; :of ?x ] } WHERE { ?x a :Human } ;\n"


def test_nodes_that_rules_make_are_in_the_history_and_the_same_after_a_restart(
    small: Settings, open_application: Open
) -> None:
    (small.folder / "rules" / "mine.ru").write_text(VISIT)
    application = open_application(small)
    for time, name in enumerate("abcdea", 1):
        send(application, name, time)
    (visit,) = values_of(application, "a", "visit")
    application.close()
    rows = inferred(small)[0]
    kept = sorted(map(str, rows))
    nodes = {triple[2]: triple[0] for _, triple, _, _ in rows if triple[1].endswith("/visit")}
    assert len(nodes) == 5
    assert nodes[BlankNode(visit)] == "http://example.org/a"
    assert {triple[0] for _, triple, _, _ in rows if triple[2].endswith("/Visit")} == set(nodes)
    forget_effects(small.history.url)
    replayed = open_application(small)
    assert values_of(replayed, "a", "visit") == {visit}
    replayed.close()
    assert sorted(map(str, inferred(small)[0])) == kept


def values_of(application: Application, name: str, name_of_property: str) -> set[str]:
    values = application.individuals.individual(f"http://example.org/{name}").values
    return {str(v.triple[2]) for v in values if v.triple[1].endswith(f"/{name_of_property}")}


def near(application: Application, name: str) -> set[str]:
    return {each.rpartition("/")[2] for each in values_of(application, name, "near")}


def test_rules_that_delete_are_put_with_the_others_and_what_they_did_stays(
    small: Settings, open_application: Open
) -> None:
    known = "# known\nINSERT { ?x a :Known } WHERE { ?x :near ?y } ;\n"
    application = open_application(small)
    send(application, "a", 1, near="gone")
    application.rulebook.put("mine.ru", f"{LOST}\n{known}", "me")
    send(application, "b", 2, near="gone")
    assert (near(application, "a"), near(application, "b")) == ({"nobody"}, {"nobody"})
    application.close()
    forget_effects(small.history.url)
    replayed = open_application(small)
    assert (near(replayed, "a"), near(replayed, "b")) == ({"nobody"}, {"nobody"})
    replayed.rulebook.put("mine.ru", PREFIXES + known, "me")
    send(replayed, "c", 3, near="gone")
    assert (near(replayed, "b"), near(replayed, "c")) == ({"nobody"}, {"gone"})


def test_what_keeps_a_rule_that_deletes_from_firing_is_told(
    small: Settings, open_application: Open
) -> None:
    (small.folder / "rules" / "mine.ru").write_text(LOST)
    application = open_application(small)
    send(application, "a", 1, near="gone")
    assert near(application, "a") == {"gone"}
    found = application.unmet.why_not("lost", "http://example.org/a")
    assert not found.holds
    assert "?x a :Known" in found.answer


def test_a_rule_that_deletes_has_a_name_that_no_rule_of_a_file_has(
    small: Settings, open_application: Open
) -> None:
    text = LOST.replace("# lost", "# person")
    application = open_application(small)
    with pytest.raises(LanguageError, match=r"there is a rule 'person' already, at .*map\.rules"):
        application.rulebook.put("mine.ru", text, "me")
    (small.folder / "rules" / "mine.ru").write_text(text)
    (fault,) = faults(small)
    assert "there is a rule 'person' already" in str(fault)
    assert str(fault.position).endswith("rules/mine.ru:3:1")


@pytest.mark.parametrize("seed", range(2))
def test_after_a_change_is_inferred_what_a_fresh_start_infers(
    small: Settings, open_application: Open, seed: int
) -> None:
    chance = random.Random(seed)
    application = open_application(small)
    texts = {"mine.ru": (SEEN, KNOWN), "rhodf.ru": (text_of("rhodf"),), "other.ru": (KNOWN, SEEN)}
    time = 0
    for _ in range(12):
        for _ in range(chance.randint(0, 3)):
            time += 1
            send(application, chance.choice("abcd"), time, chance.choice("abx"))
        name = chance.choice(list(texts))
        there = [each.name for each in application.rulebook.files().files]
        if name in there and len(there) > 2 and chance.random() < 0.5:
            application.rulebook.remove(name, "me")
        else:
            application.rulebook.put(name, chance.choice(texts[name]), "me")
        assert now(application) == fresh(application)
    assert now(application)[1]


def now(application: Application) -> tuple[set[Triple], set[Triple]]:
    kb = application.engine.kb
    return set(kb.triples(Origin.STATIC_INFERRED)), set(kb.triples(Origin.INFERRED))


def fresh(application: Application) -> tuple[set[Triple], set[Triple]]:
    """The naive definition: another reasoner with the same graph and window."""
    deployment = application.deployment
    aside = Aside(deployment.ontology.triples, reasoner_of(deployment))
    aside.follow(application.engine.kb.triples(Origin.WINDOW))
    return set(aside.kb.triples(Origin.STATIC_INFERRED)), set(aside.kb.triples(Origin.INFERRED))


def test_what_cannot_be_put_changes_nothing(small: Settings, open_application: Open) -> None:
    application = open_application(small)
    send(application, "a", 1)
    book = application.rulebook
    with pytest.raises(OntologyConflict, match=r"contradicts the new rule sets.*nobody is near"):
        book.put("more.ru", AMISS, "me")
    broken = SEEN.replace("INSERT", "ASSERT")
    with pytest.raises(LanguageError) as caught:
        book.put("mine.ru", broken, "me")
    assert caught.value.position is not None
    assert caught.value.position.line == 3
    assert caught.value.position.file == str(small.folder / "rules" / "mine.ru")
    (fault,) = book.try_put("mine.ru", broken).faults
    assert str(fault) == str(caught.value)
    feeding = PREFIXES + "INSERT { ?x a :Alone } WHERE { ?x a :A FILTER NOT EXISTS { ?x a :B } }"
    back = PREFIXES + "INSERT { ?x a :B } WHERE { ?x a :Alone }"
    with pytest.raises(OntologyError, match=r"do not fit the ontology: .*through EXISTS, but"):
        book.put_all({"map.rules": RULES, "one.ru": feeding, "two.ru": back}, "me")
    with pytest.raises(RulesError, match=r"no rule set would be left.*profile to none"):
        book.remove("mine.ru", "me")
    told = AMISS.replace("?x a :Human", "?x a <http://www.w3.org/2002/07/owl#Class>")
    with pytest.raises(OntologyError, match="the ontology contradicts itself"):
        book.put("mine.ru", told, "me")
    assert book.files().origin == "settings"
    assert classes(application, "a") == {"Human", "Seen"}
    send(application, "b", 2)
    assert classes(application, "b") == {"Human", "Seen"}


def test_a_rule_that_calls_an_unknown_function_is_refused_at_its_place(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    calling = PREFIXES + "INSERT { ?x a :Seen } WHERE { ?x a ?y FILTER :nothing(?y) }"
    told = r"mine.ru:2:\d+: .*there is no such function.*xsd:integer"
    with pytest.raises(LanguageError, match=told):
        application.rulebook.put("mine.ru", calling, "me")
    (fault,) = application.rulebook.try_put("mine.ru", calling).faults
    assert fault.code == "language"
    send(application, "b", 2)
    assert classes(application, "b") == {"Human", "Seen"}


def test_a_start_tells_where_stored_rules_cannot_be_used_and_how_to_do_without_them(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    application.rulebook.put("mine.ru", KNOWN, "me")
    application.close()
    # As if another version had taken it.
    execute(
        small.history.url,
        "update store.messages set content = convert_to("
        "replace(convert_from(content, 'utf8'), '?y a :Human', '?y a :Human FILTER :f(?y)'),"
        " 'utf8') where kind = 'rules'",
    )
    told = r"mine.ru:3:.*no such function.*put as (m\d+), .* 'sensorstream journal skip NUMBER'"
    with pytest.raises(LanguageError, match=told) as caught:
        open_application(small)
    (put,) = set(re.findall(r"put as (m\d+)", str(caught.value)))
    with PostgresStore.open(small.history.url, Timeline.INTEGER) as store:
        number = next(each.seq for each in entries(small.history.url, 9) if each.id == put)
        skip_entry(number, "skipped: in a test", store, find_start(store), DAWN)
    again = open_application(small)
    assert classes(again, "a") == {"Human", "Seen"}


def test_a_trial_of_a_rule_set_tells_what_recent_messages_would_do(
    small: Settings, open_application: Open
) -> None:
    (small.folder / "map.rules").write_text(
        RULES + 'rule met on insert :Known as ?x then alert info "known"\n'
    )
    (small.folder / "o.ttl").write_text(ONTOLOGY + ":Known a owl:Class .")
    application = open_application(small)
    send(application, "b", 1)
    send(application, "a", 2)
    trial = application.rulebook.try_put("mine.ru", KNOWN)
    assert trial.faults == ()
    assert [each.after.alerts for each in trial.differences] == [["info met: known"]] * 2


def test_other_reasoners_take_no_rule_set(small: Settings, open_application: Open) -> None:
    plain = replace(small, reasoning=ReasoningSettings("plain"))
    application = open_application(plain)
    with pytest.raises(RulesError, match=r"mine.ru is a rule set.*profile 'plain'.*such as owl2rl"):
        application.rulebook.put("mine.ru", SEEN, "me")
    application.rulebook.put("map.rules", RULES + "# more\n", "me")
    application.close()
    # What was put has no rule sets: the new profile says which there are.
    application = open_application(small)
    send(application, "a", 1)
    assert classes(application, "a") == {"Human", "Seen"}
    application.rulebook.put("mine.ru", KNOWN, "me")
    application.close()
    application = open_application(plain)
    assert [each.name for each in application.rulebook.files().files] == ["map.rules"]
    assert classes(application, "a") == {"Human", "Actor", "Guide"}


def test_rules_that_an_edited_ontology_does_not_have_any_more_do_not_stop_a_start(
    small: Settings, open_application: Open, caplog: pytest.LogCaptureFixture
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    application.close()
    for each in ("o.ttl", "map.rules"):
        file = small.folder / each
        file.write_text(file.read_text().replace("near", "beside"))
    application = open_application(small)
    send(application, "b", 2)
    assert classes(application, "b") == {"Human", "Seen"}
    assert "the rules of the start before do not fit any more" in caplog.text
    application.close()
    forget_effects(small.history.url)
    (small.folder / "o.ttl").write_text(ONTOLOGY)
    (small.folder / "map.rules").write_text(RULES)
    assert classes(open_application(small), "b") == {"Human", "Seen"}


def test_an_edited_rule_set_that_contradicts_the_window_is_refused_and_told(
    small: Settings, open_application: Open, caplog: pytest.LogCaptureFixture
) -> None:
    application = open_application(small)
    send(application, "a", 1)
    application.close()
    (small.folder / "rules" / "mine.ru").write_text(AMISS)
    application = open_application(small)
    assert classes(application, "a") == {"Human", "Seen"}
    assert "found at this start, are refused" in caplog.text
    assert [each.on_disk for each in application.rulebook.files().files] == ["same", "differs"]


@pytest.mark.parametrize("profile", ["rules/mine.ru", "owl2rl, rules/mine.ru"])
def test_history_is_as_if_the_edited_rule_set_had_been_there(
    settings: Settings,
    new_database: Callable[[], str],
    tmp_path: Path,
    open_application: Open,
    profile: str,
) -> None:
    late, early = (
        replace(
            deployment(settings, tmp_path / name, new_database()),
            reasoning=ReasoningSettings(profile),
            # All that holds when the span begins is more than a message may be.
            limits=replace(settings.limits, message_rows=1000),
        )
        for name in ("late", "early")
    )
    (early.folder / "rules" / "mine.ru").write_text(KNOWN)
    chance = random.Random(3)
    told = [(chance.choice("abcd"), time, chance.choice("abx")) for time in range(1, 25)]
    for each in (late, early):
        application = open_application(each)
        for name, time, near in told:
            send(application, name, time, near)
        application.close()
    (late.folder / "rules" / "mine.ru").write_text(KNOWN)
    counted = again(late, dry=True)
    assert counted.added
    assert counted.removed
    assert again(late).added == counted.added

    def ended(of: Settings) -> list[str]:
        rows, last = inferred(of)
        return sorted(
            f"{triple} {start} {end}"
            for _, triple, start, end in rows
            if start < last and (end or last) < last
        )

    assert ended(late) == ended(early) != []


@pytest.mark.parametrize(
    ("profile", "files", "expected"),
    [
        ("rules/mine.ru", ("rules/mine.ru",), "name it in reasoning.profile"),
        ("rules/mine.ru, none.ru", (), "cannot read the rule set"),
        ("rhodf, rhodf.ru", (), "two rule sets have the name rhodf.ru: rename a file"),
        ("owl", (), "'owl' is not known"),
        ("bad.ru", (), "bad.ru:1:1: "),
        ("rules/mine.ru, rules/mine.dlog", (), ""),
    ],
)
def test_a_check_tells_of_rule_sets_in_the_settings(
    small: Settings, profile: str, files: tuple[str, ...], expected: str
) -> None:
    (small.folder / "rhodf.ru").write_text(text_of("rhodf"))
    (small.folder / "bad.ru").write_text("CLEAR ALL")
    (small.folder / "rules" / "mine.dlog").write_text(
        "PREFIX : <http://example.org/>\n:q(?x, ?y) :- :near(?x, ?y) .\n"
    )
    changed = replace(
        small,
        reasoning=ReasoningSettings(profile),
        rules=RuleSettings((*small.rules.files, *(small.folder / each for each in files))),
    )
    found: list[SensorStreamError] = list(faults(changed))
    if not expected:
        assert found == []
        return
    (fault,) = found
    assert isinstance(fault, LanguageError | SettingsError)
    assert expected in str(fault)


def test_metrics_tell_how_the_rules_run(small: Settings, open_application: Open) -> None:
    (small.folder / "o.ttl").write_text(
        ONTOLOGY + "owl:Class a owl:Class . rdfs:subClassOf a owl:ObjectProperty .\n"
    )
    (small.folder / "map.rules").write_text(
        "prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        "prefix owl: <http://www.w3.org/2002/07/owl#>\n" + RULES + "mapping kind on message {/k} "
        "then insert individual :{@id} a owl:Class at {@t} ; rdfs:subClassOf :{@of} .\n"
    )
    sets = "rhodf, rules/mine.ru"
    application = open_application(replace(small, reasoning=ReasoningSettings(sets)))

    def told() -> list[float | None]:
        value = application.metrics.get_sample_value
        rules = "sensorstream_reasoner_rules"
        runs = [value(rules, {"run": run}) for run in ("looked-up", "joining")]
        return [*runs, value("sensorstream_reasoner_unspecialised")]

    before = told()
    assert before[0]
    assert before[2] == 0
    application.submit(b"<k id='Human' of='Guide' t='1'/>", "test").result(60)
    send(application, "a", 2, near="")
    assert classes(application, "a") == {"Human", "Actor", "Guide", "Seen"}
    during = told()
    assert during[2] == 1
    assert during[:2] != before[:2]
    for time in range(3, 7):
        send(application, f"b{time}", time)
    assert told() == before
    application.rulebook.put("mine.ru", KNOWN, "me")
    joining = told()[1]
    assert joining is not None
    assert before[1] is not None
    assert joining > before[1]


def test_a_window_larger_than_a_message_may_be_is_taken_in_by_other_rules_and_ontologies(
    small: Settings, open_application: Open
) -> None:
    limits = replace(small.limits, message_rows=100)
    narrow = replace(small, window=WindowSettings(size="150"), limits=limits)
    application = open_application(narrow)
    for time in range(150):
        send(application, f"a{time}", time, near=f"a{max(time - 1, 0)}")
    application.rulebook.put("mine.ru", KNOWN, "me")
    assert all(classes(application, f"a{each}") == {"Human", "Known"} for each in range(150))
    new = ONTOLOGY + ":Visitor a owl:Class . :Human rdfs:subClassOf :Visitor .\n"
    application.ontologies.put(new.encode(), "text/turtle", "me")
    assert classes(application, "a0") == {"Human", "Known"}
    send(application, "b", 150)
    # The first one has left, to whom the second one was near.
    after = [*(f"a{each}" for each in range(2, 150)), "b"]
    assert all(classes(application, each) == {"Human", "Known"} for each in after)
    application.close()

    forget_effects(narrow.history.url)
    application = open_application(narrow)
    assert all(classes(application, each) == {"Human", "Known"} for each in after)
    assert classes(application, "a1") == {"Human"}
    application.close()


def test_what_was_put_holds_if_the_process_dies_before_it_is_known_to_be_accepted(
    small: Settings, open_application: Open
) -> None:
    application = open_application(small)
    change = application.rulebook.put("mine.ru", KNOWN, "me")
    application.close()
    forget_effects(small.history.url)
    application = open_application(small)
    send(application, "b", 1)
    assert classes(application, "b") == {"Human", "Known"}
    assert application.rulebook.files().origin == change
