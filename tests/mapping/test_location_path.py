"""What of a path can be looked up."""

from __future__ import annotations

import pytest

from sensorstream.mapping.location_path import (
    ChildStep,
    LocationPath,
    LocationTarget,
    Lookup,
    PathCondition,
    lookup_of,
    only_root,
)

NAMESPACES = {"m": "urn:m"}
M = ChildStep("M", deep=False)


def where(place: LocationTarget, value: str | None = None) -> Lookup:
    return Lookup(
        (LocationPath((ChildStep("M", deep=False, conditions=(PathCondition(place, value),)),)),)
    )


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("/M", (M,)),
        (" / M / m:E ", (M, ChildStep("{urn:m}E", deep=False))),
        ("//E", (ChildStep("E", deep=True),)),
        ("/M//E", (M, ChildStep("E", deep=True))),
        ("/*/E", (ChildStep("*", deep=False), ChildStep("E", deep=False))),
        ("E", (ChildStep("*", deep=False), ChildStep("E", deep=False))),
        ("./E", (ChildStep("*", deep=False), ChildStep("E", deep=False))),
        (".//E", (ChildStep("*", deep=False), ChildStep("E", deep=True))),
        (".", (ChildStep("*", deep=False),)),
        ("/and/or", (ChildStep("and", deep=False), ChildStep("or", deep=False))),
    ],
)
def test_names_and_slashes_are_looked_up(path: str, steps: tuple[ChildStep, ...]) -> None:
    assert lookup_of(path, NAMESPACES) == Lookup((LocationPath(steps),))


def test_so_are_attributes_and_texts_at_the_end() -> None:
    assert lookup_of("/M/@m:k", NAMESPACES).paths == (LocationPath((M,), "@{urn:m}k"),)
    assert lookup_of("/M/text()", {}).paths == (LocationPath((M,), "text()"),)
    assert lookup_of("//@k", {}).paths == (LocationPath((ChildStep("*", deep=True),), "@k"),)


@pytest.mark.parametrize(
    ("predicate", "place", "value"),
    [
        ("@k='x'", LocationTarget((), "@k"), "x"),
        ("'x' = @k", LocationTarget((), "@k"), "x"),
        ('@m:k="it\'s"', LocationTarget((), "@{urn:m}k"), "it's"),
        ("K='x'", LocationTarget(("K",)), "x"),
        ("m:K/L/@k='x'", LocationTarget(("{urn:m}K", "L"), "@k"), "x"),
        ("K/text()='x'", LocationTarget(("K",), "text()"), "x"),
        (".='x'", LocationTarget(()), "x"),
        ("@k", LocationTarget((), "@k"), None),
        ("K", LocationTarget(("K",)), None),
        ("and", LocationTarget(("and",)), None),
    ],
)
def test_conditions_on_a_value_are_looked_up(
    predicate: str, place: LocationTarget, value: str | None
) -> None:
    assert lookup_of(f"/M[{predicate}]", NAMESPACES) == where(place, value)


def test_the_order_of_conditions_has_no_meaning() -> None:
    one = lookup_of("/M[@id and @k='x' and K='y']", {})
    assert one == lookup_of("/M[K='y'][@k='x'][@id]", {})
    assert one.exact


@pytest.mark.parametrize(
    ("path", "weaker", "left_out"),
    [
        ("/M[1]", "/M", "1"),
        ("/M[@k='x' and position()=1]/E", "/M[@k='x']/E", "position()=1"),
        ("/M[@k='x' or @id]/E", "/M/E", "@k='x' or @id"),
        ("/M[@k='x' and K or (L)]/E", "/M/E", "@k='x' and K or (L)"),
        ("/M/m:*/E", "/M", "/m:*/E"),
        ("/M/E/..", "/M/E", "/.."),
        ("/M/ancestor::E", "/M", "/ancestor::E"),
        ("/M//@k", "/M", "//@k"),
        ("/M[@k=5]", "/M", "@k=5"),
        ("/M[not(K)]", "/M", "not(K)"),
    ],
)
def test_the_rest_is_left_out_and_named(path: str, weaker: str, left_out: str) -> None:
    assert lookup_of(path, NAMESPACES) == Lookup(lookup_of(weaker, {}).paths, left_out)


def test_one_of_several_paths_must_find_something() -> None:
    lookup = lookup_of("/M[@a='|'] | //E", {})
    assert lookup.paths == lookup_of("/M[@a='|']", {}).paths + lookup_of("//E", {}).paths
    assert not lookup.exact


@pytest.mark.parametrize("path", ["/", "id('x')", "(//a)[1]", "//.", "/M | id('x')"])
def test_what_begins_otherwise_may_be_in_every_message(path: str) -> None:
    assert lookup_of(path, {}) == Lookup((), path)


def test_the_root_alone() -> None:
    assert only_root(lookup_of("/M[@k]/E/F", {})).paths == (LocationPath((M,)),)
    assert only_root(lookup_of("//E/F", {})).paths == (LocationPath((ChildStep("E", deep=True),)),)


def test_a_path_of_many_steps_is_looked_up_as_far_as_messages_are_deep() -> None:
    lookup = lookup_of("/M" * 5000, {})
    assert lookup.paths == (LocationPath((M,) * 100),)
    assert not lookup.exact
