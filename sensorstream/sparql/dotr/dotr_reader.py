"""The reader of DOTR rules: from text to meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from itertools import count
from typing import Final, Literal

from sensorstream.errors import Position, QueryError, TermError
from sensorstream.model.xsd import parse_duration
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, TriplePattern, Variable
from sensorstream.sparql.building.dataset_builder import UNITS
from sensorstream.sparql.described import check_named, described
from sensorstream.sparql.dotr.datalog import read_clause
from sensorstream.sparql.dotr.dotr_syntax import (
    Absence,
    Between,
    DatalogClause,
    Mode,
    Part,
    Pick,
    Scope,
    ScopeAggregation,
    Selection,
    Selector,
    TimedProgram,
    TimedRule,
    Within,
    attribute,
)
from sensorstream.sparql.dotr.token_cursor import TokenCursor
from sensorstream.sparql.query_lexer import QueryText, tokens
from sensorstream.sparql.query_parser import read_query
from sensorstream.sparql.variable_scope import conjuncts
from sensorstream.sparql.walk import variables, visible

_LENGTH: Final = "a length of time such as 5 min or PT5M"


def read_scope(cursor: TokenCursor, known: Sequence[str]) -> Scope:
    """Read a scope counted from one of the ``known`` labels; raises QueryError if there is none."""
    if not cursor.take_word("between"):
        return read_within(cursor, known)
    start = _label(cursor, known)
    cursor.expect("and")
    return Between(start, _label(cursor, known))


def read_within(cursor: TokenCursor, known: Sequence[str]) -> Within:
    """Read ``within D from F``; raises QueryError if it does not stand here."""
    cursor.expect("within")
    length = _length(cursor)
    cursor.expect("from")
    return Within(length, _label(cursor, known))


def _label(cursor: TokenCursor, known: Sequence[str]) -> str:
    at = cursor.at
    label = cursor.name("a label")
    if label not in known:
        raise cursor.error(
            f"unknown label '{label}': expected one that stands before: {', '.join(known)}", at
        )
    return label


def _length(cursor: TokenCursor) -> timedelta:
    at = cursor.at
    if cursor.token is None:
        cursor.fail(_LENGTH)
    written = cursor.take().value.strip("\"'")
    try:
        if written.startswith("P"):
            length = parse_duration(written)
        else:
            digits = written.rstrip("mshd")
            unit = written[len(digits) :]
            if not unit and cursor.token is not None:
                unit = cursor.take().value
            microseconds = Decimal(digits) * (UNITS[unit.upper()] // timedelta(microseconds=1))
            length = timedelta(microseconds=int(microseconds))
    except (TermError, InvalidOperation, KeyError, OverflowError):
        cursor.at = at
        cursor.fail(_LENGTH)
    if length < timedelta(0):
        raise cursor.error(f"'{written}' is negative: expected {_LENGTH}", at)
    return length


@dataclass(slots=True)
class Labels:
    """The labels and variables of a rule read so far."""

    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    selected: list[str] = field(default_factory=list)
    """The labels of the events that the rule takes: the trigger, and each, first, last."""
    values: list[str] = field(default_factory=list)
    """The variables of aggregates."""

    def add(self, label: str, variables: tuple[str, ...]) -> None:
        """Add a selector; the first one is the trigger."""
        if not self.labels:
            self.selected.append(label)
        self.labels[label] = variables

    def resolved(self, cursor: TokenCursor, first: int, last: int) -> str:
        """The text of an expression with each variable named after its label.

        It reads ``Label.?x``, ``Label.x``, and ``?x`` where only one selector has it. Raises
        QueryError if a label or variable is unknown, or in several selectors.
        """
        text = ""
        done = cursor.offset(first)
        at = first
        while at < last:
            token = cursor.tokens[at]
            start, found, used = token.start, "", 1
            if token.type == "VARIABLE":
                found = self._variable(cursor, at)
            elif at + 2 < last and cursor.tokens[at + 1].value == ".":
                found, used = self._attribute(cursor, at), 3
            if found:
                text += cursor.source.text[done:start] + found
                end = cursor.tokens[at + used - 1]
                done = end.start + len(end.value)
            at += used
        return text + cursor.source.text[done : cursor.offset(last)]

    def _variable(self, cursor: TokenCursor, at: int) -> str:
        name = cursor.tokens[at].value[1:]
        if name in self.values:
            return f"?{name}"
        owners = [label for label, names in self.labels.items() if name in names]
        if len(owners) == 1:
            return f"?{attribute(owners[0], name)}"
        known = ", ".join(f"{label}.?{name}" for label in owners)
        told = (
            f"expected one of {known}"
            if owners
            else "no selector has it: expected a variable that one of them selects"
        )
        raise cursor.error(f"?{name}: {told}", at)

    def _attribute(self, cursor: TokenCursor, at: int) -> str:
        label, name = cursor.tokens[at].value, cursor.tokens[at + 2].value.lstrip("?$")
        if label not in self.labels:
            known = ", ".join(self.labels)
            raise cursor.error(f"unknown label '{label}': expected one of {known}", at)
        if name not in self.labels[label]:
            known = ", ".join(f"?{each}" for each in self.labels[label])
            raise cursor.error(f"{label} has no ?{name}: expected one of {known}", at + 2)
        return f"?{attribute(label, name)}"


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
    """Whether a text contains DOTR rules or Datalog, and not a query."""
    try:
        found = tokens(QueryText(text, Position("text", 1, 1)))
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


def read_program(text: str, *, name: str, start: Position, base: str | None = None) -> TimedProgram:
    """Read the rules of a text.

    ``name`` is used for a rule without a name, with a number if there are several such rules.
    ``start`` is the place of the first character. Raises QueryError with the place, and what was
    expected there.
    """
    cursor = TokenCursor(text, start)
    cursor.base = base
    clauses: list[DatalogClause] = []
    while cursor.token is not None and not cursor.is_word(*_BEGINS):
        if cursor.is_word("prefix", "base"):
            _read_prologue(cursor)
        else:
            clauses.append(read_clause(cursor))
    rules: list[TimedRule] = []
    while cursor.token is not None:
        rules.append(_read_rule(cursor))
    if not rules and not clauses:
        cursor.fail("'define', 'rule' or a Datalog rule")
    return TimedProgram(tuple(clauses), _named(rules, name), dict(cursor.prefixes))


def _named(rules: list[TimedRule], name: str) -> tuple[TimedRule, ...]:
    found: dict[str, TimedRule] = {}
    numbers, several = count(1), sum(not rule.name for rule in rules) > 1
    for rule in rules:
        if not rule.name:
            rule = replace(rule, name=f"{name}-{next(numbers)}" if several else name)
        if rule.name in found:
            raise QueryError(
                f"a second rule named '{rule.name}': expected another name", position=rule.position
            )
        found[rule.name] = rule
    return tuple(found.values())


def _read_prologue(cursor: TokenCursor) -> None:
    """Read PREFIX and BASE, if they stand here."""
    start = cursor.at
    while cursor.is_word("prefix", "base"):
        for _ in range(3 if cursor.is_word("prefix") else 2):
            if cursor.token is None:
                cursor.fail("an <iri>")
            cursor.take()
    if cursor.at > start:
        # A query that calls IRI needs the base.
        parsed = read_query(
            f"{cursor.between(start, cursor.at)} ASK {{ FILTER(IRI('')) }}",
            start=cursor.position(start),
            prefixes=cursor.prefixes,
            base=cursor.base,
        )
        cursor.prefixes = {**cursor.prefixes, **parsed.prefixes}
        cursor.base = parsed.meaning.base or cursor.base


def _read_rule(cursor: TokenCursor) -> TimedRule:
    position = cursor.position()
    name, mode = "", Mode.INSTANT
    if cursor.take_word("rule"):
        name = cursor.name("the name of the rule")
        if cursor.take_word("mode"):
            mode = Mode(cursor.expect("instant", "window").value.lower())
    cursor.expect("define")
    template, identifiers = _read_template(cursor)
    cursor.expect("from")
    names = Labels()
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
    return TimedRule(
        name, mode, template, identifiers, trigger, tuple(parts), conditions, values, consumed,
        position, alert,
    )  # fmt: skip


def _read_alert(cursor: TokenCursor, wanted: Iterable[str]) -> algebra.AlertClause | None:
    """``alert SEVERITY "text" key "key"``: as in a query that selects the variables of a graph."""
    start = cursor.at
    while cursor.token is not None and not cursor.is_word(*_BEGINS):
        cursor.at += 1
    of_graph = " ".join(f"?{each} a ?{each} ." for each in sorted(wanted))
    text = cursor.between(start, cursor.at)
    return cursor.query("SELECT * ", text, f" {{ {of_graph} }}", start).alert


def _read_template(cursor: TokenCursor) -> tuple[tuple[TriplePattern, ...], frozenset[str]]:
    """The triples that a rule makes, and the blank nodes in them that stand for identifiers."""
    if not cursor.is_word("{"):
        cursor.fail("'{'")
    start = cursor.at
    offset = cursor.offset()
    end = cursor.closing()
    text = cursor.source.text[offset : cursor.offset(end) + 1]
    found: set[str] = set()
    for token in cursor.tokens[start:end]:
        if token.value.startswith(_IDENTIFIER) and token.value.isidentifier():
            # A blank node of the same length keeps the places in errors.
            label = f"_:{token.value[2:]}"
            place = token.start - offset
            text = f"{text[:place]}{label}{text[place + len(label) :]}"
            found.add(label)
    form = cursor.query("CONSTRUCT ", text, " WHERE {}", start).form
    assert isinstance(form, algebra.Construct)
    if not form.template:
        raise cursor.error("the rule makes no triple: expected at least one", start)
    return form.template, frozenset(found)


def _read_selector(cursor: TokenCursor, names: Labels) -> Selector:
    """``Label(SELECT …)``."""
    at = cursor.at
    label = cursor.name("a label with a query, such as Smoke(SELECT …)")
    if not cursor.is_word("("):
        cursor.fail("'(' and a SELECT query")
    if label in names.labels:
        raise cursor.error(f"a second '{label}': choose another label", at)
    start = cursor.at + 1
    end = cursor.closing()
    text = cursor.between(start, end)
    query = cursor.query("", text, "", start)
    if not isinstance(query.form, algebra.Select):
        raise cursor.error("a selector is a SELECT query: expected 'SELECT …'", start)
    dataset = query.dataset
    if dataset.default or dataset.named or dataset.windows or query.registration or query.report:
        raise cursor.error(
            "a selector sees what holds at one moment: leave out REGISTER, FROM and REPORT", start
        )
    shown = tuple(each.name for each in visible(query.form.pattern))
    names.add(label, shown)
    return Selector(label, cursor.reading(text, start), query, shown, cursor.position(at))


def _read_part(cursor: TokenCursor, names: Labels) -> Part:
    """Read a part of a rule after its trigger."""
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
            raise cursor.error(
                f"{selector.label} has no ?{variable}: expected one of {known_names}", cursor.at - 1
            )
        expression = Variable(attribute(selector.label, variable))
    elif function != "COUNT":
        cursor.fail("'.' and a ?variable")
    cursor.expect(")")
    cursor.expect("as")
    at = cursor.at
    name = cursor.variable()
    if name in names.values:
        raise cursor.error(f"a second ?{name}: expected another name", at)
    scope = read_scope(cursor, known)
    names.values.append(name)
    return ScopeAggregation(name, Aggregate(function, expression, distinct), selector, scope)


def _read_expression(cursor: TokenCursor, names: Labels, ends: tuple[str, ...]) -> Expression:
    """An expression, up to the next clause or a mark of ``ends``."""
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
    assert isinstance(form, algebra.Select)
    pattern = form.pattern
    while not isinstance(pattern, algebra.Extend):
        assert isinstance(pattern, algebra.Project | algebra.Filter)
        pattern = pattern.pattern
    return pattern.expression


def _read_conditions(cursor: TokenCursor, names: Labels) -> tuple[Expression, ...]:
    found = [*conjuncts(_read_expression(cursor, names, ("and",)))]
    while cursor.take_word("and"):
        found += conjuncts(_read_expression(cursor, names, ("and",)))
    return tuple(found)


def _read_values(cursor: TokenCursor, names: Labels) -> tuple[tuple[str, Expression], ...]:
    found: dict[str, Expression] = {}
    while True:
        at = cursor.at
        name = cursor.variable()
        if name in found:
            raise cursor.error(f"a second value for ?{name}: expected one for each name", at)
        cursor.expect("=")
        found[name] = _read_expression(cursor, names, (",",))
        if not cursor.take_word(","):
            return tuple(found.items())


def _read_consumed(cursor: TokenCursor, parts: list[Part]) -> tuple[str, ...]:
    labels = [each.selector.label for each in parts if isinstance(each, Selection)]
    found: list[str] = []
    while True:
        at = cursor.at
        label = cursor.name("a label")
        if label not in labels:
            raise cursor.error(
                f"'{label}' cannot be consumed: expected a label of each, first or last: "
                + (", ".join(labels) or "there is none"),
                at,
            )
        found.append(label)
        if not cursor.take_word(","):
            return tuple(dict.fromkeys(found))


def check_classes_named(program: TimedProgram) -> None:
    """Refuse rules over time with a selector that describes a class.

    Raises UnsupportedQuery with the place and the definition to write.
    """
    for rule in program.rules:
        for selector in rule.selectors:
            if described(selector.query)[1]:
                # Read again, to get the place.
                check_named(selector.reading().meaning)
