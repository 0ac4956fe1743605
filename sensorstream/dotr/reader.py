"""From the text of DOTR rules to what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal

from sensorstream.dotr.cursor import Cursor
from sensorstream.dotr.datalog import read_clause
from sensorstream.dotr.names import Names
from sensorstream.dotr.scopes import read_scope, read_within
from sensorstream.dotr.syntax import (
    Absence,
    Aggregation,
    Clause,
    Mode,
    Part,
    Pick,
    Program,
    Rule,
    Selection,
    Selector,
    attribute,
)
from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import (
    Aggregate,
    AlertClause,
    And,
    Construct,
    Expression,
    Extend,
    Filter,
    Project,
    Select,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.lexer import Source, tokens
from sensorstream.sparql.parser import read_query
from sensorstream.sparql.walk import variables, visible

_BEGINS: Final = ("define", "rule")
_ENDS: Final = ("with", "consuming", "alert", "define", "rule")
_AGGREGATES: Final[Mapping[str, Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]]] = {
    "count": "COUNT",
    "sum": "SUM",
    "avg": "AVG",
    "min": "MIN",
    "max": "MAX",
}
_IDENTIFIER: Final = "dotr_id"


def is_rules(text: str) -> bool:
    """Whether a text is one of DOTR rules or Datalog, and not a query."""
    try:
        found = tokens(Source(text, Position("text", 1, 1)))
        for token in found:
            word = token.value.lower()
            if word == "prefix":
                next(found), next(found)
            elif word == "base":
                next(found)
            else:
                return word in _BEGINS or token.type in ("PREFIXED", "IRIREF", "_BRACKET")
    except (QueryError, StopIteration):
        pass
    return False


def read_program(text: str, *, name: str, start: Position, base: str | None = None) -> Program:
    """The rules of a text.

    ``name`` is that of a rule which has none of its own; with several such rules in the text it
    is followed by a number. ``start`` is the place of the first character.

    Raises:
        QueryError: the text is not valid: with the place, and what was expected there.
    """
    cursor = Cursor(text, start)
    cursor.base = base
    clauses: list[Clause] = []
    while cursor.token is not None and not cursor.is_word(*_BEGINS):
        if cursor.is_word("prefix", "base"):
            _read_prologue(cursor)
        else:
            clauses.append(read_clause(cursor))
    rules: list[Rule] = []
    unnamed = 0
    while cursor.token is not None:
        rule = _read_rule(cursor)
        if not rule.name:
            unnamed += 1
        rules.append(rule)
    if not rules and not clauses:
        cursor.fail("'define', 'rule' or a Datalog rule")
    return Program(tuple(clauses), _named(rules, name, several=unnamed > 1), dict(cursor.prefixes))


def _named(rules: list[Rule], name: str, *, several: bool) -> tuple[Rule, ...]:
    found: dict[str, Rule] = {}
    number = 0
    for rule in rules:
        if not rule.name:
            number += 1
            rule = replace(rule, name=f"{name}-{number}" if several else name)
        if rule.name in found:
            raise QueryError(
                f"a second rule named '{rule.name}': expected another name", position=rule.position
            )
        found[rule.name] = rule
    return tuple(found.values())


def _read_prologue(cursor: Cursor) -> None:
    """PREFIX and BASE, if they stand here."""
    start = cursor.at
    while cursor.is_word("prefix", "base"):
        for _ in range(3 if cursor.is_word("prefix") else 2):
            if cursor.token is None:
                cursor.fail("an <iri>")
            cursor.take()
    if cursor.at > start:
        # A query that calls IRI is told its base.
        parsed = read_query(
            f"{cursor.between(start, cursor.at)} ASK {{ FILTER(IRI('')) }}",
            start=cursor.position(start),
            prefixes=cursor.prefixes,
            base=cursor.base,
        )
        cursor.prefixes = {**cursor.prefixes, **parsed.prefixes}
        cursor.base = parsed.meaning.base or cursor.base


def _read_rule(cursor: Cursor) -> Rule:
    position = cursor.position()
    name, mode = "", Mode.INSTANT
    if cursor.take_word("rule"):
        name = cursor.name("the name of the rule")
        if cursor.take_word("mode"):
            mode = Mode(cursor.expect("instant", "window").value.lower())
    cursor.expect("define")
    template, identifiers = _read_template(cursor)
    cursor.expect("from")
    names = Names()
    trigger = _read_selector(cursor, names)
    parts: list[Part] = []
    while cursor.take_word("and"):
        parts.append(_read_part(cursor, names))
    conditions: tuple[Expression, ...] = ()
    if cursor.take_word("where"):
        conditions = _read_conditions(cursor, names)
    values = _read_values(cursor, names) if cursor.take_word("with") else ()
    consumed = _read_consumed(cursor, parts) if cursor.take_word("consuming") else ()
    wanted = {each.name for each in variables(template)}
    alert = _read_alert(cursor, wanted) if cursor.is_word("alert") else None
    if cursor.token is not None and not cursor.is_word(*_BEGINS):
        cursor.fail("'where', 'with', 'consuming', 'alert', in this order, or another rule")
    given = [each for each, _ in values]
    for each in sorted(wanted - set(given)):
        raise QueryError(f"?{each} has no value: expected 'with ?{each} = …'", position=position)
    return Rule(
        name, mode, template, identifiers, trigger, tuple(parts), conditions, values, consumed,
        position, alert,
    )  # fmt: skip


def _read_alert(cursor: Cursor, wanted: Iterable[str]) -> AlertClause | None:
    """``alert SEVERITY "text" key "key"``: as in a query that selects the variables of a graph."""
    start = cursor.at
    while cursor.token is not None and not cursor.is_word(*_BEGINS):
        cursor.at += 1
    of_graph = " ".join(f"?{each} a ?{each} ." for each in sorted(wanted))
    text = cursor.between(start, cursor.at)
    return cursor.query("SELECT * ", text, f" {{ {of_graph} }}", start).alert


def _read_template(cursor: Cursor) -> tuple[tuple[TriplePattern, ...], frozenset[str]]:
    """The triples that a rule says, and which of their blank nodes stand for identifiers."""
    if not cursor.is_word("{"):
        cursor.fail("'{'")
    start = cursor.at
    offset = cursor.offset()
    end = cursor.closing()
    text = cursor.source.text[offset : cursor.offset(end) + 1]
    found: set[str] = set()
    for token in cursor.tokens[start:end]:
        if token.value.startswith(_IDENTIFIER) and token.value.isidentifier():
            # A blank node of the same length: places in errors stay what they are.
            label = f"_:{token.value[2:]}"
            place = token.start - offset
            text = f"{text[:place]}{label}{text[place + len(label) :]}"
            found.add(label)
    form = cursor.query("CONSTRUCT ", text, " WHERE {}", start).form
    assert isinstance(form, Construct)
    if not form.template:
        raise QueryError(
            "the rule makes no triple: expected at least one", position=cursor.position(start)
        )
    return form.template, frozenset(found)


def _read_selector(cursor: Cursor, names: Names) -> Selector:
    """``Label(SELECT …)``."""
    at = cursor.at
    label = cursor.name("a label with a query, such as Smoke(SELECT …)")
    if not cursor.is_word("("):
        cursor.fail("'(' and a SELECT query")
    if label in names.labels:
        raise QueryError(f"a second '{label}': choose another label", position=cursor.position(at))
    start = cursor.at + 1
    end = cursor.closing()
    text = cursor.between(start, end)
    query = cursor.query("", text, "", start)
    where = cursor.position(start)
    if not isinstance(query.form, Select):
        raise QueryError("a selector is a SELECT query: expected 'SELECT …'", position=where)
    dataset = query.dataset
    if dataset.default or dataset.named or dataset.windows or query.registration or query.report:
        raise QueryError(
            "a selector sees what holds at one moment: leave out REGISTER, FROM and REPORT",
            position=where,
        )
    shown = tuple(each.name for each in visible(query.form.pattern))
    names.add(label, shown)
    return Selector(label, cursor.reading(text, start), query, shown, cursor.position(at))


def _read_part(cursor: Cursor, names: Names) -> Part:
    """What a rule asks for besides its trigger."""
    known = tuple(names.selected)
    if pick := cursor.take_word("each", "first", "last"):
        selector = _read_selector(cursor, names)
        within = read_within(cursor, known)
        names.selected.append(selector.label)
        return Selection(Pick(pick), selector, within)
    if cursor.take_word("not"):
        selector = _read_selector(cursor, names)
        return Absence(selector, read_scope(cursor, known))
    if not cursor.is_word(*_AGGREGATES):
        cursor.fail("'each', 'first', 'last', 'not' or an aggregate such as avg")
    function = _AGGREGATES[cursor.take().value.lower()]
    cursor.expect("(")
    distinct = cursor.take_word("distinct") is not None
    selector = _read_selector(cursor, names)
    expression: Expression | None = None
    if cursor.take_word("."):
        variable = cursor.variable()
        if variable not in selector.variables:
            known_names = ", ".join(f"?{each}" for each in selector.variables)
            raise QueryError(
                f"{selector.label} has no ?{variable}: expected one of {known_names}",
                position=cursor.position(cursor.at - 1),
            )
        expression = Variable(attribute(selector.label, variable))
    elif function != "COUNT":
        cursor.fail("'.' and a ?variable")
    cursor.expect(")")
    cursor.expect("as")
    at = cursor.at
    name = cursor.variable()
    if name in names.values:
        raise QueryError(f"a second ?{name}: expected another name", position=cursor.position(at))
    scope = read_scope(cursor, known)
    names.values.append(name)
    return Aggregation(name, Aggregate(function, expression, distinct), selector, scope)


def _read_expression(cursor: Cursor, names: Names, ends: tuple[str, ...]) -> Expression:
    """An expression, which ends before the next clause, or a mark of ``ends``."""
    start, depth = cursor.at, 0
    while (token := cursor.token) is not None:
        word = token.value.lower()
        if not depth and (word in ends or (word in _ENDS and token.type != "VARIABLE")):
            break
        depth += (word in ("(", "{", "[")) - (word in (")", "}", "]"))
        cursor.at += 1
    if cursor.at == start:
        cursor.fail("an expression")
    text = names.resolved(cursor, start, cursor.at)
    form = cursor.query("SELECT*{BIND((", text, ") AS ?_·)}", start).form
    assert isinstance(form, Select)
    pattern = form.pattern
    while not isinstance(pattern, Extend):
        assert isinstance(pattern, Project | Filter)
        pattern = pattern.pattern
    return pattern.expression


def _read_conditions(cursor: Cursor, names: Names) -> tuple[Expression, ...]:
    found = _conjuncts(_read_expression(cursor, names, ("and",)))
    while cursor.take_word("and"):
        found += _conjuncts(_read_expression(cursor, names, ("and",)))
    return tuple(found)


def _conjuncts(expression: Expression) -> list[Expression]:
    if isinstance(expression, And):
        return [*_conjuncts(expression.left), *_conjuncts(expression.right)]
    return [expression]


def _read_values(cursor: Cursor, names: Names) -> tuple[tuple[str, Expression], ...]:
    found: dict[str, Expression] = {}
    while True:
        at = cursor.at
        name = cursor.variable()
        if name in found:
            raise QueryError(
                f"a second value for ?{name}: expected one for each name",
                position=cursor.position(at),
            )
        cursor.expect("=")
        found[name] = _read_expression(cursor, names, (",",))
        if not cursor.take_word(","):
            return tuple(found.items())


def _read_consumed(cursor: Cursor, parts: list[Part]) -> tuple[str, ...]:
    labels = [each.selector.label for each in parts if isinstance(each, Selection)]
    found: list[str] = []
    while True:
        at = cursor.at
        label = cursor.name("a label")
        if label not in labels:
            raise QueryError(
                f"'{label}' cannot be consumed: expected a label of each, first or last: "
                + (", ".join(labels) or "there is none"),
                position=cursor.position(at),
            )
        found.append(label)
        if not cursor.take_word(","):
            return tuple(dict.fromkeys(found))
