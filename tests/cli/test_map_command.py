from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyoxigraph
import pytest
from click.testing import Result

from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE

Run = Callable[..., Result]
TRACKING = "http://sensorstream.example/tracking#"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracking")
    make_workspace(folder, TEMPLATES["tracking"])
    return folder


@pytest.fixture
def map_messages(run: Run, folder: Path) -> Run:
    return lambda *given, **more: run("map", "-c", folder / "sensorstream.toml", *given, **more)


def triples(turtle: str) -> set[str]:
    return {str(quad.triple) for quad in pyoxigraph.parse(turtle, pyoxigraph.RdfFormat.TURTLE)}


def test_the_papers_message_becomes_a_human(map_messages: Run, folder: Path) -> None:
    result = map_messages(folder / "messages" / "paper.xml")
    assert result.exit_code == 0, result.output
    human = f"<{TRACKING}human-2678>"
    number = "http://www.w3.org/2001/XMLSchema#integer"
    assert triples(result.stdout) == {
        f"{human} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{TRACKING}Human>",
        f'{human} <{TRACKING}hasTime> "2678"^^<{number}>',
        f'{human} <{TRACKING}hasXLocation> "72"^^<{number}>',
        f'{human} <{TRACKING}hasYLocation> "8"^^<{number}>',
        f'{human} <{TRACKING}hasCertainty> "100"^^<{number}>',
        f'{human} <{TRACKING}hasName> "2678"',
    }


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_samples_of_every_template_map_to_one_turtle_document(
    template: str, tmp_path: Path, run: Run
) -> None:
    config = make_workspace(tmp_path, TEMPLATES[template])
    result = run("map", "-c", config, tmp_path / "messages", status=0)
    messages = len(list((tmp_path / "messages").iterdir()))
    assert result.stdout.count("; time ") == messages
    assert len(triples(result.stdout)) > 3 * messages


def test_a_message_can_come_from_standard_input(map_messages: Run) -> None:
    result = map_messages("-", given=PAPER_MESSAGE.decode())
    assert "# standard input: face-tracker; time 2678" in result.stdout


