"""Queries and updates from the parse tree.

Source: SPARQL 1.1 Query, sections 18.2.4 and 18.2.5; SPARQL 1.1 Update, section 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial, reduce
from typing import Any, Final

from lark import Token

from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, TriplePattern, Update, Variable
from sensorstream.sparql.building.dataset_builder import Clauses, StreamBuilder
from sensorstream.sparql.building.pattern_builder import joined
from sensorstream.sparql.building.term_builder import NO_PREFIXES, Triples, plain, rule
from sensorstream.sparql.query_lexer import QueryText
from sensorstream.sparql.walk import aggregates, nodes, replaced, variables, visible

_Quads = tuple[algebra.Quad, ...]
_HOLE: Final = re.compile(r"\{\?(\w+)\}")
_Item = tuple[int, Variable, Expression | algebra.Aggregate | None]


@frozen
class _SelectClause:
    items: tuple[_Item, ...] | None
    """The offset, the name and the expression of each item; None is ``*``."""
    mark: str
    offset: int
    relation: algebra.Relation | None = None


@frozen
class _Modifiers:
    keys: tuple[algebra.GroupKey, ...] | None = None
    having: tuple[Any, ...] = ()
    order: tuple[algebra.OrderCondition, ...] = ()
    limit: int | None = None
    offset: int = 0


@frozen
class _Form:
    """A query whose VALUES clause has not been read yet, which ``made`` takes."""

    offset: int
    clauses: Clauses
    relation: algebra.Relation | None
    made: Callable[[algebra.Values | None], Any]


def _of_graphs(kinds: Callable[..., Any] | Mapping[str, Callable[..., Any]]) -> Any:
    """The rule of an operation on whole graphs; the first word selects among several kinds."""

    def made(*children: Any) -> Any:
        words = [each for each in children if isinstance(each, Token)]
        graphs = [each for each in children if not isinstance(each, Token)]
        kind = kinds if callable(kinds) else kinds[words[0].type]
        return kind(*graphs, silent=any(each.type == "SILENT" for each in words))

    return rule(made, by_value=True)


class QueryBuilder(StreamBuilder):
    """The rules from ``query`` and ``update`` down to the solution modifiers and quads."""

    def __init__(
        self,
        source: QueryText,
        base: str | None,
        prefixes: Mapping[str, str] = NO_PREFIXES,
        given: Collection[str] | None = None,
    ) -> None:
        """``given`` names the variables with a value from outside; empty outside rules."""
        super().__init__(source, base, prefixes)
        self._given = given
        self._used: set[BlankNode] = set()

    def query(self, children: list[Any]) -> Query:
        *registered, form, values = children
        registration, report = self.reporting(
            registered[0] if registered else None, form.relation, form.clauses.report
        )
        made = self.operation(form.offset, form.made(values))
        clauses = form.clauses
        dataset = replace(clauses.dataset, windows=tuple(self._windows.values()))
        return Query(
            made,
            dataset,
            registration,
            report,
            self.run_time_base(),
            clauses.valid_time,
            self._checked(clauses.alert, made),
        )

    def _checked(
        self, alert: algebra.AlertClause | None, form: object
    ) -> algebra.AlertClause | None:
        if alert is None:
            return None
        if not isinstance(form, algebra.Select):
            self.fail_at(alert, "ALERT: each solution raises one: expected SELECT")
        selected = set(visible(form.pattern))
        for template in (alert.text, alert.key or ""):
            if _HOLE.sub("", template).count("{") or _HOLE.sub("", template).count("}"):
                self.fail_at(alert, f"'{template}': expected {{?name}}, with a variable's name")
            for name in _HOLE.findall(template):
                if Variable(name) not in selected:
                    self.fail_at(alert, f"ALERT: ?{name} is not selected")
        return alert

    # Forms

    def select_query(self, children: list[Any]) -> _Form:
        clause, clauses, where, modifiers = children
        relation = clause.relation
        return self._form(algebra.Select, clauses, where.whole, modifiers, relation, clause)

    def _form(
        self,
        make: Callable[[Pattern], Any],
        clauses: Clauses,
        where: Pattern,
        modifiers: _Modifiers,
        relation: algebra.Relation | None = None,
        clause: _SelectClause | None = None,
    ) -> _Form:
        def made(values: algebra.Values | None) -> Any:
            return make(self._modified(where, modifiers, values, clause))

        return _Form(self.here, clauses, relation, made)

    def sub_select(self, children: list[Any]) -> Pattern:
        clause, where, modifiers, values = children
        if clause.relation is not None:
            told = f"{clause.relation.value} is of the whole query, not of a sub-select"
            self.fail_at(clause.relation, told)
        made = self._modified(where.whole, modifiers, values, clause)
        return self.operation(self.here, made)

    def construct(self, children: list[Any]) -> _Form:
        *relation, template, clauses, where, modifiers = children
        make = partial(algebra.Construct, template)
        return self._form(make, clauses, where.whole, modifiers, *relation)

    def construct_where(self, children: list[Any]) -> _Form:
        clauses, template, modifiers = children
        where = self.block(template)
        return self._form(partial(algebra.Construct, template), clauses, where, modifiers)

    def template(self, children: list[Triples]) -> tuple[TriplePattern, ...]:
        triples = children[0].patterns if children else ()
        self.refuse_paths(triples, "the template of CONSTRUCT")
        return triples

    def describe_query(self, children: list[Any]) -> _Form:
        split = next(number for number, child in enumerate(children) if isinstance(child, Clauses))
        terms = () if isinstance(children[0], Token) else tuple(children[:split])
        *where, modifiers = children[split + 1 :]

        def make(pattern: Pattern) -> algebra.Describe:
            shown = (each for each in visible(pattern) if not each.name.startswith("."))
            return algebra.Describe(terms or tuple(shown), pattern)

        pattern = where[0].whole if where else algebra.BGP()
        return self._form(make, children[split], pattern, modifiers)

    def ask_query(self, children: list[Any]) -> _Form:
        clauses, where, modifiers = children
        return self._form(algebra.Ask, clauses, where.whole, modifiers)

    # Clauses

    def select_clause(self, children: list[Any]) -> _SelectClause:
        relation = children.pop(0) if isinstance(children[0], algebra.Relation) else None
        mark = ""
        if isinstance(children[0], Token) and children[0].type != "STAR":
            mark = children.pop(0).type
        star = isinstance(children[0], Token)
        items = None if star else tuple(children)
        return _SelectClause(items, mark, self.here, relation)

    def select_item(self, children: list[Any]) -> _Item:
        *computed, variable = children
        return self.here, variable, computed[0] if computed else None

    solution_modifier = plain(lambda *of: _Modifiers(**dict(of)))
    group_by = plain(lambda *keys: ("keys", keys))
    having = plain(lambda *conditions: ("having", conditions))
    order_by = plain(lambda *conditions: ("order", conditions))
    limit = plain(lambda number: ("limit", int(number.value)))
    offset = plain(lambda number: ("offset", int(number.value)))

    def group_key(self, children: list[Any]) -> algebra.GroupKey:
        expression = self.without_aggregates(children[0], "GROUP BY")
        if len(children) == 2:
            self._places[_key(children[1])] = self._places[children[1]]
            return algebra.GroupKey(expression, children[1])
        return algebra.GroupKey(
            expression, expression if isinstance(expression, Variable) else None
        )

    order_condition = rule(
        lambda *of: algebra.OrderCondition(of[-1], len(of) > 1 and of[0].type == "DESC")
    )

    values_clause = plain(lambda *values: values[0] if values else None)

    # Translation

    def _modified(
        self,
        where: Pattern,
        modifiers: _Modifiers,
        values: algebra.Values | None,
        clause: _SelectClause | None,
    ) -> Pattern:
        items = clause.items if clause is not None and clause.items is not None else ()
        self._check_names(where, modifiers, items)
        computed = tuple(expression for _, _, expression in items if expression is not None)
        # The same aggregate is computed once.
        found = dict.fromkeys(aggregates((*computed, modifiers.having, modifiers.order)))
        if clause is not None and self._group_themselves(modifiers, found):
            where, clause = self._luposdate(where, clause, items)
            return self._modified(where, modifiers, values, clause)
        pattern = where
        grouped = modifiers.keys is not None or bool(found) or bool(modifiers.having)
        named = {aggregate: Variable(f".agg{number}") for number, aggregate in enumerate(found)}
        if grouped:
            keys = modifiers.keys or ()
            self._check_grouping(clause, keys)
            pattern = algebra.Group(where, keys, tuple((name, of) for of, name in named.items()))
        if modifiers.having:
            pattern = algebra.Filter(reduce(algebra.And, _named(modifiers.having, named)), pattern)
        if values is not None:
            pattern = joined(pattern, values)
        for _, variable, expression in items:
            if expression is not None:
                pattern = algebra.Extend(pattern, variable, _named(expression, named))
        if modifiers.order:
            pattern = algebra.OrderBy(pattern, _named(modifiers.order, named))
        if clause is not None:
            columns = visible(pattern) if clause.items is None else (item[1] for item in items)
            pattern = algebra.Project(pattern, tuple(dict.fromkeys(columns)))
            if clause.mark:
                pattern = (
                    algebra.Distinct(pattern)
                    if clause.mark == "DISTINCT"
                    else algebra.Reduced(pattern)
                )
        if modifiers.limit is not None or modifiers.offset:
            pattern = algebra.Slice(pattern, modifiers.offset, modifiers.limit)
        return pattern

    def _check_names(self, where: Pattern, modifiers: _Modifiers, items: tuple[_Item, ...]) -> None:
        taken = set(visible(where))
        for key in modifiers.keys or ():
            if key.variable is not None and key.expression != key.variable:
                if key.variable in taken:
                    self.fail_at(
                        _key(key.variable),
                        f"{key.variable} has a value already: AS needs a new variable",
                    )
                taken.add(key.variable)
        for offset, variable, expression in items:
            if expression is not None and variable in taken:
                self.fail(offset, f"{variable} has a value already: AS needs a new variable")
            taken.add(variable)

    def _check_grouping(
        self, clause: _SelectClause | None, keys: tuple[algebra.GroupKey, ...]
    ) -> None:
        """Refuse variables that are neither grouped by nor aggregated: no single value (11.4)."""
        if clause is None:
            return
        if clause.items is None:
            self.fail(clause.offset, "SELECT * cannot be grouped: expected a list of variables")
        known = {key.variable for key in keys}
        for offset, variable, expression in clause.items:
            used = {variable} if expression is None else _ungrouped(expression)
            for each in sorted(used - known, key=str):
                self.fail(offset, f"{each} is neither grouped by nor aggregated")
            known.add(variable)

    def _group_themselves(
        self, modifiers: _Modifiers, found: dict[algebra.Aggregate, None]
    ) -> bool:
        named = any(True for _ in aggregates((modifiers.having, modifiers.order)))
        written = bool(found) and self.luposdate_aggregates.issuperset(found)
        return written and modifiers.keys is None and not named

    def _luposdate(
        self, where: Pattern, clause: _SelectClause, items: tuple[_Item, ...]
    ) -> tuple[Pattern, _SelectClause]:
        """Give each solution the aggregates of its group: LUPOSDATE's queries have no GROUP BY.

        A group is the solutions that agree in the selected variables that are not aggregated:
        beside ``lupos:average(?bid)``, each ``?bid`` is kept (docs/use/stream-sparql.md).
        """
        aggregated = variables(tuple(expression for _, _, expression in items))
        keys = [item for item in items if item[2] is None and item[1] not in aggregated]
        inner = self._modified(
            self._with_fresh_blanks(where),
            _Modifiers(keys=tuple(algebra.GroupKey(variable, variable) for _, variable, _ in keys)),
            None,
            _SelectClause((*keys, *(item for item in items if item[2] is not None)), "", 0),
        )
        plain = tuple((offset, variable, None) for offset, variable, _ in items)
        return joined(where, inner), replace(clause, items=plain)

    def _with_fresh_blanks(self, pattern: Pattern) -> Pattern:
        fresh: dict[BlankNode, BlankNode] = {}

        def renamed(part: object) -> BlankNode | None:
            if not isinstance(part, BlankNode):
                return None
            if part not in fresh:
                fresh[part] = self._fresh_blank()
            return fresh[part]

        return replaced(pattern, renamed)

    # Updates

    update = plain(lambda *operations: Update(operations))

    def deletion(self, children: list[Any]) -> Update:
        return Update((self.delete_where([self.quads(children)]),))

    load, create = _of_graphs(algebra.Load), _of_graphs(algebra.Create)
    clear = _of_graphs({"CLEAR": algebra.Clear, "DROP": algebra.Drop})
    transfer = _of_graphs(
        {verb: partial(algebra.Transfer, verb) for verb in ("ADD", "MOVE", "COPY")}
    )

    graph_set = plain(lambda of: of if isinstance(of, IRI) else algebra.GraphSet(of.type))
    graph_or_default = plain(lambda of: of if isinstance(of, IRI) else None)

    def insert_data(self, children: list[_Quads]) -> algebra.InsertData:
        self._refuse_variables(children[0], "INSERT DATA")
        self._refuse_known_labels(children[0])
        return algebra.InsertData(children[0])

    def delete_data(self, children: list[_Quads]) -> algebra.DeleteData:
        self._refuse_variables(children[0], "DELETE DATA")
        self._refuse_blank_nodes(children[0], "DELETE DATA")
        return algebra.DeleteData(children[0])

    def delete_where(self, children: list[_Quads]) -> algebra.DeleteWhere:
        self._refuse_blank_nodes(children[0], "DELETE WHERE")
        return algebra.DeleteWhere(children[0])

    def modify(self, children: list[Any]) -> algebra.Modify:
        parts = {child[0]: child[1] for child in children[:-1] if child[0] != "using"}
        using = [child for child in children[:-1] if child[0] == "using"]
        # A blank node of a pattern belongs to its operation.
        self._block_of.clear()
        return algebra.Modify(
            parts.get("delete"),
            parts.get("insert"),
            children[-1].whole,
            algebra.Dataset(
                tuple(iri for _, named, iri in using if not named),
                tuple(iri for _, named, iri in using if named),
            ),
            parts.get("with"),
            self.run_time_base(),
        )

    def delete(self, children: list[_Quads]) -> tuple[str, _Quads]:
        self._refuse_blank_nodes(children[0], "DELETE")
        return "delete", children[0]

    insert = plain(lambda quads: ("insert", quads))
    with_graph = plain(lambda graph: ("with", graph))
    using = plain(lambda *of: ("using", len(of) == 2, of[-1]))

    def quads(self, children: list[Any]) -> _Quads:
        quads: list[algebra.Quad] = []
        for child in children:
            if isinstance(child, Triples):
                quads += (algebra.Quad(triple) for triple in child.patterns)
            else:
                quads += child
        triples: tuple[TriplePattern, ...] = tuple(quad.triple for quad in quads)
        self.refuse_paths(triples, "the triples of an update")
        return tuple(quads)

    def quads_of_graph(self, children: list[Any]) -> list[algebra.Quad]:
        graph, *triples = children
        return [algebra.Quad(triple, graph) for each in triples for triple in each.patterns]

    # Rules beyond the grammar (section 19.8, notes 5 to 11)

    def _refuse_variables(self, quads: _Quads, where: str) -> None:
        for part in nodes(quads, Variable):
            if part.name not in (self._given or ()):
                self.fail_at(
                    part,
                    f"{part} cannot stand in {where}: it takes no variables"
                    if self._given is None
                    else f"{part} has no value: {where} has no WHERE that binds it",
                )

    def _refuse_blank_nodes(self, quads: _Quads, where: str) -> None:
        for part in nodes(quads, BlankNode):
            self.fail_at(part, f"a blank node cannot stand in {where}: expected a name")

    def _refuse_known_labels(self, quads: _Quads) -> None:
        """Refuse a blank node that is inserted as data in two operations of a request."""
        labels = set(nodes(quads, BlankNode))
        for label in sorted(labels & self._used):
            self.fail_at(label, f"{label} stands already in another operation")
        self._used |= labels


def _named(expression: Any, named: dict[algebra.Aggregate, Variable]) -> Any:
    return replaced(
        expression, lambda part: named.get(part) if isinstance(part, algebra.Aggregate) else None
    )


def _ungrouped(expression: object) -> set[Variable]:
    """The variables of an expression outside its aggregates and EXISTS."""
    outside = replaced(
        expression,
        lambda part: () if isinstance(part, algebra.Aggregate | algebra.Exists) else None,
    )
    return set(variables(outside))


def _key(variable: Variable) -> tuple[str, Variable]:
    return "key", variable
