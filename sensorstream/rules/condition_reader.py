"""Conditions of rules and their SPARQL: read, and compiled to functions.

Conditions and WHERE parts are queries with values from outside.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias, TypedDict, assert_never

import pyoxigraph as ox

from sensorstream.errors import LanguageError, Position, QueryError
from sensorstream.language import syntax
from sensorstream.model import rdf, xsd
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.exact_values import repeated
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.rules.lineage import PatternBlock, blocks, members_of
from sensorstream.rules.rule_effects import RuleHost
from sensorstream.rules.triggers import NO_SOLUTION, Solutions
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Query, Update, Variable
from sensorstream.sparql.answerable import check_answerable
from sensorstream.sparql.query_parser import Parsed, read_query
from sensorstream.sparql.query_printer import is_sub_select, modified
from sensorstream.sparql.walk import variables, visible

_TRUE: Final = Literal("true", xsd.BOOLEAN)


@contextmanager
def in_rule_file() -> Iterator[None]:
    """Turn a QueryError into a LanguageError with the same text and place."""
    try:
        yield
    except QueryError as error:
        raise LanguageError(error.message, position=error.position) from None


class BlockPlace(TypedDict):
    """The facts about a block in a rule file that a reader of SPARQL needs."""

    start: Position
    prefixes: Mapping[str, str]
    base: str | None


def surroundings(block: syntax.Sparql, file: syntax.RuleFile) -> BlockPlace:
    """The place of a block, and the prefixes and the base of its file."""
    return {"start": block.position, "prefixes": file.prefix_map, "base": file.base}


def parsed_condition(block: syntax.Sparql, file: syntax.RuleFile) -> Parsed[Query]:
    """A query of a rule, under the prefixes of its file.

    Raises LanguageError if it is not SPARQL 1.1, or has a part that a rule cannot use.
    """
    with in_rule_file():
        parsed = read_query(block.text, **surroundings(block, file))
        check_answerable(parsed)
    return parsed


def select_query(
    parsed: Parsed[Query], given: Collection[str]
) -> tuple[ConditionQuery, frozenset[str]]:
    """A SELECT whose variables in ``given`` have their value from outside; and its variables.

    A given variable that the query mentions but does not return is returned too, so that it means
    the same inside the query as outside. Raises LanguageError if the query is no SELECT, or has a
    given variable inside a grouping.
    """
    query = parsed.meaning
    if not isinstance(query.form, algebra.Select):
        raise LanguageError("not a SELECT: expected 'SELECT …'", position=parsed.start)
    pattern = query.form.pattern
    returned = frozenset(each.name for each in visible(pattern))
    outer = _names(pattern) & frozenset(given)
    hidden = sorted(outer - returned)
    _check_grouping(pattern, hidden, parsed.start)
    made = returning(pattern, hidden) if hidden else pattern
    asked = Query(algebra.Select(made), query.dataset, base=query.base)
    return _answered(asked, outer, parsed.start), returned | outer


def ask_query(parsed: Parsed[Query], given: Collection[str]) -> ConditionQuery:
    """An ASK as a SELECT whose variables in ``given`` have their value from outside.

    Raises LanguageError if the query is no ASK, or has a given variable inside a grouping.
    """
    query = parsed.meaning
    if not isinstance(query.form, algebra.Ask):
        raise LanguageError("not an ASK: expected 'ASK { … }'", position=parsed.start)
    pattern = query.form.pattern
    outer = _names(pattern) & frozenset(given)
    if not is_sub_select(pattern):
        _check_grouping(pattern, sorted(outer), parsed.start)
    asked = Query(
        algebra.Select(_projected(pattern, sorted(outer))), query.dataset, base=query.base
    )
    return _answered(asked, outer, parsed.start, asks=True)


def pattern_query(
    pattern: Pattern,
    given: Collection[str],
    wanted: Iterable[Variable],
    parsed: Parsed[Update],
    base: IRI | None = None,
) -> ConditionQuery:
    """The solutions of the WHERE part of an update.

    ``given`` are the variables that may have a value from outside, ``wanted`` those to return, in
    the order of the text. ``parsed`` is the update, for places; ``base`` is for IRI(). Raises
    LanguageError for a wanted variable that is neither given nor in the pattern.
    """
    inside = {each.name for each in visible(pattern)}
    outer = frozenset(given)
    names: dict[str, None] = {}
    for variable in wanted:
        if variable.name not in inside | outer:
            raise LanguageError(
                f"{variable} has no value: expected it in the WHERE pattern",
                position=parsed.position(variable),
            )
        if variable.name in inside:
            names[variable.name] = None
    mentioned = outer & _names(pattern)
    shown = sorted(names.keys() | mentioned) or sorted(inside)
    made = algebra.Project(pattern, tuple(map(Variable, shown)))
    return _answered(Query(algebra.Select(made), base=base), mentioned, parsed.start)


def _answered(
    asked: Query, given: frozenset[str], position: Position, *, asks: bool = False
) -> ConditionQuery:
    """The query, after a trial run on an empty Oxigraph store."""
    store = ox.Store()
    try:
        repeated(asked)(store).answer(store)
    except QueryError as error:
        raise LanguageError(error.message, position=position) from None
    return ConditionQuery(asked, given, asks)


def _names(pattern: Pattern) -> frozenset[str]:
    return frozenset(each.name for each in variables(pattern))


def _check_grouping(pattern: Pattern, names: Iterable[str], position: Position) -> None:
    group = modified(pattern).group
    if group is None:
        return
    keys = {key.variable.name for key in group.keys if key.variable is not None}
    missing = " ".join(f"?{name}" for name in names if name not in keys)
    if missing:
        raise LanguageError(
            f"{missing} has a value from before, but this query groups: "
            f"add {missing} to its SELECT and to its GROUP BY",
            position=position,
        )


def returning(pattern: Pattern, names: Iterable[str]) -> Pattern:
    """The pattern of a SELECT that returns further variables."""
    if isinstance(pattern, algebra.Project):
        return algebra.Project(pattern.pattern, (*pattern.variables, *map(Variable, names)))
    assert isinstance(pattern, algebra.Distinct | algebra.Reduced | algebra.Slice), (
        "a SELECT is a projection, or within one"
    )
    return replace(pattern, pattern=returning(pattern.pattern, names))


def _projected(pattern: Pattern, names: Iterable[str]) -> Pattern:
    """The pattern of an ASK as that of a SELECT."""
    if isinstance(pattern, algebra.Slice) and not is_sub_select(pattern):
        return algebra.Slice(_projected(pattern.pattern, names), pattern.offset, pattern.limit)
    columns = tuple(map(Variable, names))
    if not columns and not is_sub_select(pattern) and modified(pattern).group is not None:
        # A grouping must select something.
        fresh = Variable(max(_names(pattern), key=len, default="").removeprefix(".") + "x")
        return algebra.Project(algebra.Extend(pattern, fresh, _TRUE), (fresh,))
    return algebra.Project(pattern, columns)


Condition: TypeAlias = Callable[[RuleHost, Solutions], Solutions]
"""Keeps the solutions for which the condition holds; may bind further variables in each."""

COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The comparisons of a count."""


