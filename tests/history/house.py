"""A small deployment whose history has terms of every kind, and questions to it in SPARQL.

Each engine that answers SPARQL over history is tested with the same questions; Oxigraph over the
same statements says what the answers are.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pyoxigraph as ox

from sensorstream.app.application import Application
from sensorstream.history.asking.checked_question import (
    AtInstant,
    CheckedQuestion,
    Interval,
    read_question,
)
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Solutions
from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model import xsd
from sensorstream.model.numerals import nearest_single
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_PERSISTENT
from sensorstream.settings.settings import (
    HistorySettings,
    OntologySettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from sensorstream.sparql.query_printer import query_text
from tests.databases import execute
from tests.oxigraph import AGGREGATES, FUNCTIONS

FOLDER = Path(__file__).with_name("house")
ROOMS = ("kitchen", "hall", "cellar", "attic")


@dataclass(frozen=True)
class Case:
    """A question by its name; ``ordered``: the order of the rows matters."""

    name: str
    question: CheckedQuestion
    ordered: bool = False


def settings(folder: Path, url: str) -> Settings:
    """The house over a window of six individuals, on the integer time line."""
    return Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((FOLDER / "house.ttl",)),
        rules=RuleSettings((FOLDER / "house.rules",)),
        window=WindowSettings(size="6"),
        history=HistorySettings(url=url),
    )


def live(url: str, folder: Path) -> None:
    """The server of the house takes all messages in, and stops."""
    with Application.open(settings(folder, url)) as application:
        for each in [application.submit(content, "house") for content in messages()]:
            assert each.result(60).status.value == "accepted"


def messages() -> Iterator[bytes]:
    """Places first, then readings of ten sensors: updates, departures, re-entries."""
    titles = {"kitchen": ("Kitchen", "en"), "hall": ("Diele", "de"), "cellar": ('"<&>"', None)}
    yield _message("place", id="ground", kind="Floor", time=0, of="house")
    yield _message("place", id="first", kind="Floor", time=1, of="house", title="1st")
    for number, room in enumerate(ROOMS):
        title, lang = titles.get(room, ("", None))
        floor = "ground" if number % 2 else "first"
        yield _message(
            "place", id=room, kind="Room", time=2 + number, of=floor, title=title, lang=lang
        )
    remarks = ("it works", "100% {sure}", "back\\slash 'quoted'", "ünïcödé 😀", "It Hums")
    for number in range(70):
        sensor = number * 7 % 10 if number % 9 else number % 3
        yield _message(
            "reading",
            id=sensor,
            kind="Hygrometer" if sensor % 3 == 2 else "Thermometer",
            time=6 + number,
            value=f"{18 + number * 13 % 17 / 2}",
            count=number * 5 % 11,
            level=f"{number % 8 / 16}e0",
            working="false" if number % 5 == 0 else "true",
            measured=f"2014-08-01T{number % 3:02}:{number % 60:02}:00Z",
            title=f"sensor {sensor}" if sensor % 2 else None,
            lang="en-GB" if sensor == 3 else None,
            remark=remarks[number % 5] if number % 4 == 1 else None,
            **{"in": ROOMS[number % 3]},
            beside=(sensor + 1) % 4 if sensor < 4 else (5 if sensor == 5 else None),
            charge=number if sensor == 4 else None,
        )


def _message(_name: str, **attributes: object) -> bytes:
    given = {name: str(value) for name, value in attributes.items() if value not in (None, "")}
    text = " ".join(f"{name}={quoteattr(value)}" for name, value in given.items())
    return f"<{_name} {text}/>".encode()


def cases() -> list[Case]:
    """The questions of the file."""
    read = tomllib.loads((FOLDER / "questions.toml").read_text("utf-8"))
    found = []
    for name, given in read["questions"].items():
        told = {"text": given} if isinstance(given, str) else given
        question = read_question(
            read["prefixes"] + told["text"],
            Timeline.INTEGER,
            at=told.get("at"),
            during=told.get("during"),
        )
        found.append(Case(name, question, bool(told.get("ordered"))))
    return found


def exported(url: str, time: AtInstant | Interval | None = None) -> ox.Store:
    """The statements of a history that held then, as Oxigraph has them."""
    store = ox.Store()
    for (subject, predicate, value), inferred in stored(url, time):
        triple = subject_to_oxigraph(subject), ox.NamedNode(predicate), to_oxigraph(value)
        graphs: list[Any] = [ox.DefaultGraph(), ox.NamedNode(GRAPH_PERSISTENT)]
        if inferred:
            graphs.append(ox.NamedNode(GRAPH_INFERRED))
        for graph in graphs:
            store.add(ox.Quad(*triple, graph))
    return store


def stored(url: str, time: AtInstant | Interval | None = None) -> list[tuple[Triple, bool]]:
    """The statements of a history that held then, and whether they were inferred."""
    condition, values = "true", tuple[int, ...]()
    if isinstance(time, AtInstant):
        condition, values = "valid_from <= %s and valid_to > %s", (time.at, time.at)
    elif isinstance(time, Interval):
        condition, values = "valid_from < %s and valid_to > %s", (time.end, time.start)
    terms = ", ".join(f"{t}.kind, {t}.text, {t}.datatype, {t}.language" for t in "upo")
    rows = execute(
        url,
        f"select s.inferred, {terms} from store.statements s "
        "join store.terms u on u.id = s.subject join store.terms p on p.id = s.predicate "
        f"join store.terms o on o.id = s.object where {condition}",
        values=values,
    )
    found = []
    for inferred, *parts in rows:
        subject, predicate, value = (_term(*parts[n : n + 4]) for n in (0, 4, 8))
        assert not isinstance(subject, Literal)
        assert isinstance(predicate, IRI)
        found.append(((subject, predicate, value), inferred))
    return found


def _term(kind: int, text: str, datatype: str | None, language: str | None) -> Term:
    if kind == 0:
        return IRI(text)
    if kind == 1:
        return BlankNode(f"_:{text}")
    assert datatype is not None
    return Literal(text, datatype, language)


def expected(store: ox.Store, case: Case) -> Any:
    """Oxigraph's answer, in the form of :func:`comparable`."""
    query = replace(case.question.query, valid_time=None)
    found: Any = store.query(
        query_text(query), custom_functions=FUNCTIONS, custom_aggregate_functions=AGGREGATES
    )
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    if isinstance(found, ox.QueryTriples):
        return {tuple(map(_alike, map(from_oxigraph, each))) for each in found}
    names = tuple(each.value for each in found.variables)
    rows = [
        tuple(None if row[name] is None else _alike(from_oxigraph(row[name])) for name in names)
        for row in found
    ]
    return names, rows if case.ordered else Counter(rows)


def comparable(answer: Answer, case: Case) -> Any:
    """An answer as plain data that is equal where the answers mean the same."""
    if isinstance(answer, GraphAnswer):
        triples = list(answer.triples)
        assert len(set(triples)) == len(triples), "a graph has each triple once"
        return {tuple(map(_alike, triple)) for triple in triples}
    if not isinstance(answer, Solutions):
        return answer
    rows = [tuple(None if each is None else _alike(each) for each in row) for row in answer.rows]
    return answer.variables, rows if case.ordered else Counter(rows)


def _alike(term: Term) -> object:
    """The term; of a number with digits its value, with as many as every engine computes."""
    if isinstance(term, Literal) and term.datatype in (xsd.DECIMAL, xsd.DOUBLE):
        return term.datatype, f"{float(str(term.value)):.12g}"
    if isinstance(term, Literal) and term.datatype == xsd.FLOAT:
        return term.datatype, nearest_single(float(term.lexical.replace("INF", "inf")))
    return term
