"""Basic graph patterns with filters, as delta joins compiled to Python.

Each pattern has a function, fired by the triples that fit it: it walks the other patterns through
the indexes, cheapest first. The indexes serve as memory. Each solution is found once: a triple that
fits several patterns of a solution counts at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.network.budget import Meter
from sensorstream.network.dispatch import Dispatcher, Guard, Watched
from sensorstream.network.node import Node
from sensorstream.network.pattern_cost import fan_out
from sensorstream.network.plan.nodes import End, constant
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Variable


@frozen
class Pattern:
    """A triple pattern over one graph or window, in which blank nodes have become variables."""

    index: TripleIndex | WindowScope
    subject: End
    predicate: End
    object: End

    @property
    def ends(self) -> tuple[End, End, End]:
        return (self.subject, self.predicate, self.object)


@frozen
class Test:
    """A filter: ``holds`` takes the values of ``variables`` as a row."""

    variables: tuple[str, ...]
    holds: Callable[[Row], bool]


class DeltaJoin(Node):
    """The solutions of ``patterns`` that pass the ``tests``, as the ``output`` variables."""

    def __init__(
        self,
        patterns: Sequence[Pattern],
        tests: Sequence[Test],
        output: Sequence[str],
        dispatchers: Callable[[Watched], Dispatcher],
    ) -> None:
        super().__init__((), output, output)
        self._patterns = tuple(patterns)
        self._tests = tuple(tests)
        self._scan: Callable[[list[Row]], None] | None = None
        self._dispatcher_of = dispatchers

    def load(self) -> None:
        for place, pattern in enumerate(self._patterns):
            self._dispatcher_of(self._watched(pattern)).subscribe(
                self,
                constant(pattern.predicate),
                constant(pattern.object),
                self._writer().trigger(place),
                guard_of(pattern, self._patterns),
            )

    @property
    def graphs(self) -> tuple[object, ...]:
        return tuple(pattern.index for pattern in self._patterns)

    def _watched(self, pattern: Pattern) -> Watched:
        """The index that tells of changes of the triples of a pattern."""
        return pattern.index

    def _writer(self) -> JoinWriter:
        return JoinWriter(self._patterns, self._tests, self.variables, self.meter)

    def flush(self) -> None:
        """Do nothing: the triggers have added the rows already."""

    def rows(self) -> Iterable[Row]:
        if self._scan is None:
            self._scan = self._writer().scan()
        found: list[Row] = []
        self._scan(found)
        return found

    def release(self) -> None:
        for pattern in self._patterns:
            self._dispatcher_of(self._watched(pattern)).forget(self)


def guard_of(fired: Pattern, patterns: Iterable[Pattern]) -> Guard | None:
    """The guard for triples that fit ``fired``, by what the patterns demand of their subject.

    None if ``fired`` selects by a value itself. A class is used last, as it selects less.
    """
    if not isinstance(fired.subject, Variable):
        return fired.subject
    if _selects(fired):
        return None
    demands = [
        (other.predicate, other.object)
        for other in patterns
        if other is not fired
        and (other.index, other.subject) == (fired.index, fired.subject)
        and isinstance(other.predicate, IRI)
        and not isinstance(other.object, Variable)
    ]
    return min(demands, key=lambda each: each[0] == rdf.TYPE, default=None)


def _selects(pattern: Pattern) -> bool:
    """Whether a pattern names a property, other than the class, and its value."""
    return not isinstance(pattern.object, Variable) and (
        not isinstance(pattern.predicate, Variable) and pattern.predicate != rdf.TYPE
    )


def _enters_later(pattern: Pattern, fired: Pattern) -> bool:
    """Whether watchers of the scope of ``fired`` see a triple before those of ``pattern``."""
    one, other = pattern.index, fired.index
    if not isinstance(one, WindowScope) or not isinstance(other, WindowScope) or one is other:
        return False
    if one.occurrences is not other.occurrences:
        return False
    stream = one.occurrences
    told = (*stream.scopes, *stream.timed)
    return told.index(one) > told.index(other)


class JoinWriter:
    """Writes the function of one trigger, or of a whole scan.

    Where there is more than one way to go on, ``meter`` counts the ways before they are taken. With
    ``numbers`` each row ends with the least of the numbers of its triples.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        tests: Sequence[Test],
        output: Sequence[str],
        meter: Meter,
        numbers: Mapping[Triple, int] | None = None,
    ) -> None:
        self._patterns = patterns
        self._tests = tests
        self._output = output
        self._names: dict[str, str] = {}
        self._given: dict[str, Any] = {"E": {}, "take": meter.take}
        self._constants: dict[Term, str] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._bound: set[str] = set()
        self._tested: set[int] = set()
        self._numbered = numbers is not None
        self._numbers: list[str] = []
        if numbers is not None:
            self._given["N"] = numbers

    def trigger(self, place: int) -> Callable[..., None]:
        """The function ``fire(triples, out)`` of one pattern."""
        pattern = self._patterns[place]
        self._open("for s, p, o in triples:")
        for end, given in zip(pattern.ends, ("s", "p", "o"), strict=True):
            self._agree(end, given, "continue")
        if self._numbered:
            self._number("s, p, o")
        self._run_tests()
        self._walk([p for at, p in enumerate(self._patterns) if at != place], place)
        return self._finish("triples, out")

    def scan(self) -> Callable[[list[Row]], None]:
        """The function ``scan(out)`` that finds all solutions."""
        self._walk(list(self._patterns), None)
        return self._finish("out")

    def _walk(self, ahead: list[Pattern], trigger: int | None) -> None:
        while ahead:
            cheapest = min(ahead, key=lambda each: fan_out(each.index, each.ends, self._bound))
            ahead.remove(cheapest)
            plain = not self._numbered and not isinstance(cheapest.index, WindowScope)
            last = plain and not ahead and len(self._tested) == len(self._tests)
            self._find(cheapest, last and not self._may_be(cheapest, trigger))
            if self._may_be(cheapest, trigger):
                # The earlier pattern has its own function for the triple that fired.
                self._open(f"if {self._differs(cheapest)}:")
            elif trigger is not None and _enters_later(cheapest, self._patterns[trigger]):
                self._exclude_entering(cheapest)
            self._within_scope(cheapest)
            self._run_tests()
        if not self._closed:
            self._line(f"out.append({self._row()})")

    _closed = False

    def _find(self, pattern: Pattern, last: bool) -> None:
        """Bind what a pattern leaves open, by the index that knows most."""
        subject, predicate, object_ = pattern.ends
        known = [self._known(end) for end in pattern.ends]
        s, p, o = known
        spo, pos, osp = (
            partial(self._permutation, pattern.index, name) for name in ("spo", "pos", "osp")
        )
        fresh = {e.name for e in pattern.ends if isinstance(e, Variable)} - self._bound
        repeated = len(fresh) < known.count(None)
        if s and p and o:
            self._open(f"if {o} in {spo()}.get({s}, E).get({p}, E):")
            return
        if known.count(None) == 1:
            if s and p:
                source, end = f"{spo()}.get({s}, E).get({p}, E)", object_
            elif p and o:
                source, end = f"{pos()}.get({p}, E).get({o}, E)", subject
            else:
                source, end = f"{osp()}.get({o}, E).get({s}, E)", predicate
            assert isinstance(end, Variable)
            self._bind(end)
            waiting = any(
                set(t.variables) <= self._bound
                for n, t in enumerate(self._tests)
                if n not in self._tested
            )
            ways = self._counted(source)
            if last and not waiting:
                self._line(f"out += [{self._row()} for {self._names[end.name]} in {ways}]")
                self._closed = True
            else:
                self._open(f"for {self._names[end.name]} in {ways}:")
            return
        if s:
            source, outer, inner = f"{spo()}.get({s}, E)", predicate, object_
        elif p:
            source, outer, inner = f"{pos()}.get({p}, E)", object_, subject
        elif o:
            source, outer, inner = f"{osp()}.get({o}, E)", subject, predicate
        else:
            ways = self._counted(spo())
            self._open(f"for {self._fresh(subject)}, m in {ways}.items():")
            source, outer, inner = "m", predicate, object_
        if not repeated:
            ways = self._counted(source)
            self._open(f"for {self._fresh(outer)}, n in {ways}.items():")
            self._open(f"for {self._fresh(inner)} in {self._counted('n')}:")
            return
        # A variable occurs twice: the second place is compared with the first.
        self._open(f"for x, n in {self._counted(source)}.items():")
        self._agree(outer, "x")
        self._open(f"for y in {self._counted('n')}:")
        self._agree(inner, "y")

    def _counted(self, source: str) -> str:
        """Count the members of a loop, and return the name of what it goes over.

        A single member costs no call, as nothing multiplies.
        """
        ways = f"w{len(self._lines)}"
        self._line(f"{ways} = {source}")
        self._line(f"if len({ways}) > 1: take(len({ways}))")
        return ways

    def _fresh(self, end: End) -> str:
        assert isinstance(end, Variable)
        self._bind(end)
        return self._names[end.name]

    def _agree(self, end: End, given: str, give_up: str = "") -> None:
        """Bind an end to a given value, or compare both."""
        known = self._known(end)
        if known is None:
            assert isinstance(end, Variable)
            self._bind(end)
            self._line(f"{self._names[end.name]} = {given}")
        elif give_up:
            self._line(f"if {known} != {given}: {give_up}")
        else:
            self._open(f"if {known} == {given}:")

    def _may_be(self, pattern: Pattern, trigger: int | None) -> bool:
        """Whether the triple that fired may fit an earlier pattern as well."""
        if trigger is None or self._patterns.index(pattern) > trigger:
            return False
        fired = self._patterns[trigger]
        return pattern.index is fired.index and all(
            isinstance(one, Variable) or isinstance(other, Variable) or one == other
            for one, other in zip(pattern.ends, fired.ends, strict=True)
        )

    def _differs(self, pattern: Pattern) -> str:
        """A condition: the triple of a pattern is not the one that fired."""
        return " or ".join(
            f"{self._known(end)} != {given}"
            for end, given in zip(pattern.ends, ("s", "p", "o"), strict=True)
        )

    def _exclude_entering(self, pattern: Pattern) -> None:
        """Leave out the triple that fired if it is yet to enter the pattern's scope."""
        scope = self._scope(pattern)
        self._open(f"if {scope}.occurrences.replaced > {scope}.low or {self._differs(pattern)}:")

    def _within_scope(self, pattern: Pattern) -> None:
        """Go on only within the pattern's scope; note the triple's number if that is wanted."""
        triple = ", ".join(str(self._known(end)) for end in pattern.ends)
        if isinstance(pattern.index, WindowScope):
            scope = self._scope(pattern)
            self._given[f"{scope}n"] = pattern.index.occurrences.latest
            self._open(f"if {scope}n[{triple}] > {scope}.low:")
        if self._numbered:
            self._number(triple)

    def _scope(self, pattern: Pattern) -> str:
        scopes = list(dict.fromkeys(id(p.index) for p in self._patterns))
        name = f"w{scopes.index(id(pattern.index))}_"
        self._given[name] = pattern.index
        return name

    def _number(self, triple: str) -> None:
        name = f"n{len(self._numbers)}"
        self._numbers.append(name)
        self._line(f"{name} = N[{triple}]")

    def _run_tests(self) -> None:
        for number, test in enumerate(self._tests):
            if number not in self._tested and set(test.variables) <= self._bound:
                self._tested.add(number)
                self._given[f"f{number}"] = test.holds
                self._line("take(1)")
                self._open(f"if f{number}({self._values(test.variables)}):")

    def _known(self, end: End) -> str | None:
        if not isinstance(end, Variable):
            if end not in self._constants:
                self._constants[end] = name = f"c{len(self._constants)}"
                self._given[name] = end
            return self._constants[end]
        return self._names[end.name] if end.name in self._bound else None

    def _bind(self, variable: Variable) -> None:
        self._names.setdefault(variable.name, f"v{len(self._names)}")
        self._bound.add(variable.name)

    def _permutation(self, index: TripleIndex | WindowScope, name: str) -> str:
        """The name of an index of triples in the function; it is built if it does not exist."""
        indexes = list(dict.fromkeys(id(p.index) for p in self._patterns))
        at = f"i{indexes.index(id(index))}_{name}"
        self._given[at] = getattr(index, name)
        return at

    def _row(self) -> str:
        if not self._numbered:
            return self._values(self._output)
        cells = [self._names[name] for name in self._output]
        least = self._numbers[0] if len(self._numbers) == 1 else f"min({', '.join(self._numbers)})"
        return f"({', '.join([*cells, least])},)"

    def _values(self, variables: Iterable[str]) -> str:
        cells = [self._names[name] for name in variables]
        return f"({', '.join(cells)},)" if cells else "()"

    def _line(self, text: str) -> None:
        self._lines.append("  " * (self._depth + 1) + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    def _finish(self, parameters: str) -> Callable[..., None]:
        given = ", ".join(self._given)
        text = "\n".join(
            (f"def make({given}):", f"  def fire({parameters}):", *self._lines, "  return fire")
        )
        return _maker(text)(**self._given)


@cache
def _maker(text: str) -> Callable[..., Callable[..., None]]:
    space: dict[str, Any] = {}
    exec(compile(text, "<delta join>", "exec"), {"__builtins__": {"len": len, "min": min}}, space)
    made: Callable[..., Callable[..., None]] = space["make"]
    return made
