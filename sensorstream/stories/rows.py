"""What queries report, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sensorstream.model.terms import Term, Triple
from sensorstream.stories.graphs import difference
from sensorstream.stories.wording import term_text, triple_texts
from sensorstream.streams.report import Report


@dataclass(frozen=True, slots=True)
class Row:
    """What a query has reported: the values of a row, a graph, or an answer."""

    query: str
    sign: str
    values: Mapping[str, Term] | None = None
    graph: tuple[Triple, ...] = ()
    answer: bool | None = None

    def fits(self, other: Row) -> bool:
        """Whether this is what a story expects as ``other``: variables that it leaves out count
        for nothing.
        """
        if (self.query, self.sign, self.answer) != (other.query, other.sign, other.answer):
            return False
        if self.values is None or other.values is None:
            return self.values is other.values and difference(other.graph, self.graph) == ([], [])
        return all(self.values.get(name) == value for name, value in other.values.items())

    def text(self, prefixes: Mapping[str, str]) -> str:
        """As ``then report`` takes it."""
        head = f"{self.query} {self.sign}"
        if self.answer is not None:
            return f"{head} {str(self.answer).lower()}"
        if self.values is None:
            return f"{head} {{ {' '.join(triple_texts(self.graph, prefixes))} }}"
        pairs = (f"?{name} {term_text(value, prefixes)}" for name, value in self.values.items())
        return " ".join((head, *pairs))


def rows_of(report: Report) -> Iterator[Row]:
    """Each row of a report, or its graph, or its answer."""
    sign = report.operation.value
    if report.answer is not None:
        yield Row(report.query, sign, answer=report.answer)
    elif report.triples is not None:
        yield Row(report.query, sign, graph=tuple(report.triples))
    else:
        for row in report.rows:
            pairs = zip(report.variables, row, strict=True)
            yield Row(report.query, sign, {name: v for name, v in pairs if v is not None})
