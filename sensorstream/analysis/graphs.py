"""FROM in a continuous query."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import Query, Variable, Window
from sensorstream.sparql.walk import nodes


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``from-without-effect``: continuous queries read the knowledge base as one graph.

    ``unused-window``: no WINDOW group matches what a window holds.
    """
    query = parsed.meaning
    if not isinstance(query, Query):
        return
    read = {each.name for each in nodes(query.form.pattern) if isinstance(each, Window)}
    for window in query.dataset.windows:
        if window.in_default or window.name in read or any(map(_is_any, read)):
            continue
        yield Note(
            "unused-window",
            f"nothing matches what the window <{window.name}> holds, only its steps are moments to "
            f"report at: write WINDOW <{window.name}> {{ … }} around the patterns that it is for",
            parsed.position(window.name),
        )
    if not known.continuous:
        return
    for graph in query.dataset.default:
        yield Note(
            "from-without-effect",
            f"FROM <{graph}> changes nothing: outside WINDOW a continuous query reads the whole "
            "knowledge base, or the --static files of 'sensorstream run'",
            parsed.position(graph),
        )


def _is_any(name: IRI | Variable) -> bool:
    return isinstance(name, Variable)
