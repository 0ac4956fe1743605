"""The columns that a query needs of each table, and its conditions on them.

Spark's optimizer finds this out: it moves conditions down through views, joins and groups, derives
further ones from the equalities of joins, and drops columns. The tables stand in the plan as
functions over a range of one number, which says which table it is; nothing moves below them. So the
filters and projections directly above can be left to PostgreSQL. Spark evaluates them again:
something that is not understood here only means that more is read.

Source: ``TreeNode.toJSON`` of Spark 4.3, which writes a tree as a list in pre-order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.spark.source_tables import ColumnComparison, ColumnCondition, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COMPARISONS: Final = {
    "EqualTo": (ColumnComparison.IN, ColumnComparison.IN),
    "LessThan": (ColumnComparison.LESS, ColumnComparison.MORE),
    "LessThanOrEqual": (ColumnComparison.AT_MOST, ColumnComparison.AT_LEAST),
    "GreaterThan": (ColumnComparison.MORE, ColumnComparison.LESS),
    "GreaterThanOrEqual": (ColumnComparison.AT_LEAST, ColumnComparison.AT_MOST),
}
# They name every column that goes on upwards.
_CHOOSING: Final = ("Project", "Aggregate")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")


@frozen
class Wanted:
    """The columns, None for all, and the conditions that are needed of a table.

    ``keys`` are columns by which the table is looked up (``LEFT JOIN``) although nothing of it is
    used. If such a column is unique, the answer is the same without the table's rows.
    """

    columns: frozenset[str] | None
    conditions: frozenset[ColumnCondition]
    keys: frozenset[str] = frozenset()

    def either(self, other: Wanted) -> Wanted:
        """The columns and conditions needed in one of two places."""
        one, two = self.columns, other.columns
        columns = None if one is None or two is None else one | two
        return Wanted(columns, self.conditions & other.conditions, self.keys & other.keys)


@mutable
class _Node:
    """A node of a plan or of an expression."""

    fields: Mapping[str, Any]
    children: list[_Node] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return str(self.fields["class"]).rpartition(".")[2]


def wanted(answer: DataFrame) -> Mapping[int, Wanted]:
    """The columns and conditions that an answer needs of each table in its plan, by the table's
    number; an unneeded table is missing.
    """
    plan = answer._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
    return wanted_by(plan.toJSON())


def wanted_by(plan: str) -> Mapping[int, Wanted]:
    """The same, from an optimized plan as JSON."""
    found: dict[int, Wanted] = {}
    for root in _trees(json.loads(plan)):
        for above, table in _tables(root):
            number = int(table.children[0].fields["start"])
            here = replace(_wanted(above, table), keys=_keys(above, table))
            known = found.get(number)
            found[number] = here if known is None else known.either(here)
    return found


def _trees(told: object) -> Iterator[_Node]:
    """The tree that a list is, and all that are in its nodes: expressions, plans of subqueries."""
    if not isinstance(told, list):
        return
    if told and all(isinstance(each, dict) and "num-children" in each for each in told):
        yield _tree(told)
        for node in told:
            for value in node.values():
                yield from _trees(value)
    else:
        for each in told:
            yield from _trees(each)


def _tree(told: Sequence[Mapping[str, Any]]) -> _Node:
    root = _Node(told[0])
    open_ = [(root, root.fields["num-children"])]
    for fields in told[1:]:
        while len(open_[-1][0].children) == open_[-1][1]:
            open_.pop()
        node = _Node(fields)
        open_[-1][0].children.append(node)
        open_.append((node, fields["num-children"]))
    return root


def _tables(root: _Node) -> Iterator[tuple[list[_Node], _Node]]:
    """The tables below a node, each with the nodes above it, the nearest first."""
    waiting: list[tuple[list[_Node], _Node]] = [([], root)]
    while waiting:
        above, node = waiting.pop()
        if node.kind == "MapInArrow" and node.children and node.children[0].kind == "Range":
            yield above, node
        elif node.children:
            waiting += [([node, *above], child) for child in node.children]


def _wanted(above: Sequence[_Node], table: _Node) -> Wanted:
    names = _names(table)
    filters = list(takewhile(lambda each: each.kind == "Filter", above))
    conditions = frozenset(
        condition
        for each in filters
        for part in _conjuncts(_tree(each.fields["condition"]))
        if (condition := _condition(part, names)) is not None
    )
    top = next(iter(above[len(filters) :]), None)
    if top is None or top.kind not in _CHOOSING:
        return Wanted(None, conditions)
    used = {id_ for each in (top, *filters) for id_ in _used(each)}
    return Wanted(frozenset(name for id_, name in names.items() if id_ in used), conditions)


def _names(table: _Node) -> Mapping[int, str]:
    """The columns of a table, by the numbers that the plan has for them."""
    return {each["exprId"]["id"]: each["name"] for (each,) in table.fields["output"]}


def _keys(above: Sequence[_Node], table: _Node) -> frozenset[str]:
    """The columns by which a table is looked up, if nothing of it is used."""
    names = _names(table)
    own = list(takewhile(lambda each: each.kind in ("Filter", "Project"), above))
    renamed = any(
        node.kind == "Alias"
        for each in own
        for tree in _trees(each.fields.get("projectList"))
        for node in _below(tree)
    )
    if len(own) == len(above):
        return frozenset()
    join, *outside = above[len(own) :]
    if (
        join.kind != "Join"
        or not str(join.fields["joinType"].get("object")).endswith(".LeftOuter$")
        or join.children[1] is not (own[-1] if own else table)
        or not join.fields.get("condition")
        or renamed
        # Below one of these, a column that no expression names is not used.
        or not any(each.kind in _CHOOSING for each in outside)
    ):
        return frozenset()
    inside = {id(each) for each in (*own, join, table)}
    for each in _below(above[-1]):
        if id(each) not in inside and not names.keys().isdisjoint(_used(each)):
            return frozenset()
    return frozenset(_equal(_tree(join.fields["condition"]), names))


def _equal(condition: _Node, names: Mapping[int, str]) -> Iterator[str]:
    """The columns that a join's condition compares with columns of the other side."""
    for part in _conjuncts(condition):
        if part.kind != "EqualTo":
            continue
        sides = [
            each.fields["exprId"]["id"]
            for each in part.children
            if each.kind == "AttributeReference"
        ]
        mine = [names[each] for each in sides if each in names]
        if len(sides) == 2 and len(mine) == 1:
            yield mine[0]


