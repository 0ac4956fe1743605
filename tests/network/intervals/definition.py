"""The definition of patterns in time, as it is printed: slow, direct, over a finite stream.

Source: Anicic et al., "EP-SPARQL", 2011, section 4.2. Where docs/decisions/018 differs, a comment
says so. A solution is its bindings, its start and its end; what holds always has no interval,
which is the empty one: it leaves every hull as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.network.expressions.expression_functions import test_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Variable
from sensorstream.sparql.walk import replaced

Occurrence: TypeAlias = tuple[Triple, float, float]
Bindings: TypeAlias = frozenset[tuple[str, str]]
Solution: TypeAlias = tuple[Bindings, float, float]
_TURNED: dict[str, Any] = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
ALWAYS = (float("inf"), float("-inf"))


class Streams(frozenset[Occurrence]):
    """What happens in all streams; ``named`` is what happens in single ones."""

    named: Mapping[str, frozenset[Occurrence]]


def streams(everything: Iterable[Occurrence], named: Mapping[str, Any]) -> Streams:
    made = Streams(everything)
    made.named = named
    return made


def solutions(
    pattern: algebra.Pattern,
    stream: frozenset[Occurrence],
    lengths: tuple[algebra.Expression, ...] = (),
) -> frozenset[Solution]:
    """All solutions of a pattern over a stream; ``lengths`` bound what GROUP BY takes together."""
    match pattern:
        case algebra.BGP(patterns):
            return frozenset(_block(patterns, stream))
        case algebra.Group():
            return frozenset(_groups(pattern, stream, lengths))
        case algebra.Extend(inner, variable, expression):
            return frozenset(
                _extended(each, variable.name, expression)
                for each in solutions(inner, stream, lengths)
            )
        case algebra.Filter(bound, inner) if _bounds(bound) and _over_group(inner):
            return solutions(inner, stream, (*lengths, bound))
    if (sequence := _consuming(pattern)) is not None:
        return frozenset(_chosen(*sequence, stream))
    if isinstance(pattern, algebra.Filter):
        found = solutions(pattern.pattern, stream, lengths)
        return frozenset(s for s in found if holds(asked(pattern.condition, s, stream), s))
    if isinstance(pattern, algebra.Graph):
        # Named graphs of these tests have what holds always, and no interval.
        assert isinstance(pattern.name, IRI)
        return solutions(pattern.pattern, frozenset(o for o in stream if o[1:] == ALWAYS))
    if isinstance(pattern, algebra.Stream):
        assert isinstance(stream, Streams)
        named = stream.named
        return solutions(pattern.pattern, streams(named.get(pattern.name, ()), named))
    if isinstance(pattern, algebra.Slice):
        found = solutions(pattern.pattern, stream)
        ordered = sorted(found, key=lambda s: (timed(s), s[2], s[1], sorted(s[0])))
        until = None if pattern.limit is None else pattern.offset + pattern.limit
        return frozenset(ordered[pattern.offset : until])
    if isinstance(pattern, algebra.Project):
        names = {each.name for each in pattern.variables}
        return frozenset(
            (frozenset(b for b in bindings if b[0] in names), start, end)
            for bindings, start, end in solutions(pattern.pattern, stream, lengths)
        )
    if isinstance(pattern, algebra.Values):
        return frozenset(
            (
                frozenset(
                    (column.name, term)
                    for column, term in zip(pattern.variables, row, strict=True)
                    if term is not None
                ),
                *ALWAYS,
            )
            for row in pattern.rows
        )
    if isinstance(pattern, algebra.Distinct):
        return solutions(pattern.pattern, stream)
    left = solutions(pattern.left, stream)  # type: ignore[union-attr]
    right = solutions(pattern.right, stream)  # type: ignore[union-attr]
    match pattern:
        case algebra.Union():
            return left | right
        case algebra.Join():
            return frozenset(joined(left, right, lambda a, b: True))
        case algebra.Seq():
            return frozenset(joined(left, right, before))
        case algebra.Equals():
            return frozenset(joined(left, right, same))
        case algebra.LeftJoin(_, _, condition):
            # <= where the paper has <: else it would not be downward compatible with SPARQL.
            return frozenset(optional(left, right, condition, lambda a, b: b[2] <= a[2]))
        case algebra.EqualsOptional(_, _, condition):
            return frozenset(optional(left, right, condition, same))
        case algebra.OptionalSeq(_, _, condition):
            return frozenset(optional(right, left, condition, lambda a, b: before(b, a)))
        case algebra.Minus():
            return frozenset(
                a
                for a in left
                if not any(
                    compatible(a, b) and dict(a[0]).keys() & dict(b[0]).keys() and b[2] <= a[2]
                    for b in right
                )
            )
    raise AssertionError(pattern)


def asked(
    condition: algebra.Expression, solution: Solution, stream: frozenset[Occurrence]
) -> algebra.Expression:
    """A condition with the truth of each EXISTS: by substitution (SPARQL 1.1, section 18.6).

    It sees what has ended by the end of the solution.
    """
    values = dict(solution[0])

    def put_in(node: object) -> object | None:
        # A sub-select is evaluated by itself: LIMIT is of all its solutions.
        if isinstance(node, algebra.Project):
            return node
        return values.get(node.name) if isinstance(node, Variable) else None

    def change(node: object) -> object | None:
        if not isinstance(node, algebra.Exists):
            return None
        found = solutions(replaced(node.pattern, put_in), stream)
        truth = any(
            compatible(each, solution) and (not timed(each) or each[2] <= solution[2])
            for each in found
        )
        return Literal(str(truth).lower(), xsd.BOOLEAN)

    return replaced(condition, change)


def _consuming(pattern: algebra.Pattern) -> tuple[algebra.Seq, list[algebra.Expression]] | None:
    """A SEQ that chooses, and the filters of its group: they come first."""
    conditions = []
    while isinstance(pattern, algebra.Filter):
        conditions.append(pattern.condition)
        pattern = pattern.pattern
    if not isinstance(pattern, algebra.Seq):
        return None
    chooses = pattern.consumption is not algebra.Consumption.UNRESTRICTED
    return (pattern, conditions) if chooses else None


def _chosen(
    sequence: algebra.Seq, conditions: list[algebra.Expression], stream: frozenset[Occurrence]
) -> Iterator[Solution]:
    def order(solution: Solution) -> Any:
        return solution[2], solution[1], sorted(solution[0])

    used: set[Solution] = set()
    lefts = solutions(sequence.left, stream)
    for right in sorted(solutions(sequence.right, stream), key=order):
        fitting = [
            left
            for left in lefts - used
            if compatible(left, right)
            and before(left, right)
            and all(holds(each, together(left, right)) for each in conditions)
        ]
        if not fitting:
            continue
        if sequence.consumption is algebra.Consumption.RECENT:
            latest = max((left[2], left[1]) for left in fitting)
            yield from (together(a, right) for a in fitting if (a[2], a[1]) == latest)
        else:
            first = min(fitting, key=order)
            used.add(first)
            yield together(first, right)


def _bounds(condition: algebra.Expression) -> bool:
    match condition:
        case algebra.Comparison("<" | "<=", algebra.Call("GETDURATION"), Literal()):
            return True
    return False


def _over_group(pattern: algebra.Pattern) -> bool:
    while isinstance(pattern, algebra.Filter | algebra.Extend | algebra.Project):
        pattern = pattern.pattern
    return isinstance(pattern, algebra.Group)


def _groups(
    group: algebra.Group, stream: frozenset[Occurrence], lengths: Iterable[algebra.Expression]
) -> Iterator[Solution]:
    """What ends at each moment, with as much of what has ended by then as the lengths allow."""
    members = [each for each in solutions(group.pattern, stream) if timed(each)]
    names = [key.variable.name for key in group.keys if key.variable is not None]
    for now in {end for _, _, end in members}:
        for key in {_part(each, names) for each in members}:
            alike = [each for each in members if _part(each, names) == key and each[2] <= now]
            for since in sorted({start for _, start, _ in alike}):
                taken = [each for each in alike if each[1] >= since]
                if max(end for _, _, end in taken) < now:
                    continue
                if all(holds(each, (frozenset(), since, now)) for each in lengths):
                    values = {
                        (variable.name, value)
                        for variable, aggregate in group.aggregates
                        if (value := _aggregate(aggregate, taken)) is not None
                    }
                    yield frozenset({*key, *values}), since, now
                    break


def _part(solution: Solution, names: Iterable[str]) -> Bindings:
    return frozenset(each for each in solution[0] if each[0] in names)


def _aggregate(aggregate: algebra.Aggregate, taken: list[Solution]) -> str | None:
    if aggregate.expression is None:
        return Literal(str(len(taken)), xsd.INTEGER)
    assert isinstance(aggregate.expression, Variable)
    values = [dict(bindings).get(aggregate.expression.name) for bindings, _, _ in taken]
    if aggregate.name == "COUNT":
        told = [each for each in values if each is not None]
        return Literal(str(len(set(told) if aggregate.distinct else told)), xsd.INTEGER)
    assert aggregate.name == "SUM"
    numbers = [each.value for each in values if isinstance(each, Literal)]
    if len(numbers) < len(values):
        return None
    return Literal(str(sum(numbers)), xsd.INTEGER)  # type: ignore[arg-type]


def _extended(solution: Solution, name: str, expression: algebra.Expression) -> Solution:
    bindings, start, end = solution
    match expression:
        case Variable(asked):
            value = dict(bindings).get(asked)
        case algebra.Call(function) if timed(solution):
            told = {"GETDURATION": end - start, "GETSTARTTIME": start, "GETENDTIME": end}
            number = str(int(told[function]))
            value = (
                Literal(f"PT{number}S", xsd.DURATION)
                if function == "GETDURATION"
                else Literal(number, xsd.INTEGER)
            )
        case algebra.Call("GETDURATION" | "GETSTARTTIME" | "GETENDTIME"):
            value = None
        case _:
            raise AssertionError(expression)
    return (bindings if value is None else bindings | {(name, value)}), start, end


def _block(
    patterns: Iterable[algebra.TriplePattern], stream: frozenset[Occurrence]
) -> Iterator[Any]:
    found: list[dict[str, str]] = [{}]
    everything = {triple for triple, _, _ in stream}
    patterns = list(patterns)
    lasting = {triple for triple, *interval in stream if tuple(interval) == ALWAYS}
    for pattern in patterns:
        ends = (pattern.subject, pattern.predicate, pattern.object)
        fitting: Iterable[Any] = everything
        if (path := _any_length(pattern)) is not None:
            # It has no interval: it is followed in what holds always.
            named = [end for end in (pattern.subject, pattern.object) if not _name(end)]
            fitting = [(a, path, b) for a, b in pairs_of(path, lasting, named)]
        found = [
            fitted
            for bindings in found
            for triple in fitting
            if (fitted := _fitted(bindings, ends, triple)) is not None
        ]
    patterns = [each for each in patterns if _any_length(each) is None]
    for bindings in found:
        triples = {
            tuple(bindings[_name(e)] if _name(e) else e for e in (p.subject, p.predicate, p.object))
            for p in patterns
        }
        # One occurrence for each triple of the set.
        of = [[o for o in stream if o[0] == triple] for triple in triples]
        told = frozenset((n, t) for n, t in bindings.items() if not n.startswith("_:"))
        for chosen in product(*of):
            yield (
                told,
                min((o[1] for o in chosen), default=ALWAYS[0]),
                max((o[2] for o in chosen), default=ALWAYS[1]),
            )


def _any_length(pattern: algebra.TriplePattern) -> algebra.Path | None:
    predicate = pattern.predicate
    return None if isinstance(predicate, Variable | IRI) else predicate


def pairs_of(path: Any, graph: set[Triple], named: Iterable[Any]) -> set[tuple[Any, Any]]:
    """The ends of a path over a graph, as relations; those of length zero also of named terms."""
    nodes = {*(t[0] for t in graph), *(t[2] for t in graph), *named}
    same = {(each, each) for each in nodes}
    match path:
        case IRI():
            return {(s, o) for s, p, o in graph if p == path}
        case algebra.Inverse(inner):
            return {(b, a) for a, b in pairs_of(inner, graph, named)}
        case algebra.Sequence(left, right):
            return _composed(pairs_of(left, graph, named), pairs_of(right, graph, named))
        case algebra.Alternative(left, right):
            return pairs_of(left, graph, named) | pairs_of(right, graph, named)
        case algebra.NegatedSet(forward, backward):
            found = {(s, o) for s, p, o in graph if p not in forward} if forward else set()
            return found | (
                {(o, s) for s, p, o in graph if p not in backward} if backward else set()
            )
        case algebra.ZeroOrOne(inner):
            return same | pairs_of(inner, graph, named)
        case algebra.ZeroOrMore(inner):
            return same | pairs_of(algebra.OneOrMore(inner), graph, named)
        case algebra.OneOrMore(inner):
            found = once = pairs_of(inner, graph, named)
            while not (more := _composed(found, once)) <= found:
                found = found | more
            return found
    raise AssertionError(path)


def _composed(one: set[tuple[Any, Any]], other: set[tuple[Any, Any]]) -> set[tuple[Any, Any]]:
    return {(a, c) for a, b in one for d, c in other if b == d}


def _name(end: object) -> str:
    if isinstance(end, Variable):
        return end.name
    return str(end) if isinstance(end, BlankNode) else ""


def _fitted(bindings: dict[str, str], ends: Iterable[Any], triple: Triple) -> dict[str, str] | None:
    new = dict(bindings)
    for end, term in zip(ends, triple, strict=True):
        name = _name(end)
        if name:
            if new.setdefault(name, term) != term:
                return None
        elif end != term:
            return None
    return new


def compatible(one: Solution, other: Solution) -> bool:
    a, b = dict(one[0]), dict(other[0])
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def together(one: Solution, other: Solution) -> Solution:
    return (one[0] | other[0], min(one[1], other[1]), max(one[2], other[2]))


def timed(solution: Solution) -> bool:
    return solution[1] <= solution[2]


def before(one: Solution, other: Solution) -> bool:
    return timed(one) and timed(other) and one[2] < other[1]


def same(one: Solution, other: Solution) -> bool:
    return timed(one) and one[1:] == other[1:]


def joined(
    left: Iterable[Solution], right: Iterable[Solution], when: Callable[[Solution, Solution], bool]
) -> Iterator[Solution]:
    for a, b in product(left, right):
        if compatible(a, b) and when(a, b):
            yield together(a, b)


def optional(
    mandatory: Iterable[Solution],
    other: Iterable[Solution],
    condition: algebra.Expression | None,
    when: Callable[[Solution, Solution], bool],
) -> Iterator[Solution]:
    for a in mandatory:
        # The condition sees the interval of both together, in either case: else a solution
        # could be missing with and without the optional part.
        fitting = [
            together(a, b)
            for b in other
            if compatible(a, b)
            and when(a, b)
            and (condition is None or holds(condition, together(a, b)))
        ]
        yield from fitting or [a]


def holds(condition: algebra.Expression, solution: Solution) -> bool:
    """Whether a condition is true; times and lengths are numbers of seconds."""
    bindings, start, end = solution

    def change(node: object) -> object | None:
        match node:
            case algebra.Comparison(operator, Literal() as constant, algebra.Call("GETDURATION")):
                turned = algebra.Comparison(_TURNED[operator], node.right, constant)
                return change(turned)
            case algebra.Comparison(operator, algebra.Call("GETDURATION"), Literal() as constant):
                if not timed(solution):
                    return Literal("none")  # an error: a text is compared below
                length = int(constant.lexical.removeprefix("PT").removesuffix("S"))
                truth = {
                    "<": end - start < length,
                    "<=": end - start <= length,
                    ">": end - start > length,
                    ">=": end - start >= length,
                    "=": end - start == length,
                }[operator]
                return Literal(str(truth).lower(), xsd.BOOLEAN)
            case algebra.Call("GETSTARTTIME") if timed(solution):
                return Literal(str(int(start)), "http://www.w3.org/2001/XMLSchema#integer")
            case algebra.Call("GETENDTIME") if timed(solution):
                return Literal(str(int(end)), "http://www.w3.org/2001/XMLSchema#integer")
            case algebra.Call("GETSTARTTIME" | "GETENDTIME"):
                return Variable(".unbound")
        return None

    if not timed(solution) and "GETDURATION" in repr(condition):
        return False
    names = [name for name, _ in bindings]
    row: tuple[Any, ...] = tuple(term for _, term in bindings)
    test = test_of(replaced(condition, change), {name: i for i, name in enumerate(names)})
    return test(row)


def closed(
    stream: frozenset[Occurrence], rules: Iterable[Iterable[algebra.Query]]
) -> frozenset[Occurrence]:
    """The stream with all that CONSTRUCT queries add; ``rules`` are strata, lowest first.

    Moment by moment, since what is absent is asked of the past or of lower strata.
    """
    known = stream
    for time in sorted({end for _, start, end in stream if start <= end}):
        for stratum in rules:
            while True:
                new = {
                    occurrence
                    for rule in stratum
                    for occurrence in _made(rule, _until(known, time))
                    if occurrence[2] == time
                }
                if new <= known:
                    break
                known |= new
    return known


def _until(stream: frozenset[Occurrence], time: float) -> frozenset[Occurrence]:
    return frozenset(each for each in stream if each[2] <= time)


def _made(rule: algebra.Query, stream: frozenset[Occurrence]) -> Iterator[Occurrence]:
    form = rule.form
    assert isinstance(form, algebra.Construct)
    for bindings, start, end in solutions(form.pattern, stream):
        values: Mapping[str, str] = dict(bindings)
        for pattern in form.template:
            ends = [pattern.subject, pattern.predicate, pattern.object]
            made: Any = tuple(values.get(e.name) if isinstance(e, Variable) else e for e in ends)
            if all(each is not None for each in made) and isinstance(made[0], IRI):
                yield made, start, end
