"""Solutions as tuples, and small functions compiled to rearrange them.

A solution is a tuple of terms; the place of each variable is known when a query is compiled, so no
solution carries names. ``None`` stands for unbound. A bag of solutions is a list in which a
solution stands as often as it occurs; a change is two such lists.

A solution that happens has an interval: two hidden columns before all others (:data:`TIMES`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.sparql.algebra import TriplePattern, Variable

Row: TypeAlias = tuple[Term | None, ...]
Bag: TypeAlias = dict[Row, int]
"""Solutions with the number of times that each occurs, never zero."""
TIMES: Final = (".start", ".end")
"""The hidden columns: the start and the end of the interval in which a solution happens."""
TimedRow: TypeAlias = tuple[Any, ...]
"""Start and end; then terms, None where unbound."""
ALWAYS: Final = (float("inf"), float("-inf"))
"""The interval of what holds always: neutral to ``min`` of starts and ``max`` of ends."""


def shown(variables: tuple[str, ...]) -> tuple[str, ...]:
    """The variables without hidden columns."""
    return variables[2:] if variables[:2] == TIMES else variables


def slots_of(variables: Sequence[str]) -> dict[str, int]:
    """The place of each variable."""
    return {name: place for place, name in enumerate(variables)}


def key_of(places: Sequence[int]) -> Callable[[Row], Any]:
    """Make a function for the hashable key of a row: its terms at some places."""
    if not places:
        return _nothing
    return itemgetter(*places)


def _nothing(_row: Row) -> None:
    return None


def rearranged(
    source: Sequence[str], target: Sequence[str]
) -> Callable[[Iterable[Row]], list[Row]]:
    """A function that lays rows of ``source`` variables out as ``target``, None where missing."""
    if tuple(source) == tuple(target):
        return list
    places = slots_of(source)
    cells = [f"r[{places[name]}]" if name in places else "None" for name in target]
    return cast(
        "Callable[[Iterable[Row]], list[Row]]",
        compiled(f"lambda rows: [{_tuple(cells)} for r in rows]"),
    )


def merged(
    left: Sequence[str],
    right: Sequence[str],
    target: Sequence[str],
    loose: Collection[str] = (),
    *,
    backward: bool = False,
) -> Callable[[Row, Iterable[Row]], list[Row]]:
    """Make a function of a left row and the right rows that agree with it: their joined rows.

    ``loose`` are shared variables that may be unbound on either side: rows that differ there are
    left out, and the bound side wins (compatible mappings, SPARQL 1.1, section 18.3). ``backward``:
    a function of a right row and left rows. The interval of a joined row is the hull of both.
    """
    one, each = ("r", "l") if backward else ("l", "r")
    lefts, rights = slots_of(left), slots_of(right)
    cells = []
    for name in target:
        if name in loose:
            first, second = f"l[{lefts[name]}]", f"r[{rights[name]}]"
            cells.append(f"{first} if {first} is not None else {second}")
        elif name in TIMES and name in lefts and name in rights:
            first, second = f"l[{lefts[name]}]", f"r[{rights[name]}]"
            order = "<=" if name == TIMES[0] else ">="
            cells.append(f"{first} if {first} {order} {second} else {second}")
        elif name in lefts:
            cells.append(f"l[{lefts[name]}]")
        else:
            cells.append(f"r[{rights[name]}]" if name in rights else "None")
    text = f"lambda {one}, rows: [{_tuple(cells)} for {each} in rows"
    if loose:
        text += f" if {_agreement(lefts, rights, loose)}"
    return cast("Callable[[Row, Iterable[Row]], list[Row]]", compiled(f"{text}]"))


def compatible(
    left: Sequence[str], right: Sequence[str], loose: Collection[str]
) -> Callable[[Row, Row], bool] | None:
    """A test of a left and a right row on variables either may leave unbound; None if none."""
    if not loose:
        return None
    text = f"lambda l, r: {_agreement(slots_of(left), slots_of(right), loose)}"
    return cast("Callable[[Row, Row], bool]", compiled(text))


def overlapping(
    left: Sequence[str], right: Sequence[str], shared: Collection[str]
) -> Callable[[Row, Row], bool]:
    """A test whether two rows both bind one of the shared variables."""
    lefts, rights = slots_of(left), slots_of(right)
    pairs = (f"(l[{lefts[n]}] is not None is not r[{rights[n]}])" for n in sorted(shared))
    return cast("Callable[[Row, Row], bool]", compiled(f"lambda l, r: {' or '.join(pairs)}"))


def _agreement(lefts: Mapping[str, int], rights: Mapping[str, int], loose: Collection[str]) -> str:
    tests = []
    for name in sorted(loose):
        one, other = f"l[{lefts[name]}]", f"r[{rights[name]}]"
        tests.append(f"({one} is None or {other} is None or {one} == {other})")
    return " and ".join(tests)


def _tuple(cells: Sequence[str]) -> str:
    return f"({', '.join(cells)},)" if cells else "()"


@cache
def _code(text: str) -> Any:
    return compile(text, "<network>", "eval")


def compiled(text: str) -> Any:
    """The value of an expression that this package wrote; equal texts are compiled once."""
    return eval(_code(text), {"__builtins__": {}})


def instantiated(
    template: Iterable[TriplePattern],
    variables: Sequence[str],
    meant: Callable[[IRI | Literal], Term] = lambda term: term,
    named: Callable[[BlankNode, Row], Term] | None = None,
) -> Callable[[Iterable[Row]], list[Triple]]:
    """Make a function from solutions to the triples of a CONSTRUCT template (section 16.2).

    A solution always gives the same triples: blank nodes are named after solution and label, or as
    ``named`` says. What is no triple (an unbound end, a literal as subject) is left out. ``meant``
    gives the term that a constant of the template stands for.
    """
    places = slots_of(variables)
    given: dict[str, Any] = {"a": isinstance, "IRI": IRI, "Literal": Literal, "n": named or _node}

    def cell(end: object) -> str:
        if isinstance(end, Variable):
            return f"r[{places[end.name]}]" if end.name in places else "None"
        name = names.setdefault(end, f"{'b' if isinstance(end, BlankNode) else 'k'}{len(names)}")
        given[name] = meant(end) if isinstance(end, IRI | Literal) else end
        return f"n{name}" if isinstance(end, BlankNode) else name

    names, made = dict[object, str](), list[str]()
    for each in template:
        cells = s, p, o = [*map(cell, each.parts)]
        tests = [f"{one} is not None" for one in cells if one[0] in "rN"]
        if s[0] != "n" and not isinstance(given.get(s), IRI):
            tests.append(f"not a({s}, Literal)")
        if not isinstance(given.get(p), IRI):
            tests.append(f"a({p}, IRI)")
        made.append(f"({s}, {p}, {o}) if {' and '.join(tests) or 'r is not None'} else None")
    nodes = "".join(f" for n{each} in (n({each}, r),)" for each in given if each[0] == "b")
    text = f"[t for r in rows{nodes} for t in {_tuple(made)} if t is not None]"
    return cast(
        "Callable[[Iterable[Row]], list[Triple]]",
        compiled(f"lambda {', '.join(given)}: lambda rows: {text}")(*given.values()),
    )


def _node(label: BlankNode, row: Row) -> BlankNode:
    content = "\x00".join((label, *("" if each is None else each.n3 for each in row)))
    return BlankNode(f"_:c{blake2b(content.encode(), digest_size=12).hexdigest()}")


def cancelled(added: list[Row], removed: list[Row]) -> tuple[list[Row], list[Row]]:
    """A change without the rows that are both added and removed."""
    if not added or not removed:
        return added, removed
    if len(added) == len(removed) == 1:
        # The one row of a group without keys, as most often.
        return (added, removed) if added[0] != removed[0] else ([], [])
    weights = net(added, removed)
    return (
        [row for row, weight in weights.items() for _ in range(weight)],
        [row for row, weight in weights.items() for _ in range(-weight)],
    )


def repeated(bag: Bag) -> Iterator[Row]:
    """The rows of a bag, each as often as it occurs."""
    return (row for row, count in bag.items() for _ in range(count))


def net(added: Iterable[Row], removed: Iterable[Row]) -> Bag:
    """The sum of a change: rows with the weight, above or below zero, that remains."""
    weights: Bag = {}
    for row in added:
        weights[row] = weights.get(row, 0) + 1
    for row in removed:
        weight = weights.get(row, 0) - 1
        if weight:
            weights[row] = weight
        else:
            del weights[row]
    return weights
