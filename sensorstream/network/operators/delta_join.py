"""Basic graph patterns with filters, as delta joins compiled to Python.

For each pattern there is one function, fired by every triple that fits it: it walks the other
patterns through the indexes, cheapest first. Nothing is remembered: the indexes serve. Each
solution is found once: a triple that fits several patterns of a solution counts at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.network.cost import fan_out
from sensorstream.network.dispatch import Dispatcher, Guard
from sensorstream.network.node import Node
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Variable

End = Variable | Term


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple pattern over one index; blank nodes are variables by now."""

    index: TripleIndex
    subject: End
    predicate: End
    object: End

    @property
    def ends(self) -> tuple[End, End, End]:
        return (self.subject, self.predicate, self.object)


@dataclass(frozen=True, slots=True)
class Test:
    """A filter: ``holds`` takes the values of ``variables`` as a row."""

    variables: tuple[str, ...]
    holds: Callable[[Row], bool]
    text: str


class DeltaJoin(Node):
    """All ``patterns`` at once, those of the ``tests`` that hold, as the ``output`` variables."""

    __slots__ = ("_dispatchers", "_patterns", "_scan", "_tests")

    def __init__(
        self,
        patterns: Sequence[Pattern],
        tests: Sequence[Test],
        output: Sequence[str],
        dispatchers: Callable[[TripleIndex], Dispatcher],
    ) -> None:
        super().__init__((), output, output)
        self._patterns = tuple(patterns)
        self._tests = tuple(tests)
        self._scan: Callable[[list[Row]], None] | None = None
        self._dispatchers = [dispatchers(p.index) for p in self._patterns]
        for place, (pattern, dispatcher) in enumerate(
            zip(self._patterns, self._dispatchers, strict=True)
        ):
            predicate, object_ = pattern.predicate, pattern.object
            dispatcher.subscribe(
                self,
                None if isinstance(predicate, Variable) else predicate,
                None if isinstance(object_, Variable) else object_,
                _Writer(self._patterns, self._tests, output).trigger(place),
                self._guard(pattern),
            )

    def _guard(self, fired: Pattern) -> Guard | None:
        """What another pattern demands of the subject of a triple that fits ``fired``.

        Nothing if that selects by a value itself. A class says less than other values do.
        """
        if not isinstance(fired.subject, Variable) or _selects(fired):
            return None
        demands = [
            (other.predicate, other.object)
            for other in self._patterns
            if other is not fired
            and (other.index, other.subject) == (fired.index, fired.subject)
            and isinstance(other.predicate, IRI)
            and not isinstance(other.object, Variable)
        ]
        return min(demands, key=lambda each: each[0] == RDF_TYPE, default=None)

    def flush(self) -> None:
        """The triggers have done the work already."""

    def rows(self) -> Iterator[Row]:
        if self._scan is None:
            self._scan = _Writer(self._patterns, self._tests, self.variables).scan()
        found: list[Row] = []
        self._scan(found)
        return iter(found)

    def release(self) -> None:
        for dispatcher in self._dispatchers:
            dispatcher.forget(self)

    def describe(self) -> str:
        text = " . ".join(
            " ".join(str(e) if isinstance(e, Variable) else e.n3 for e in p.ends)
            for p in self._patterns
        )
        return f"Pattern {text}" + "".join(f" filter {test.text}" for test in self._tests)


def _selects(pattern: Pattern) -> bool:
    """Whether a pattern names a property, other than the class, and its value."""
    return not isinstance(pattern.object, Variable) and (
        not isinstance(pattern.predicate, Variable) and pattern.predicate != RDF_TYPE
    )