def test_a_message_that_no_rule_matches_is_loud(map_messages: Run, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger.xml"
    stranger.write_text("<Massage/>")
    result = map_messages(stranger)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert f"{stranger}: no mapping rule matches: " in result.stderr


def test_a_broken_message_does_not_hide_the_others(
    map_messages: Run, folder: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<Message>")
    result = map_messages(broken, folder / "messages" / "paper.xml")
    assert result.exit_code == 1
    assert f"{broken}: malformed-message: " in result.stderr
    assert ":human-2678 a :Human" in result.stdout


def test_json_holds_the_turtle_of_each_message(map_messages: Run, folder: Path) -> None:
    result = map_messages("--json", folder / "messages" / "paper.xml")
    (answer,) = json.loads(result.stdout)
    assert answer["matched"] == ["face-tracker"]
    assert answer["individuals"] == [f"{TRACKING}human-2678"]
    assert len(triples(answer["turtle"])) == 6


RULES = """prefix : <http://sensorstream.example/tracking#>
table names from "names.csv" key "id" value "name"
message each {/Batch/Message}
mapping face-tracker
on message {/Message}
for each $person in {person}
then
  insert individual :human-{$person/@id} a :Human at {@time}
    ; :hasXLocation {$person/@x |> number decimal "," |> round}
    ; :hasName {$person/@id |> lookup names} .
"""
BATCH = (
    "<Batch><Message time='5'><person id='1' x='7,4' X='8'/></Message>\n"
    "<Message time='6'><person id='2' x='many'/></Message></Batch>"
)


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    """A deployment with a lookup table, batches and a schema."""
    config = make_workspace(tmp_path / "w", TEMPLATES["tracking"])
    home = config.parent
    (home / "people.rules").write_text(RULES)
    (home / "names.csv").write_text("id,name\n1,Ada\n")
    (home / "batch.xsd").write_text(
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='Batch'/>"
        "</xs:schema>"
    )
    config.write_text(
        "[ontology]\nfiles = ['ontology/*']\n[rules]\nfiles = ['people.rules']\n"
        "[messages]\nschema = 'batch.xsd'\n"
    )
    return config


def test_tables_batches_and_schemas_count_as_in_the_server(
    run: Run, deployment: Path, tmp_path: Path
) -> None:
    result = run("map", "-c", deployment, "-", given=BATCH, status=1)
    assert "message 2 of 2, at line 2: " in result.stderr
    assert "number: 'many' is not a number" in result.stderr
    found = triples(result.stdout)
    assert f'<{TRACKING}human-1> <{TRACKING}hasName> "Ada"' in found
    refused = run("map", "-c", deployment, "-", given="<Message/>")
    assert "invalid-message: the message is not valid against its schema: line 1: Element" in (
        refused.stderr
    )


def test_an_explanation_says_what_was_found_and_what_is_left(run: Run, deployment: Path) -> None:
    result = run("map", "-c", deployment, "--explain", "-", given=BATCH)
    for line in (
        "# standard input, message 1 of 2",
        "#     on message {/Message}: found 1",
        '#     :hasXLocation {$person/@x |> number decimal "," |> round}: found 1, "7"',
        '#     :hasName {$person/@id |> lookup names}: found 1, "Ada"',
        '#     line 1: /Message/person/@X "8"',
        "# standard input, message 2 of 2",
    ):
        assert line in result.stdout.splitlines()
    assert "#   rejected: " in result.stdout
    # All that is printed stays Turtle.
    assert triples(result.stdout)


def test_an_explanation_says_why_nothing_matched(map_messages: Run) -> None:
    result = map_messages("--explain", "-", given="<Mesage/>")
    (line,) = [each for each in result.stdout.splitlines() if "rule face-tracker" in each]
    assert line.startswith("#   rule face-tracker: not matched: ")
    assert line.endswith("there is no /Message: did you mean Mesage?")


WITH_MAPS = f"""prefix : <{TRACKING}>
mapping people on message {{/Message}} then insert individual :human-{{@id}} a :Human at {{@time}} .
"""
PLACES = f"""@prefix rml: <http://w3id.org/rml/> .
@prefix : <{TRACKING}> .
:places rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/Message/at" ] ;
  rml:subjectMap [ rml:template "{TRACKING}human-{{../@id}}" ] ;
  rml:predicateObjectMap [ rml:predicate :hasXLocation ; rml:objectMap [ rml:reference "@x" ] ] .
"""
NAMES = f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/><m:message xmlns:m="urn:sensorstream:mapping#" source="camera"/>
<xsl:template match="/">&lt;{TRACKING}human-1&gt; &lt;{TRACKING}hasName&gt; "Ada" .
</xsl:template></xsl:stylesheet>
"""


@pytest.fixture
def with_maps(deployment: Path) -> Path:
    """A rule, an RML map, a stylesheet for the source ``camera``, and a schema for ``door``."""
    home = deployment.parent
    (home / "people.rules").write_text(WITH_MAPS)
    (home / "places.ttl").write_text(PLACES)
    (home / "names.xsl").write_text(NAMES)
    deployment.write_text(
        "[ontology]\nfiles = ['ontology/*']\n"
        "[rules]\nfiles = ['people.rules', 'places.ttl', 'names.xsl']\n"
        "[sources.door]\nschema = 'batch.xsd'\n"
    )
    return deployment


MOVED = "<Message id='1' time='5'><at x='7'/><at x='8'/></Message>"


def test_a_source_brings_its_schema_and_its_stylesheet(run: Run, with_maps: Path) -> None:
    def mapped(*source: str) -> Result:
        return run("map", "-c", with_maps, *source, "-", given=MOVED)

    name = f'<{TRACKING}human-1> <{TRACKING}hasName> "Ada"'
    assert name not in triples(mapped().stdout)
    assert name in triples(mapped("--source", "camera").stdout)
    refused = mapped("--source", "door")
    assert refused.exit_code == 1
    assert "invalid-message: the message is not valid against its schema" in refused.stderr


def test_an_explanation_tells_of_maps_and_stylesheets_as_a_whole(run: Run, with_maps: Path) -> None:
    result = run("map", "-c", with_maps, "--explain", "--source", "camera", "-", given=MOVED)
    lines = result.stdout.splitlines()
    assert "#   map places: matched: {/Message/at} found 2, 2 triples" in lines
    assert "#   map names: matched: 1 triple" in lines
    assert "#   not mapped by a rule (what maps look at is not traced):" in lines
    assert len(triples(result.stdout)) == 4
    told = run("map", "-c", with_maps, "--explain", "--json", "-", given=MOVED)
    places, names = json.loads(told.stdout)[0]["explanation"][0]["yields"]
    assert (places["found"], places["triples"]) == (2, 2)
    assert (names["matched"], names["cause"]) == (
        False,
        "neither the message nor its source, rest, selects it",
    )


def test_json_holds_the_explanation(run: Run, deployment: Path) -> None:
    (answer,) = json.loads(
        run("map", "-c", deployment, "--explain", "--json", "-", given=BATCH).stdout
    )
    one, two = answer["explanation"]
    assert one["rules"][0]["matched"] is True
    assert one["rules"][0]["expressions"][3]["role"] == "at"
    assert one["unmapped"] == [{"path": "/Message/person/@X", "count": 1, "text": "8", "line": 1}]
    assert "'many' is not a number" in two["error"]
    assert len(answer["warnings"]) == 1
