"""Settings files: what is read, what is refused, and how it says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sensorstream.errors import SettingsError
from sensorstream.settings.endpoints import FolderInput, MqttInput
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

DOCS = Path(__file__).parents[2] / "docs"


def load(folder: Path, text: str, **environment: str) -> Settings:
    file = folder / "sensorstream.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environment)


def problem(folder: Path, text: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(folder, text, **environment)
    return str(caught.value)


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path, "")
    assert settings.reasoning.profile == "plain"
    assert settings.history.folder == tmp_path / "data"


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, '[ontology]\nfiles = ["a/b.ttl"]\n[history]\nfolder = "kept"')
    assert settings.ontology.files == (tmp_path / "a/b.ttl",)
    assert settings.history.folder == tmp_path / "kept"


def test_settings_made_without_a_file_keep_nothing_where_a_program_happens_to_run(
    tmp_path: Path,
) -> None:
    settings = Settings(tmp_path / "sensorstream.toml")
    kept = (settings.history.folder, settings.archive.folder, settings.pipeline.folder)
    assert kept == (tmp_path / "data", tmp_path / "data/archive", tmp_path / "data/stream")


def test_zero_turns_off_what_the_clock_does_with_alerts(tmp_path: Path) -> None:
    text = "[alerts]\nclear_after = 0\nremind_every = 0.0\nescalate_after = 5"
    alerts = load(tmp_path, text).alerts
    assert (alerts.clear_after, alerts.remind_every, alerts.escalate_after) == (0, 0, 5)


def test_patterns_name_all_files_that_match_in_order(tmp_path: Path) -> None:
    for name in ("b.rules", "a.rules", "c.txt"):
        (tmp_path / name).touch()
    settings = load(tmp_path, '[rules]\nfiles = ["*.rules"]')
    assert [file.name for file in settings.rules.files] == ["a.rules", "b.rules"]


def test_a_pattern_may_be_an_absolute_path(tmp_path: Path) -> None:
    elsewhere = tmp_path / "else [1]"
    elsewhere.mkdir()
    (elsewhere / "a.rules").touch()
    pattern = str(tmp_path / "else*" / "*.rules")
    settings = load(tmp_path, f"[rules]\nfiles = ['{pattern}']")
    assert settings.rules.files == (elsewhere / "a.rules",)


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path: Path) -> None:
    assert "no file matches '*.rules'" in problem(tmp_path, '[rules]\nfiles = ["*.rules"]')


def test_inputs_have_the_options_of_their_type(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        [[inputs]]
        name = "drop"
        type = "folder"
        [inputs.options]
        path = "in"

        [[inputs]]
        name = "city-buses"
        type = "mqtt"
        source = "buses"
        options = { host = "h", topics = ["bus/+"] }
        """,
        SENSORSTREAM_INPUTS_CITY_BUSES_PASSWORD="secret",
    )
    drop, buses = settings.inputs
    assert (drop.name, drop.source) == ("drop", "drop")
    assert drop.options == FolderInput(path=tmp_path / "in")
    assert (buses.name, buses.source) == ("city-buses", "buses")
    assert buses.options == MqttInput(host="h", topics=("bus/+",), password="secret")
    assert "secret" not in repr(settings)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "[server]\nport = 1", SENSORSTREAM_SERVER_PORT="2")
    assert settings.server.port == 2


def test_spark_has_settings_of_its_own(tmp_path: Path) -> None:
    text = '[spark.conf]\n"spark.executor.cores" = 2\n"spark.speculation" = true'
    expected = (("spark.executor.cores", "2"), ("spark.speculation", "true"))
    assert load(tmp_path, text).spark.conf == expected
    given = "spark.executor.cores=2 spark.speculation=true"
    assert load(tmp_path, "", SENSORSTREAM_SPARK_CONF=given).spark.conf == expected


