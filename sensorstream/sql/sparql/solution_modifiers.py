"""Groups and solution modifiers: what is made of solutions (SPARQL 1.1, sections 15, 18.5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from sensorstream.sparql.algebra import Aggregate, Call, Expression, Group, OrderCondition, Variable
from sensorstream.sparql.walk import nodes
from sensorstream.sql.sparql.comparisons import codepoints, order_keys
from sensorstream.sql.sparql.compiled_query import PARTS
from sensorstream.sql.sparql.lexical_forms import rounded, single
from sensorstream.sql.sparql.solution_relations import (
    UNREPEATABLE,
    Compiler,
    Frame,
    Layout,
    PatternPlace,
    SolutionSelect,
    from_,
    join,
    order_by,
    own_columns,
    selected,
    settled,
)
from sensorstream.sql.sparql.sql_expressions import id_of, value_of
from sensorstream.sql.sparql.sql_functions import double_quotient, quotient
from sensorstream.sql.sparql.sql_terms import STORED, NumberValue, SqlTerm, StringValue, said
from sensorstream.sql.sql_fragments import all_of, constant, named, null, sql, table


def extended(
    compiler: Compiler,
    below: SolutionSelect,
    name: str,
    expression: Expression,
    place: PatternPlace,
) -> SolutionSelect:
    """The relation with the value of an expression as one variable more."""
    if any(isinstance(n, Call) and n.name in UNREPEATABLE for n in nodes(expression)):
        below = settled(below, compiler.names)
    alias = compiler.names.fresh("r")
    frame = compiler.frame(place, (below, alias))
    column = compiler.names.column(name)
    id_ = id_of(expression, frame)
    columns = own_columns(below, alias)
    if id_ is not None:
        certain = not isinstance(expression, Call) and (
            not isinstance(expression, Variable) or frame.is_certain(expression.name)
        )
        layout = Layout(column, True, False, certain)
        columns.append(named(id_.copy(), column))
    else:
        layout = Layout(column, False, True, False)
        value = frame.light(value_of(expression, frame))
        columns += [named(value.part(part).copy(), f"{column}_{part}") for part in STORED]
    tree = frame.attach(from_(selected(columns), below.under(alias)))
    layouts = {**below.layouts, name: layout}
    return replace(below, tree=tree, layouts=layouts, is_unit=False)


def ordered(
    compiler: Compiler,
    below: SolutionSelect,
    conditions: Iterable[OrderCondition],
    place: PatternPlace,
) -> SolutionSelect:
    """The relation with columns that it is to be ordered by."""
    alias = compiler.names.fresh("r")
    frame = compiler.frame(place, (below, alias))
    columns = own_columns(replace(below, order=()), alias)
    order = []
    for each in conditions:
        for key in order_keys(frame.light(value_of(each.expression, frame)), frame):
            name = compiler.names.fresh("o")
            columns.append(named(key, name))
            order.append((name, each.descending))
    tree = frame.attach(from_(selected(columns), below.under(alias)))
    return replace(below, tree=tree, order=tuple(order))


def foremost(
    compiler: Compiler,
    below: SolutionSelect,
    condition: OrderCondition,
    most: int,
    place: PatternPlace,
) -> SolutionSelect:
    """The solutions with the first values of one variable, in its order.

    ``most`` values have at least as many solutions. An index has the values, which are fewer than
    solutions; so solutions of other values are not read, made distinct and ordered.
    """
    variable = condition.expression
    assert isinstance(variable, Variable)
    layout = below.layouts.get(variable.name)
    if layout is None or not layout.has_id or layout.has_value:
        return ordered(compiler, below, (condition,), place)
    alias, outer = compiler.names.fresh("r"), compiler.names.fresh("r")
    values = from_(selected([layout.id_in(alias)]), below.under(alias))
    values.set("distinct", exp.Distinct())
    each = SolutionSelect(values, {variable.name: layout}, unique=True)
    first = sliced(compiler, ordered(compiler, each, (condition,), place), 0, most)
    alias = compiler.names.fresh("r")
    order = [exp.column(name, outer) for name, _ in first.order]
    tree = from_(selected([*own_columns(below, alias), *order]), below.under(alias))
    same = sql(":a = :b", a=layout.id_in(alias), b=layout.id_in(outer))
    tree.append("joins", join(first.under(outer), same))
    return replace(below, tree=tree, order=first.order)


def projected(compiler: Compiler, below: SolutionSelect, names: Sequence[str]) -> SolutionSelect:
    """Restrict solutions to these variables; one that is never bound is a column of nulls."""
    alias = compiler.names.fresh("r")
    layouts = {
        name: below.layouts.get(name, Layout(compiler.names.column(name), True, False, False))
        for name in names
    }
    columns: list[exp.Expr] = []
    for name, layout in layouts.items():
        if name in below.layouts:
            columns += [exp.column(each, alias) for each in layout.columns]
        else:
            columns.append(named(null("BIGINT"), layout.column))
    columns += [exp.column(name, alias) for name, _ in below.order]
    # Before solutions are made distinct, the keys may follow from a variable that is left out.
    keys = () if below.pending else below.keys
    columns += [exp.column(name, alias) for name in keys]
    tree = from_(selected(columns), below.under(alias))
    kept = below.layouts.keys() <= layouts.keys()
    unique = below.unique and kept
    return replace(below, tree=tree, layouts=layouts, unique=unique, keys=keys, is_unit=False)


def distinct(compiler: Compiler, below: SolutionSelect) -> SolutionSelect:
    """Make solutions distinct; of those that differ in their order only, the first stays."""
    alias = compiler.names.fresh("r")
    keys = below.keys if below.pending else ()
    own = own_columns(replace(below, order=(), keys=keys), alias)
    first = [
        named((exp.Max if descending else exp.Min)(this=exp.column(name, alias)), name)
        for name, descending in below.order
    ]
    tree = from_(selected([*own, *first]), below.under(alias))
    if first and own:
        tree.set("group", exp.Group(expressions=[each.copy() for each in own]))
    elif own:
        tree.set("distinct", exp.Distinct())
    else:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    order = below.order if own else ()
    made = replace(below, tree=tree, order=order, keys=keys)
    return replace(made, unique=True, pending=False, is_unit=False)


def sliced(
    compiler: Compiler, below: SolutionSelect, offset: int, limit: int | None
) -> SolutionSelect:
    """Some solutions, by their place in the order."""
    alias = compiler.names.fresh("r")
    tree = from_(selected(own_columns(below, alias)), below.under(alias))
    order_by(tree, below, alias)
    if limit is not None:
        if below.keys and not below.order:
            # Any solutions will do. The planner would choose another index, expecting the numbers
            # asked for everywhere in it.
            first = [exp.Ordered(this=exp.column(name, alias)) for name in below.keys]
            tree.set("order", exp.Order(expressions=first))
        tree.set("limit", exp.Limit(expression=exp.Literal.number(limit)))
    if offset:
        tree.set("offset", exp.Offset(expression=exp.Literal.number(offset)))
    return replace(below, tree=tree, keys=(), is_unit=False)


EXTREMES: Final = ("MIN", "MAX", "SAMPLE")
"""Aggregates to which how often a value comes makes no difference."""
_FEW: Final = 10_000
"""Rows: to look up for each whether another has its triple takes less than to make all distinct."""


def grouped(
    compiler: Compiler, group: Group, below: SolutionSelect, place: PatternPlace
) -> SolutionSelect:
    """Group solutions: the result has a row for each group."""
    before, below = below, settled(below, compiler.names)
    counted = _counted(group, before, below) if compiler.marked else None
    keys: list[str] = []
    for number, key in enumerate(group.keys):
        if isinstance(key.expression, Variable) and key.variable in (None, key.expression):
            name = key.expression.name
        else:
            name = key.variable.name if key.variable is not None else f".key{number}"
            below = extended(compiler, below, name, key.expression, place)
        if name in below.layouts and name not in keys:
            keys.append(name)
    stored = {name: below.layouts[name] for name in keys}
    layouts = {name: replace(each, has_value=not each.has_id) for name, each in stored.items()}
    alias, rows, groups = (compiler.names.fresh("r") for _ in range(3))
    frame = compiler.frame(place, (below, alias))
    partition = [
        exp.column(column, alias) for layout in layouts.values() for column in layout.columns
    ]
    computed = {
        variable.name: _aggregate(
            compiler, variable.name, each, (below, alias), frame, partition, rows, groups
        )
        for variable, each in group.aggregates
    }
    # Columns of each row: the keys, and the parts of values that aggregates look at.
    columns: list[exp.Expr] = [named(each.copy(), each.name) for each in partition]
    columns += [named(e, name) for c in computed.values() for name, e in c.rows.items()]
    per_row = frame.attach(from_(selected(columns), below.under(alias)))
    # Columns of each group.
    own = [exp.column(each.name, rows) for each in partition]
    columns = [named(each.copy(), each.name) for each in own]
    columns += [named(e, name) for c in computed.values() for name, e in c.groups.items()]
    if not columns:
        columns = [named(exp.Count(this=exp.Star()), "unit")]
    per_group = from_(selected(columns), table(per_row, rows))
    if counted is not None:
        names = (name for each in computed.values() for name in each.groups)
        # With LIMIT it is counted once, not wherever the number stands.
        per_group = selected(named(counted.copy(), name) for name in names).limit(1)
    if group.keys and not own:
        # All keys are unbound: one group, if there are solutions.
        per_group.set("having", exp.Having(this=sql("COUNT(*) > 0")))
    elif own:
        per_group.set("group", exp.Group(expressions=own))
    # The results as terms.
    columns = [exp.column(each.name, groups) for each in partition]
    columns += [named(e, name) for c in computed.values() for name, e in c.result.items()]
    tree = from_(selected(columns), table(per_group, groups))
    layouts |= {name: each.layout for name, each in computed.items()}
    return SolutionSelect(tree, layouts, unique=True)


def _counted(group: Group, below: SolutionSelect, settled_: SolutionSelect) -> exp.Expr | None:
    """The number of a triple's solutions, where a group asks for nothing else.

    It counts rows that cannot repeat a triple, and the distinct others, without the triples that
    another row has. Where these are many, all rows are made distinct.
    """
    asked = [each for _, each in group.aggregates if each.expression is None and not each.distinct]
    if group.keys or not asked or len(asked) < len(group.aggregates):
        return None
    found = below.tree.args.get("from_")
    source = found and found.this
    plain = below.pending and not below.keys and not below.tree.args.get("joins")
    if not plain or not isinstance(source, exp.Subquery):
        return None
    if not isinstance(source.this.args["from_"].this, exp.Table):
        return None

    def rows(*conditions: str | exp.Expr) -> exp.Select:
        tree = below.tree.copy()
        tree.set("distinct", None)
        tree.args["from_"].this.this.where(*conditions, copy=False)
        return tree

    own = exp.Select(expressions=[exp.Star()])
    first = from_(own, table(source.this.copy().where("NOT again"), "f"))
    same = [f"f.{end} = {source.alias}.{end}" for end in ("subject", "predicate", "object")]
    others = rows("again").where(exp.Not(this=exp.Exists(this=first.where(*same))))
    return sql(
        "CASE WHEN :few < :most THEN :every - :again + :others ELSE :all END",
        few=_number(rows("again").limit(_FEW)),
        most=_FEW,
        every=_number(rows()),
        again=_number(rows("again")),
        others=_number(others.distinct()),
        all=_number(settled_.tree.copy()),
    )


def _number(tree: exp.Select) -> exp.Subquery:
    return from_(selected([exp.Count(this=exp.Star())]), table(tree, "r")).subquery()


def _aggregate(
    compiler: Compiler,
    name: str,
    aggregate: Aggregate,
    below: tuple[SolutionSelect, str],
    frame: Frame,
    partition: Sequence[exp.Expr],
    rows: str,
    groups: str,
) -> _Computed:
    relation, alias = below
    column = compiler.names.column(name)
    prefix = compiler.names.fresh("a")
    made = _Computed(column, prefix, rows, groups)
    if aggregate.expression is None:
        if aggregate.distinct and not relation.unique:
            made.first(partition, own_columns(relation, alias))
        return made.counted(sql("TRUE"))
    id_ = id_of(aggregate.expression, frame)
    if aggregate.name == "COUNT" and id_ is not None:
        if aggregate.distinct:
            made.first(partition, [id_])
        return made.counted(sql("NOT :id IS NULL", id=id_))
    value = frame.light(value_of(aggregate.expression, frame))
    if aggregate.distinct and aggregate.name not in EXTREMES:
        made.first(partition, [id_] if id_ is not None else [value.part(part) for part in PARTS])
    match aggregate.name:
        case "COUNT":
            return made.counted(value.bound)
        case "SUM" | "AVG":
            return made.summed(value.number, value.rank, average=aggregate.name == "AVG")
        case "GROUP_CONCAT":
            separator = " " if aggregate.separator is None else aggregate.separator
            text = said("CASE WHEN :kind IN (0, 2) THEN :text END", value)
            return made.concatenated(text, separator)
    keys = [*order_keys(value, frame), codepoints(value.text), value.datatype]
    own = {f"_{part}": value.part(part) for part in STORED}
    return made.extreme(
        own if id_ is None else {"": id_},
        keys,
        descending=aggregate.name == "MAX",
        strict=aggregate.name != "SAMPLE",
    )


class _Computed:
    """Builds one aggregate: what each row gives it, what each group, and the result."""

    result: Mapping[str, exp.Expr]
    layout: Layout

    def __init__(self, column: str, prefix: str, rows: str, groups: str) -> None:
        self._column = column
        self._prefix = prefix
        self._rows_alias = rows
        self._groups_alias = groups
        self.rows: dict[str, exp.Expr] = {}
        self.groups: dict[str, exp.Expr] = {}
        self._only_first = False

    def first(self, partition: Sequence[exp.Expr], term: Sequence[exp.Expr]) -> None:
        """Look only at the first row of each group with the same term."""
        self._only_first = True
        number = exp.Window(
            this=exp.RowNumber(), partition_by=[each.copy() for each in (*partition, *term)]
        )
        self.rows[f"{self._prefix}_first"] = sql(":number = 1", number=number)

    def counted(self, is_counted: exp.Expr) -> _Computed:
        """COUNT."""
        flag = self._row("flag", is_counted)
        self._group("count", self._of_first(exp.Count(this=exp.Star()), flag))
        count = sql("CAST(:count AS DECIMAL)", count=self._of("count"))
        return self._value(NumberValue(count, constant(0)))

    def summed(self, number: exp.Expr, rank: exp.Expr, *, average: bool) -> _Computed:
        """SUM and AVG: an error if any value is no number; of nothing, zero."""
        value, level = self._row("number", number), self._row("rank", rank)
        self._group("sum", self._of_first(exp.Sum(this=value)))
        self._group("rank", sql("MAX(:rank)", rank=level))
        self._group("count", self._of_first(exp.Count(this=value.copy())))
        wrong = self._wrong(value)
        total, highest = self._of("sum"), sql("COALESCE(:rank, 0)", rank=self._of("rank"))
        if not average:
            result = sql(
                "CASE WHEN :wrong > 0 THEN NULL WHEN :rank = 2 THEN :single "
                "WHEN :rank = 3 THEN :double ELSE COALESCE(:total, 0) END",
                wrong=wrong,
                rank=highest,
                single=single(total),
                double=rounded(total),
                total=total,
            )
            return self._value(NumberValue(result, highest))
        count = sql("CAST(:count AS DECIMAL)", count=self._of("count"))
        result = sql(
            "CASE WHEN :wrong > 0 THEN NULL WHEN :count = 0 THEN 0 "
            "WHEN :rank = 2 THEN :singles WHEN :rank = 3 THEN :doubles ELSE :exact END",
            wrong=wrong,
            count=count,
            rank=highest,
            singles=single(double_quotient(total, count)),
            doubles=double_quotient(total, count),
            exact=quotient(total, count),
        )
        kind = "CASE WHEN :count = 0 THEN 0 ELSE GREATEST(:rank, 1) END"
        return self._value(NumberValue(result, sql(kind, count=count, rank=highest)))

    def concatenated(self, text: exp.Expr, separator: str) -> _Computed:
        """GROUP_CONCAT: the texts in their order, so that the result is always the same."""
        value = self._row("text", text)
        joined = sql(
            "STRING_AGG(:text, :separator ORDER BY :key)",
            text=value,
            separator=separator,
            key=codepoints(value),
        )
        self._group("joined", self._of_first(joined))
        form = "CASE WHEN :wrong = 0 THEN COALESCE(:joined, '') END"
        return self._value(
            StringValue(sql(form, wrong=self._wrong(value), joined=self._of("joined")))
        )

    def extreme(
        self,
        parts: Mapping[str, exp.Expr],
        keys: list[exp.Expr],
        *,
        descending: bool,
        strict: bool,
    ) -> _Computed:
        """MIN, MAX and SAMPLE; ``strict``: an error if any value is one."""
        order = [
            exp.Ordered(this=self._row(f"key{n}", key), desc=descending, nulls_first=not descending)
            for n, key in enumerate(keys)
        ]
        shown = "" if "" in parts else "_kind"
        values = {part: self._row(f"part{part}", each) for part, each in parts.items()}
        is_bound = sql("NOT :part IS NULL", part=values[shown])
        for part, value in values.items():
            array = exp.ArrayAgg(
                this=exp.Order(this=value, expressions=[each.copy() for each in order])
            )
            found = exp.Filter(this=array, expression=exp.Where(this=is_bound.copy()))
            first = [exp.Literal.number(1)]
            best = exp.Bracket(this=exp.Paren(this=found), expressions=first, offset=1)
            self._group(f"best{part}", best)
        results = {part: self._of(f"best{part}") for part in parts}
        if strict:
            wrong = self._wrong(values[shown])
            results = {
                part: sql("CASE WHEN :wrong = 0 THEN :value END", wrong=wrong, value=value)
                for part, value in results.items()
            }
        return self._computed(results, has_id="" in parts)

    def _wrong(self, value: exp.Expr) -> exp.Expr:
        """The number of rows of a group that have no value."""
        self._group("wrong", sql("COUNT(*) FILTER(WHERE :value IS NULL)", value=value))
        return self._of("wrong")

    def _value(self, value: SqlTerm) -> _Computed:
        return self._computed({f"_{part}": value.part(part) for part in STORED}, has_id=False)

    def _computed(self, parts: Mapping[str, exp.Expr], *, has_id: bool) -> _Computed:
        self.result = {f"{self._column}{part}": each for part, each in parts.items()}
        self.layout = Layout(self._column, has_id, not has_id, False)
        return self

    def _row(self, name: str, value: exp.Expr) -> exp.Expr:
        full = f"{self._prefix}_{name}"
        self.rows[full] = value.copy()
        return exp.column(full, self._rows_alias)

    def _group(self, name: str, value: exp.Expr) -> None:
        self.groups[f"{self._prefix}_{name}"] = value

    def _of(self, name: str) -> exp.Expr:
        return exp.column(f"{self._prefix}_{name}", self._groups_alias)

    def _of_first(self, aggregate: exp.Expr, condition: exp.Expr | None = None) -> exp.Expr:
        tests = [] if condition is None else [condition]
        if self._only_first:
            tests.append(exp.column(f"{self._prefix}_first", self._rows_alias))
        if not tests:
            return aggregate
        return exp.Filter(this=aggregate, expression=exp.Where(this=all_of(*tests)))