class _Writer:
    """Writes the function of one trigger, or of a whole scan."""

    def __init__(
        self, patterns: Sequence[Pattern], tests: Sequence[Test], output: Sequence[str]
    ) -> None:
        self._patterns = patterns
        self._tests = tests
        self._output = output
        self._names: dict[str, str] = {}
        self._given: dict[str, Any] = {"E": {}}
        self._constants: dict[Term, str] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._bound: set[str] = set()
        self._tested: set[int] = set()

    def trigger(self, place: int) -> Callable[..., None]:
        """The function ``fire(s, p, o, out)`` of one pattern."""
        pattern = self._patterns[place]
        for end, given in zip(pattern.ends, ("s", "p", "o"), strict=True):
            self._agree(end, given)
        self._run_tests()
        self._walk([p for at, p in enumerate(self._patterns) if at != place], place)
        return self._finish("s, p, o, out")

    def scan(self) -> Callable[[list[Row]], None]:
        """The function ``scan(out)`` that finds all solutions."""
        self._walk(list(self._patterns), None)
        return self._finish("out")

    def _walk(self, ahead: list[Pattern], trigger: int | None) -> None:
        while ahead:
            cheapest = min(ahead, key=lambda each: fan_out(each.index, each.ends, self._bound))
            ahead.remove(cheapest)
            last = not ahead and len(self._tested) == len(self._tests)
            self._find(cheapest, last and not self._may_be(cheapest, trigger))
            if self._may_be(cheapest, trigger):
                self._exclude(cheapest)
            self._run_tests()
        if not self._closed:
            self._line(f"out.append({self._row()})")

    _closed = False

    def _find(self, pattern: Pattern, last: bool) -> None:
        """Bind what a pattern leaves open, by the index that knows most."""
        subject, predicate, object_ = pattern.ends
        at = self._indexes(pattern.index)
        known = [self._known(end) for end in pattern.ends]
        s, p, o = known
        fresh = {e.name for e in pattern.ends if isinstance(e, Variable)} - self._bound
        repeated = len(fresh) < known.count(None)
        if s and p and o:
            self._open(f"if {o} in {at}spo.get({s}, E).get({p}, E):")
            return
        if known.count(None) == 1:
            if s and p:
                source, end = f"{at}spo.get({s}, E).get({p}, E)", object_
            elif p and o:
                source, end = f"{at}pos.get({p}, E).get({o}, E)", subject
            else:
                source, end = f"{at}osp.get({o}, E).get({s}, E)", predicate
            assert isinstance(end, Variable)
            self._bind(end)
            waiting = any(
                set(t.variables) <= self._bound
                for n, t in enumerate(self._tests)
                if n not in self._tested
            )
            if last and not waiting:
                self._line(f"out += [{self._row()} for {self._names[end.name]} in {source}]")
                self._closed = True
            else:
                self._open(f"for {self._names[end.name]} in {source}:")
            return
        if s:
            loops = [(f"{at}spo.get({s}, E)", predicate, object_)]
        elif p:
            loops = [(f"{at}pos.get({p}, E)", object_, subject)]
        elif o:
            loops = [(f"{at}osp.get({o}, E)", subject, predicate)]
        else:
            self._open(f"for {self._fresh(subject)}, m in {at}spo.items():")
            loops = [("m", predicate, object_)]
        source, outer, inner = loops[0]
        if not repeated:
            self._open(f"for {self._fresh(outer)}, n in {source}.items():")
            self._open(f"for {self._fresh(inner)} in n:")
            return
        # A variable stands twice: the second place is compared with the first.
        self._open(f"for x, n in {source}.items():")
        self._agree(outer, "x", give_up=False)
        self._open("for y in n:")
        self._agree(inner, "y", give_up=False)

    def _fresh(self, end: End) -> str:
        assert isinstance(end, Variable)
        self._bind(end)
        return self._names[end.name]

    def _agree(self, end: End, given: str, give_up: bool = True) -> None:
        """Let an end be a given value: bind it, or compare."""
        known = self._known(end)
        if known is None:
            assert isinstance(end, Variable)
            self._bind(end)
            self._line(f"{self._names[end.name]} = {given}")
        elif give_up:
            self._line(f"if {known} != {given}: return")
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

    def _exclude(self, pattern: Pattern) -> None:
        """Leave out the triple that fired: the earlier pattern has its own function for it."""
        tests = [
            f"{self._known(end)} != {given}"
            for end, given in zip(pattern.ends, ("s", "p", "o"), strict=True)
        ]
        self._open(f"if {' or '.join(tests)}:")

    def _run_tests(self) -> None:
        for number, test in enumerate(self._tests):
            if number not in self._tested and set(test.variables) <= self._bound:
                self._tested.add(number)
                self._given[f"f{number}"] = test.holds
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

    def _indexes(self, index: TripleIndex) -> str:
        indexes = list(dict.fromkeys(id(p.index) for p in self._patterns))
        at = f"i{indexes.index(id(index))}_"
        for name in ("spo", "pos", "osp"):
            self._given[f"{at}{name}"] = getattr(index, name)
        return at

    def _row(self) -> str:
        return self._values(self._output)

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
        space: dict[str, Any] = {}
        exec(_code(text), {"__builtins__": {}}, space)
        made: Callable[..., None] = space["make"](**self._given)
        return made


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<delta join>", "exec")
