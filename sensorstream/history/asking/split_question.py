"""Questions with functions that SQL does not have: SQL finds rows, SensorStream computes on these.

The largest parts of a query without such a function become one question in SQL. Their solutions are
rows of a small store, over which Oxigraph answers the query, with patterns of rows in place of the
parts. It is done in a fork, which can be ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final, TypeAlias, cast

import pyoxigraph as ox

from sensorstream.errors import Overrun, UnsupportedQuery
from sensorstream.history.asking.checked_question import CheckedQuestion
from sensorstream.history.asking.query_answer import (
    Answer,
    GraphAnswer,
    Solutions,
    answer_of_oxigraph,
)
from sensorstream.kb.oxigraph_terms import stored
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.network.exact_values import exact
from sensorstream.processes.fork_once import run_apart
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.extensions import beyond_sql
from sensorstream.sparql.variable_scope import conjuncts
from sensorstream.sparql.walk import (
    children,
    nodes,
    patterns_in,
    renewed,
    replaced,
    variables,
    visible,
)

_PART: Final = Variable("sensorstream_part")
_ROW: Final = "urn:sensorstream:row:"
_Ask: TypeAlias = Callable[[CheckedQuestion], AbstractContextManager[Answer]]


def sql_question(question: CheckedQuestion) -> CheckedQuestion:
    """The part of a question that SQL answers; raises UnsupportedQuery as :func:`in_parts`."""
    if beyond_sql(question.query) is None:
        return question
    return _SplitQuery.of(question.query).asked(question)


@contextmanager
def in_parts(
    question: CheckedQuestion, ask: _Ask, *, seconds: float, most: int
) -> Iterator[Answer]:
    """Answer a question by ``ask``, and by the functions that SQL does not have.

    ``seconds`` are for these functions; ``most`` is the number of rows of the answer.

    Raises:
        UnsupportedQuery: a function is within GRAPH or DESCRIBE, or beside EXISTS.
        Overrun: the functions take too long, or there are too many rows.
    """
    name = beyond_sql(question.query)
    if name is None:
        with ask(question) as answer:
            yield answer
        return
    split = _SplitQuery.of(question.query)
    with ask(split.asked(question)) as answer:
        assert isinstance(answer, Solutions)
        try:
            found = replace(answer, rows=iter(list(answer.rows)))
        except Overrun as error:
            raise Overrun(f"before <{name}>(), which SQL does not have: {error.message}") from None
    yield run_apart(
        lambda: split.answer(found, most),
        seconds,
        what=f"<{name}>() and what follows",
        setting="limits.question_seconds",
    )


@dataclass(slots=True)
class _SplitQuery:
    """A query with a place for each part that SQL can answer."""

    query: Query
    parts: list[Pattern] = field(default_factory=list)

    @classmethod
    def of(cls, query: Query) -> _SplitQuery:
        name, form = beyond_sql(query), query.form
        if isinstance(form, algebra.Describe):
            raise UnsupportedQuery(f"<{name}>() in DESCRIBE: select what is to be described")
        made = cls(replace(query, valid_time=None, dataset=algebra.Dataset()))
        rest = replace(form, pattern=made._without(form.pattern))
        if any(True for _ in nodes(rest, algebra.Exists)):
            raise UnsupportedQuery(f"<{name}>() beside EXISTS: write OPTIONAL or MINUS")
        made.query = replace(made.query, form=rest)
        return made

    def _without(self, pattern: Pattern) -> Pattern:
        """The pattern with places for its parts."""
        name = beyond_sql(pattern)
        if name is None:
            blocks = _blocks(pattern) if isinstance(pattern, algebra.BGP) else [pattern]
            if any(True for _ in nodes(pattern, TriplePattern)):
                self.parts += blocks
                first = len(self.parts) - len(blocks)
                places: list[Pattern] = [_place(first + at) for at in range(len(blocks))]
                pattern = reduce(algebra.Join, places)
            return pattern
        match pattern:
            case algebra.Graph():
                raise UnsupportedQuery(
                    f"<{name}>() within GRAPH: write it after the group of GRAPH"
                )
            case algebra.Filter(condition, inner) if beyond_sql(inner) is None:
                here, there = list[Expression](), list[Expression]()
                for each in conjuncts(condition):
                    (there if beyond_sql(each) is None else here).append(each)
                if there:
                    inner = algebra.Filter(reduce(algebra.And, there), inner)
                return algebra.Filter(reduce(algebra.And, here), self._without(inner))
        inside = patterns_in(pattern)
        changed = [
            self._without(cast(Pattern, each)) if any(each is one for one in inside) else each
            for each in children(pattern)
        ]
        return renewed(pattern, changed)

    def _columns(self, part: Pattern) -> tuple[Variable, ...]:
        """The variables of a part that the rest of the query, or another part, mentions."""
        others = [variables(each) for each in (self.query.form, *self.parts) if each is not part]
        return tuple(each for each in visible(part) if any(each in other for other in others))

    def asked(self, question: CheckedQuestion) -> CheckedQuestion:
        """The question for the rows of all parts, each with the number of its part."""
        numbered: list[Pattern] = [
            algebra.Extend(
                algebra.Project(part, self._columns(part)), _PART, Literal(str(at), xsd.INTEGER)
            )
            for at, part in enumerate(self.parts)
        ]
        pattern = reduce(algebra.Union, numbered or [algebra.Values((_PART,), ())])
        form = algebra.Select(algebra.Project(pattern, visible(pattern)))
        return replace(question, query=replace(question.query, form=form))

    def answer(self, found: Solutions, most: int) -> Answer:
        """The answer over the rows that were found."""
        store, names = ox.Store(), found.variables
        number_of = names.index(_PART.name)
        optional: list[set[str]] = [set() for _ in self.parts]
        for number, row in enumerate(found.rows):
            part = cast(Literal, row[number_of]).lexical
            subject = ox.NamedNode(f"{_ROW}{number}")
            quads = [ox.Quad(subject, ox.NamedNode(f"{_ROW}of:{part}"), subject)]
            for name, term in zip(names, row, strict=True):
                if term is None:
                    optional[int(part)].add(name)
                else:
                    quads.append(ox.Quad(subject, ox.NamedNode(f"{_ROW}as:{name}"), stored(term)))
            store.extend(quads)
        rows = {_place(at): self._rows(at, each) for at, each in enumerate(optional)}

        def rows_of(node: object) -> Pattern | None:
            return rows.get(node) if isinstance(node, algebra.Graph) else None

        asked = exact(replace(self.query, form=replaced(self.query.form, rows_of)), store)
        answer = answer_of_oxigraph(asked.answer(store), most, asked)
        match answer:
            case Solutions():
                return replace(answer, rows=iter(list(answer.rows)))
            case GraphAnswer():
                return GraphAnswer(iter(list(dict.fromkeys(answer.triples))))
        return answer

    def _rows(self, at: int, optional: set[str]) -> Pattern:
        """The pattern of the rows of a part; ``optional`` are variables that some do not have."""
        row = Variable(f"sensorstream_row{at}")
        certain = [TriplePattern(row, IRI(f"{_ROW}of:{at}"), row)]
        others: list[Pattern] = []
        for each in self._columns(self.parts[at]):
            triple = TriplePattern(row, IRI(f"{_ROW}as:{each.name}"), each)
            if each.name in optional:
                others.append(algebra.BGP((triple,)))
            else:
                certain.append(triple)
        return reduce(algebra.LeftJoin, others, cast(Pattern, algebra.BGP(tuple(certain))))


def _blocks(block: algebra.BGP) -> list[Pattern]:
    """The parts of a block that share nothing: then pairs of them are no rows."""
    found: list[tuple[frozenset[object], list[TriplePattern]]] = []
    for triple in block.patterns:
        links = [each for each in nodes(triple) if isinstance(each, Variable | BlankNode)]
        names, triples = frozenset[object](links), [triple]
        for other in [each for each in found if each[0] & names]:
            found.remove(other)
            names, triples = names | other[0], other[1] + triples
        found.append((names, triples))
    return [algebra.BGP(tuple(triples)) for _, triples in found]


def _place(at: int) -> algebra.Graph:
    return algebra.Graph(IRI(f"{_ROW}of:{at}"), algebra.BGP())
