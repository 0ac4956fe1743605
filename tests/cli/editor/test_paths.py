from __future__ import annotations

import pytest
from lxml import etree

from sensorstream.cli.editor.sample_messages import LastPath, last_path, next_steps
from sensorstream.cli.editor.sample_messages import SampleScope as Scope

ROOT = etree.fromstring(
    "<Message xmlns:m='urn:m'><m:head x='1'/>"
    "<person id='7' m:kind='a'><at x='72'/></person><person id='8'><name>Ada</name></person>"
    "</Message>"
)
SCOPE = Scope([ROOT], {"p": ROOT.findall("person")}, {"n": "urn:m"})


@pytest.mark.parametrize(
    ("expression", "filtered", "base", "step"),
    [
        ("", (), "", ""),
        ("per", (), "", "per"),
        ("/Message/per", (), "/Message/", "per"),
        ("$p/@i", (), "$p/", "@i"),
        ("$", (), "", "$"),
        ("number($p/@x) >= $p/", (), "$p/", ""),
        ("a and b/c", (), "b/", "c"),
        ("and/b", (), "and/", "b"),
        ("concat('a/b', ../", (), "../", ""),
        ("/M/person[@id='7' and na", ("/M/person",), "", "na"),
        ("//person[at[@", ("//person", "at"), "", "@"),
        ("person[1]/na", (), "person[1]/", "na"),
        ("(a | b)/c/d", (), "(a | b)/c/", "d"),
        ("a | b", (), "", "b"),
        ("2 * ", (), "", ""),
        ("m:a/m:", (), "m:a/", "m:"),
    ],
)
def test_the_last_path_of_an_expression_is_found(
    expression: str, filtered: tuple[str, ...], base: str, step: str
) -> None:
    assert last_path(expression) == LastPath(filtered, base, step)


def test_a_text_has_no_path() -> None:
    assert last_path("concat('a/b") is None


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", {"n:head", "person"}),
        ("/", {"Message"}),
        ("person/", {"at", "name", "@id", "@n:kind"}),
        ("$p/at/", {"@x"}),
        ("person[@id='8']/", {"name", "@id"}),
        ("person[", {"at", "name", "@id", "@n:kind"}),
        ("count(person[at/", {"@x"}),
        ("//", {"Message", "n:head", "person", "at", "name", "@x", "@id", "@n:kind"}),
        ("no/such/", set()),
        ("person[/[", set()),
    ],
)
def test_the_next_steps_are_those_of_the_samples(expression: str, names: set[str]) -> None:
    path = last_path(expression)
    assert path is not None
    assert {step.name for step in next_steps(path, SCOPE)} == names


def test_a_step_says_how_often_it_is_found_and_what() -> None:
    path = last_path("person/")
    assert path is not None
    steps = {step.name: step for step in next_steps(path, SCOPE)}
    assert (steps["@id"].count, steps["@id"].values) == (2, ("7", "8"))
    assert (steps["name"].count, steps["name"].values) == (1, ("Ada",))