def test_a_number_may_stand_where_a_length_is_expected(tmp_path: Path) -> None:
    assert load(tmp_path, "[window]\nsize = 191").window.size == "191"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[window]\nsise = 5", ":2:1: unknown setting window.sise: did you mean size?"),
        ("[http]\nkey = 'a'", ":2:1: unknown setting http.key: did you mean private_key or keys?"),
        ("[windw]\n", ":1:2: unknown section [windw]: did you mean window?"),
        ("port = 5", "unknown section [port]"),
        ('[server]\nport = "x"', ":2:1: server.port: expected a whole number"),
        ("[server]\nport = -1", "server.port: expected a whole number, zero or more, not -1"),
        (
            "[limits]\nquery_rows = 0",
            ":2:1: limits.query_rows: expected a whole number, 1 or more, not 0; leave it out for "
            "the default, 2,000,000",
        ),
        (
            "[alerts]\nremind_every = -1",
            "alerts.remind_every: expected a number above zero, not -1",
        ),
        ("[limits]\nquestion_seconds = 0", "expected a number above zero, not 0"),
        ("[limits]\nquestion_rows = true", "expected a whole number, not True"),
        ("[reasoning]\ntimeout = 0", "expected a number above zero"),
        ('[filters.f]\nstore = "maybe"', "expected true or false, not 'maybe'"),
        ('[webhooks]\nallow = ["10.0.0.1/8"]', ":2:1: webhooks.allow: expected networks such as"),
        ("[webhooks]\nallow = [1]", "expected a list of networks"),
        ("[ontology]\nfiles = [1]", "expected a list of file names"),
        ("[window\n", "not a TOML file"),
        ("[filters.f]\nclas = 'x'", ":2:1: unknown setting filters.f.clas: did you mean class?"),
        ("[filters.f]\nproperties = 'x'", "filters.f.properties: expected a list of texts"),
        ("sources = 5", "'sources' is a section: expected [sources]"),
        ("[inputs]\n", ":1:2: 'inputs' is a section: expected [[inputs]]"),
        (
            '[archive]\nfolder = "s3a://b/x"',
            ":2:1: archive.folder: expected a path on this machine",
        ),
        ('[archive]\nfolder = "s3a://b/x"', ":2:1: archive.folder: expected a path on this"),
        ('[spark.conf]\n"spark.x" = [1]', "spark.conf: expected names of Spark with values"),
        ('[spark]\nconf = { memory = "1g" }', ":2:1: spark.conf: expected names of Spark"),
        (
            '[spark.conf]\n"spark.sql.ansi.enabled" = false',
            "spark.conf: spark.sql.ansi.enabled is SensorStream's own",
        ),
        ("[[inputs]]\n", "inputs.name is not set: "),
        ("[[inputs]]\nname = 'a'", "inputs.type is not set: expected one of folder, mqtt, kafka"),
        ("[[inputs]]\nname = 'a'\ntype = 'ftp'", ":3:1: inputs.type: expected one of folder, mqtt"),
        ("[[inputs]]\nname = 'A b'\ntype = 'tcp'", ":2:1: inputs.name: expected small letters"),
        ("[[inputs]]\nname = 'a'\ntype = 'tcp'\nport = 1", ":4:1: unknown setting inputs.port"),
        (
            "[[inputs]]\nname = 'a'\ntype = 'tcp'\n" * 2,
            ":5:1: inputs.name: there are two with the name 'a'",
        ),
        (
            "[[inputs]]\nname = 'a'\ntype = 'tcp'\n"
            "[[inputs]]\nname = 'b'\ntype = 'tcp'\n[inputs.options]\nprot = 1",
            ":8:1: unknown setting inputs.b.prot: did you mean port?",
        ),
        (
            "[[outputs]]\nname = 'a'\ntype = 'mqtt'\noptions = {host = 'h'}",
            "outputs.a.topic is not set: The topic to publish to.",
        ),
        ("[sources]\ncam = 5", ":2:1: 'sources.cam' is a section: expected [sources.cam]"),
        ('[sources."cam 1"]\nlate = 5', ":2:1: unknown setting sources.cam 1.late: did you mean"),
    ],
)
def test_what_does_not_fit_is_named_with_what_was_expected(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert expected in problem(tmp_path, text)


def test_sources_have_sections_of_their_own(tmp_path: Path) -> None:
    text = '[time]\nlateness = 2\n[sources.cam]\nlateness = 5\n[sources."door 1"]\n'
    settings = load(tmp_path, text)
    assert settings.time.lateness == "2"
    assert {name: each.lateness for name, each in settings.sources.items()} == {
        "cam": "5",
        "door 1": "",
    }


def test_filters_and_policies_have_names_of_their_own_and_keep_their_order(tmp_path: Path) -> None:
    text = """
[filters.range]
class = "http://example.org/Sensor"
properties = ["http://example.org/temp"]
below = -10
above = 50.5
[filters.all]
class = "http://example.org/Person"
store = false
[shedding]
budget = 100
[policies.fires]
class = "http://example.org/Fire"
keep = "sample 1/2"
"""
    settings = load(tmp_path, text)
    assert list(settings.filters) == ["range", "all"]
    first = settings.filters["range"]
    assert (first.class_, first.properties) == (
        "http://example.org/Sensor",
        ("http://example.org/temp",),
    )
    assert (first.below, first.above, first.store) == ("-10", "50.5", True)
    assert not settings.filters["all"].store
    assert settings.policies["fires"].keep == "sample 1/2"
    assert settings.shedding.budget == 100


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read the settings file"):
        load_settings(tmp_path / "none.toml", {})


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("SENSORSTREAM_WINDOW_SISE", "did you mean SENSORSTREAM_WINDOW_SIZE?"),
        ("SENSORSTREAM_FOO", "expected SENSORSTREAM_<SECTION>_<NAME>"),
        ("SENSORSTREAM_INPUTS_BUSES_PASSWORD", "SENSORSTREAM_"),
        ("SENSORSTREAM_FILTERS_F_BELOW", "SENSORSTREAM_"),
    ],
)
def test_a_variable_that_sets_nothing_is_an_error(
    tmp_path: Path, variable: str, expected: str
) -> None:
    told = problem(tmp_path, "[filters.f]\nclass = 'x'", **{variable: "5"})
    assert told.startswith(f"the environment variable {variable} sets nothing: ")
    assert expected in told


@pytest.mark.parametrize(
    "variable",
    [
        "SENSORSTREAM_KEY",
        "SENSORSTREAM_CA",
        "SENSORSTREAM_SERVICE_HOST",
        "SENSORSTREAM_SERVICE_PORT_HTTP",
        "SENSORSTREAM_PORT",
        "SENSORSTREAM_PORT_8080_TCP_ADDR",
    ],
)
def test_variables_of_the_commands_and_of_kubernetes_are_no_settings(
    tmp_path: Path, variable: str
) -> None:
    given = load(tmp_path, "", **{variable: "tcp://10.0.0.1:8080"})
    assert given == load(tmp_path, "")


def test_the_settings_in_the_documents_can_be_read(tmp_path: Path) -> None:
    pages = sorted(DOCS.rglob("*.md"))
    blocks = [
        block
        for page in pages
        for block in re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    ]
    assert len(blocks) > 15
    for block in blocks:
        load(tmp_path, block)
