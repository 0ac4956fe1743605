"""How the time of an XPath grows with the message, as libxml2 evaluates it."""

from __future__ import annotations

import pytest
from lxml import etree

from sensorstream.mapping.rule_cost import WORST, Cost, cost_of

LINEAR_BELOW = [
    "@a",
    ".",
    "text()",
    "a/b/@c",
    "a[@x = '1'][b]/c",
    ".//b",
    "a[contains(., 'x') and @b or not(c)]/d[1]",
    "a and (b)",
    "div div mod",
    "count(a) * 2 + -1",
    "normalize-space(string(@a))",
    "concat(a, ' ', b)",
    "sum(a/b[@c > 3]/@d)",
    "a/processing-instruction('x')",
    "descendant::a[.//b]/@c",
]
LINEAR_ELSEWHERE = [
    "/m/a",
    "//a/b/@c",
    "(//a)[1]/b",
    "../@id",
    "ancestor::m/@t",
    "$x/a",
    "lang('en')",
]
STEEP = {
    "//a//b": 2,
    "//a/..": 2,
    "//a/self::a": 2,
    "a | b": 2,
    "a = b": 2,
    "a < b": 2,
    "contains(a, b)": 2,
    "translate(a, @b, '')": 2,
    "id('x')": 2,
    "//*[count(//*) > 0]": 2,
    "//a[../a/b = '2']": 2,
    "//a[@id = $x]": 2,
    "//*[count(preceding::*) > 5]": 2,
    "//a[b = following-sibling::a/b]": 3,
    "//a/following-sibling::a": 3,
    "count(//a/following::b)": 3,
    "//a[.//b[.//c/following::d]]": 4,
}


@pytest.mark.parametrize("expression", LINEAR_BELOW)
def test_what_is_below_a_node_is_looked_at_once_for_all_nodes(expression: str) -> None:
    cost = cost_of(expression)
    assert (cost.degree, cost.local, cost.each) == (1, True, 1)


@pytest.mark.parametrize("expression", LINEAR_ELSEWHERE)
def test_what_is_elsewhere_is_looked_at_again_for_each_node(expression: str) -> None:
    cost = cost_of(expression)
    assert (cost.degree, cost.local, cost.each) == (1, False, 2)


@pytest.mark.parametrize("expression", STEEP)
def test_what_multiplies_is_not_linear(expression: str) -> None:
    assert cost_of(expression).degree == STEEP[expression]


@pytest.mark.parametrize(
    ("expression", "many"),
    [("/m", False), ("/m/a", True), ("/m/a[1]", False), ("//a/b[1]", True), ("a[1]", False),
     ("(//a)[2]", False),
     ("@a", False), ("@*", True), ("..", False), ("a/..", True), ("count(a)", False),
     ("a | @b", True)],
)  # fmt: skip
def test_how_many_nodes_are_found_decides_what_a_step_costs(expression: str, many: bool) -> None:
    assert cost_of(expression).many is many


def test_a_variable_is_what_its_path_has_found() -> None:
    one = {"x": Cost()}
    assert cost_of("$x/a/@b", one) == Cost(many=True)
    assert cost_of("$x//a//b", one).degree == 2
    assert cost_of("//a[@b = $x]", one).degree == 1
    assert cost_of("$x//a", {"x": Cost(many=True, local=False)}) == Cost(2, True, False)


def test_what_cannot_be_read_counts_as_the_worst() -> None:
    assert cost_of("a ! b").degree == WORST
    assert cost_of("(" * 5000 + "a" + ")" * 5000).degree == WORST


@pytest.mark.parametrize("expression", [*LINEAR_BELOW, *LINEAR_ELSEWHERE, *STEEP])
def test_the_expressions_here_are_xpath(expression: str) -> None:
    assert etree.XPath(expression).path == expression
