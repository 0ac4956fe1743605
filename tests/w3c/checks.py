"""The suites' tests of the language: text to algebra to text, and that text on Oxigraph.

Each check returns what is wrong, or None.
"""

from __future__ import annotations

from sensorstream.errors import QueryError
from sensorstream.sparql.algebra import OrderBy, Query, Update
from sensorstream.sparql.query_parser import parse_query, parse_update
from sensorstream.sparql.query_printer import operation_text, query_text
from sensorstream.sparql.walk import nodes
from tests.w3c.deviations import DEVIATIONS
from tests.w3c.manifests import Case, QueryCase, SyntaxCase, UpdateCase
from tests.w3c.oxigraph import after, answer, store_of
from tests.w3c.results import Result, Solutions, equal, equal_datasets, expected


def fault(case: Case) -> str | None:
    """What is wrong with how a test goes."""
    if isinstance(case, SyntaxCase):
        return _syntax_fault(case)
    if isinstance(case, QueryCase):
        return _query_fault(case)
    assert isinstance(case, UpdateCase)
    return _update_fault(case)


def read(case: Case, *, update: bool) -> Query | Update:
    """The algebra of a test's text."""
    text = case.text.read_text("utf-8")
    return (parse_update if update else parse_query)(text, base=case.base)


def printed(meaning: Query | Update) -> str:
    """The text of a query or update."""
    if isinstance(meaning, Query):
        return query_text(meaning)
    return " ;\n".join(map(operation_text, meaning.operations))


def _syntax_fault(case: SyntaxCase) -> str | None:
    try:
        meaning = read(case, update=case.update)
    except QueryError as error:
        return f"refused: {error}" if case.positive else None
    if not case.positive:
        return "accepted"
    return _printing_fault(meaning)


def _printing_fault(meaning: Query | Update) -> str | None:
    text = printed(meaning)
    again = (parse_query if isinstance(meaning, Query) else parse_update)(text)
    return None if again == meaning else f"printed, it means something else:\n{text}"


def _query_fault(case: QueryCase) -> str | None:
    query = read(case, update=False)
    assert isinstance(query, Query)
    wrong = _printing_fault(query)
    if wrong is not None:
        return wrong
    graphs = (*query.dataset.default, *query.dataset.named)
    found, wanted = answer(case, query_text(query), graphs), expected(case.result)
    right = same_result(case, query, found, wanted)
    if case.label not in DEVIATIONS:
        return None if right else f"the result is {found}, not {wanted}:\n{query_text(query)}"
    if right:
        return "it passes: take it out of the table of deviations"
    original = answer(case, case.text.read_text("utf-8"), graphs)
    if same_result(case, query, found, original):
        return None
    return f"the result is {found}, that of the original text is {original}"


def same_result(case: QueryCase, query: Query, one: Result, other: Result) -> bool:
    """Whether two results of a test are equal: in order where the query or the file wants it."""
    by_rows = any(isinstance(node, OrderBy) for node in nodes(query.form.pattern))
    by_file = any(isinstance(each, Solutions) and each.ordered for each in (one, other))
    return equal(one, other, ordered=by_rows or by_file, lax=case.lax)


def _update_fault(case: UpdateCase) -> str | None:
    update = read(case, update=True)
    assert isinstance(update, Update)
    wrong = _printing_fault(update)
    if wrong is not None:
        return wrong
    found, wanted = after(case, printed(update)), store_of(case.after)
    if equal_datasets(found, wanted):
        return None
    return f"the data are {found}, not {wanted}:\n{printed(update)}"