def _used(node: _Node) -> Iterator[int]:
    for tree in _trees(list(node.fields.values())):
        for each in _below(tree):
            if each.kind == "AttributeReference":
                yield each.fields["exprId"]["id"]


def _below(root: _Node) -> Iterator[_Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _conjuncts(root: _Node) -> Iterator[_Node]:
    """The parts of a conjunction."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind == "And":
            waiting += node.children
        else:
            yield node


def _condition(node: _Node, names: Mapping[int, str]) -> ColumnCondition | None:
    """The condition of a single column that an expression is; None: it is no such."""
    kind, children = node.kind, node.children
    if kind in _COMPARISONS and len(children) == 2:
        left, right = children
        straight, turned = _COMPARISONS[kind]
        if left.kind == "Literal":
            return _compared(right, turned, [left], names)
        return _compared(left, straight, [right], names)
    if kind == "In" and children:
        return _compared(children[0], ColumnComparison.IN, children[1:], names)
    truth = kind != "Not"
    column = node if truth else children[0]
    if column.kind == "AttributeReference" and column.fields["dataType"] == "boolean":
        name = names.get(column.fields["exprId"]["id"])
        return None if name is None else ColumnCondition(name, ColumnComparison.IN, (truth,))
    return None


def _compared(
    node: _Node, comparison: ColumnComparison, literals: Sequence[_Node], names: Mapping[int, str]
) -> ColumnCondition | None:
    micros = node.kind == "MicrosToTimestamp"
    column = node.children[0] if micros else node
    if column.kind != "AttributeReference" or any(each.kind != "Literal" for each in literals):
        return None
    name = names.get(column.fields["exprId"]["id"])
    kind = "timestamp" if micros else column.fields["dataType"]
    values = [_value(each, kind) for each in literals]
    if name is None or not values or None in values:
        return None
    # A database may order texts by a language.
    if kind == "string" and comparison is not ColumnComparison.IN:
        return None
    if micros:
        values = [_micros(value) for value in values]
    return ColumnCondition(name, comparison, tuple(each for each in values if each is not None))


def _value(literal: _Node, kind: str) -> Value | None:
    """The value of a literal of a type; None: NULL, another type, or none that can be written."""
    text = literal.fields.get("value")
    if literal.fields["dataType"] != kind or not isinstance(text, str):
        return None
    match kind:
        case "long":
            return int(text)
        case "double":
            return float(text)
        case "string":
            # PostgreSQL has no NUL in a text, and UTF-8 no lone surrogate.
            return text if re.search("[\x00\ud800-\udfff]", text) is None else None
        case "timestamp":
            return text if _MOMENT.fullmatch(text) else None
    return None


def _micros(text: Value | None) -> int:
    moment = datetime.fromisoformat(f"{text}+00:00")
    return (moment - _EPOCH) // timedelta(microseconds=1)
