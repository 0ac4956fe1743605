"""What is read from a plan of Spark; that Spark writes such plans is tested with Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sensorstream.spark.needed_columns import Wanted, wanted_by
from sensorstream.spark.source_tables import ColumnComparison, ColumnCondition

Tree = list[dict[str, Any]]
SPARK = "org.apache.spark.sql.catalyst"


def node(kind: str, *children: Tree, **fields: object) -> Tree:
    """A node with its children, as ``TreeNode.toJSON`` writes it."""
    own = {"class": f"{SPARK}.{kind}", "num-children": len(children), **fields}
    return [own, *(each for child in children for each in child)]


def column(number: int, name: str, kind: str = "long") -> Tree:
    return node("AttributeReference", name=name, dataType=kind, exprId={"id": number})


def literal(value: str | None, kind: str = "long") -> Tree:
    return node("Literal", value=value, dataType=kind)


def table(number: int, *columns: Tree) -> Tree:
    return node("MapInArrow", node("Range", start=number), output=list(columns))


def project(below: Tree, *columns: Tree) -> Tree:
    return node("Project", below, projectList=list(columns))


def kept(below: Tree, condition: Tree) -> Tree:
    return node("Filter", below, condition=condition)


def joined(left: Tree, right: Tree, condition: Tree, kind: str = "LeftOuter") -> Tree:
    type_ = {"object": f"{SPARK}.plans.{kind}$"}
    return node("Join", left, right, joinType=type_, condition=condition)


def equal(left: Tree, right: Tree) -> Tree:
    return node("EqualTo", left, right)


SUBJECT, FROM, INFERRED = (
    column(1, "subject"),
    column(2, "valid_from"),
    column(3, "inferred", "boolean"),
)
STATEMENTS = table(0, SUBJECT, FROM, INFERRED)
ID, TEXT = column(4, "id"), column(5, "text", "string")
TERMS = table(1, ID, TEXT)
LOOKED_UP = joined(project(STATEMENTS, SUBJECT), project(TERMS, ID), equal(SUBJECT, ID))


def needs(plan: Tree) -> dict[int, Wanted]:
    return dict(wanted_by(json.dumps(plan)))


def conditions(*tests: Tree) -> frozenset[ColumnCondition]:
    condition = tests[0]
    for each in tests[1:]:
        condition = node("And", condition, each)
    return needs(project(kept(STATEMENTS, condition), SUBJECT))[0].conditions


def of(name: str, comparison: ColumnComparison, *values: int | str | bool) -> ColumnCondition:
    return ColumnCondition(name, comparison, values)


def test_conditions_of_one_column_are_found_on_both_sides() -> None:
    moment = literal("1970-01-02 00:00:00.5", "timestamp")
    assert conditions(
        node("IsNotNull", FROM),
        node("LessThan", literal("7"), SUBJECT),
        node("In", SUBJECT, literal("8"), literal("9")),
        node("GreaterThanOrEqual", node("MicrosToTimestamp", FROM), moment),
        node("Not", INFERRED),
    ) == {
        of("subject", ColumnComparison.MORE, 7),
        of("subject", ColumnComparison.IN, 8, 9),
        of("valid_from", ColumnComparison.AT_LEAST, 86_400_500_000),
        of("inferred", ColumnComparison.IN, False),
    }


def test_what_is_not_understood_is_no_condition() -> None:
    late = literal("+12014-01-01 00:00:00", "timestamp")
    others: Sequence[Tree] = (
        node("Or", equal(SUBJECT, literal("1")), equal(FROM, literal("2"))),
        equal(SUBJECT, literal(None)),
        equal(SUBJECT, literal("1", "integer")),
        equal(SUBJECT, FROM),
        equal(node("Add", SUBJECT, FROM), literal("1")),
        node("Not", equal(SUBJECT, literal("1"))),
        node("In", SUBJECT, literal("1"), literal(None)),
        node("InSet", SUBJECT, hset=None),
        node("LessThan", node("MicrosToTimestamp", FROM), late),
    )
    for each in others:
        assert conditions(each) == frozenset(), each
    texts = kept(TERMS, node("LessThan", TEXT, literal("a", "string")))
    assert needs(project(texts, ID))[1].conditions == frozenset()
    texts = kept(TERMS, equal(TEXT, literal("nul\0", "string")))
    assert needs(project(texts, ID))[1].conditions == frozenset()


def test_of_two_uses_the_columns_of_both_and_the_common_conditions_count() -> None:
    early = node("LessThan", FROM, literal("5"))
    one = project(kept(STATEMENTS, node("And", early, equal(SUBJECT, literal("1")))), SUBJECT)
    two = project(kept(STATEMENTS, early), INFERRED)
    found = needs(joined(one, two, equal(SUBJECT, literal("1")), "Inner"))[0]
    assert found.columns == frozenset({"subject", "valid_from", "inferred"})
    assert found.conditions == {of("valid_from", ColumnComparison.LESS, 5)}
    assert needs(node("Union", one, kept(STATEMENTS, early)))[0].columns is None


def test_a_table_in_a_subquery_counts_too() -> None:
    inside = node("ScalarSubquery", plan=project(TERMS, ID))
    plan = project(kept(STATEMENTS, equal(SUBJECT, inside)), SUBJECT)
    assert needs(plan) == {
        0: Wanted(frozenset({"subject"}), frozenset()),
        1: Wanted(frozenset({"id"}), frozenset()),
    }
    assert needs(node("LocalRelation")) == {}


def test_a_table_that_is_looked_up_for_nothing_is_told_with_its_keys() -> None:
    total = node(
        "Aggregate", LOOKED_UP, aggregateExpressions=[node("Count", literal("1", "integer"))]
    )
    assert needs(total)[1].keys == {"id"}
    assert needs(project(LOOKED_UP, SUBJECT))[1].keys == {"id"}
    filtered = joined(STATEMENTS, kept(TERMS, node("IsNotNull", ID)), equal(ID, SUBJECT))
    assert needs(project(filtered, FROM))[1].keys == {"id"}


def test_a_table_that_matters_has_no_keys() -> None:
    by_text = joined(STATEMENTS, project(TERMS, ID, TEXT), equal(SUBJECT, ID))
    turned = joined(project(TERMS, ID), project(STATEMENTS, SUBJECT), equal(SUBJECT, ID))
    renamed = project(TERMS, node("Alias", ID, name="other"))
    for plan in (
        # What is used above, or may be.
        project(LOOKED_UP, SUBJECT, ID),
        project(by_text, TEXT),
        project(kept(LOOKED_UP, node("IsNull", ID)), SUBJECT),
        LOOKED_UP,
        # Joins that rows depend on.
        project(joined(STATEMENTS, project(TERMS, ID), equal(SUBJECT, ID), "Inner"), SUBJECT),
        project(joined(STATEMENTS, project(TERMS, ID), equal(SUBJECT, ID), "FullOuter"), SUBJECT),
        project(turned, SUBJECT),
        # Its condition does not say that the key is one of the other side's.
        project(joined(STATEMENTS, project(TERMS, ID), equal(ID, literal("1"))), SUBJECT),
        project(joined(STATEMENTS, project(TERMS, ID), node("LessThan", ID, SUBJECT)), SUBJECT),
        project(joined(STATEMENTS, renamed, equal(SUBJECT, column(9, "other"))), SUBJECT),
    ):
        assert needs(plan)[1].keys == frozenset(), plan