@frozen
class CompiledCondition:
    """A condition, ready to run.

    ``query``: its SPARQL; None: it costs little. ``returned`` are the variables that it gives a
    value, ``blocks`` the patterns that match what it found. ``negated``: it holds while the query
    has no solution.
    """

    test: Condition
    query: ConditionQuery | None = None
    returned: frozenset[str] = frozenset()
    blocks: tuple[PatternBlock, ...] = ()
    negated: bool = False


def compile_condition(
    condition: syntax.Condition, file: syntax.RuleFile, bound: frozenset[str]
) -> CompiledCondition:
    """Compile a condition; variables in ``bound`` have their value from the parts before it.

    Raises LanguageError for invalid SPARQL, or a query of another form.
    """
    match condition:
        case syntax.ExistsCondition():
            members = () if condition.negated else (members_of(file.resolve(condition.class_name)),)
            return CompiledCondition(_count(as_count(condition), file), blocks=members)
        case syntax.CountCondition():
            counted = members_of(file.resolve(condition.class_name))
            return CompiledCondition(_count(condition, file), blocks=(counted,))
        case syntax.AskCondition():
            query = ask_query(parsed_condition(condition.query, file), bound)
            wanted = not condition.negated
            found = tuple(blocks(query.query.form)) if wanted else ()
            return CompiledCondition(
                _filter(query, keep=wanted), query, blocks=found, negated=not wanted
            )
        case syntax.SelectCondition():
            query, returned = select_query(parsed_condition(condition.query, file), bound)
            if condition.negated:
                query = replace(query, asks=True)
                return CompiledCondition(_filter(query, keep=False), query, negated=True)
            found = tuple(blocks(query.query.form))
            return CompiledCondition(_join(query), query, returned, found)
    assert_never(condition)


def as_count(condition: syntax.ExistsCondition | syntax.CountCondition) -> syntax.CountCondition:
    """A condition about a class, as one on the number of its members."""
    if isinstance(condition, syntax.CountCondition):
        return condition
    return syntax.CountCondition(condition.class_name, ">", 0, condition.negated)


def _count(condition: syntax.CountCondition, file: syntax.RuleFile) -> Condition:
    class_name, wanted = file.resolve(condition.class_name), not condition.negated
    compare, number = COMPARE[condition.comparison], condition.number

    def count(host: RuleHost, solutions: Solutions) -> Solutions:
        holds = compare(host.kb.count(rdf.TYPE, class_name), number)
        return solutions if holds is wanted else NO_SOLUTION

    return count


def _filter(query: ConditionQuery, *, keep: bool) -> Condition:
    def condition(host: RuleHost, solutions: Solutions) -> Solutions:
        if not query.given:
            return solutions if host.evaluator.ask(query, {}) is keep else NO_SOLUTION
        return [s for s in solutions if host.evaluator.ask(query, query.values_in(s)) is keep]

    return condition


def _join(query: ConditionQuery) -> Condition:
    def condition(host: RuleHost, solutions: Solutions) -> Solutions:
        if not query.given:
            found = host.evaluator.select(query, {})
            return [{**solution, **each} for solution in solutions for each in found]
        return [
            {**solution, **each}
            for solution in solutions
            for each in host.evaluator.select(query, query.values_in(solution))
        ]

    return condition
