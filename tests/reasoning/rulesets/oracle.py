"""The text of a rule set itself, run as SPARQL Update on Oxigraph until nothing is new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pyoxigraph as ox

from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import Triple
from sensorstream.model.vocabulary import RDF
from tests.oxigraph import FUNCTIONS

_EACH = re.compile(
    r"EACH \?(?P<member>\w+) IN \?(?P<list>\w+)"
    r"(?: FROM \?(?P<first>\w+) TO \?(?P<last>\w+))? \{(?P<pattern>[^}]*)\}"
)
_LONGEST = 4
"""Members of a list of the tests."""


def closed(text: str, triples: Iterable[Triple]) -> set[Triple]:
    """The triples and all that follows from them, :func:`as_stored`."""
    store = _stored(triples)
    updates = [each for update in updates_of(text) for each in without_each(update)]
    size = -1
    while size != len(store):
        size = len(store)
        for update in updates:
            store.update(update, custom_functions=FUNCTIONS)
    return _triples(store)


def as_stored(triples: Iterable[Triple]) -> set[Triple]:
    """The triples with numbers as Oxigraph keeps them: all whole ones as xsd:integer."""
    return _triples(_stored(triples))


def _stored(triples: Iterable[Triple]) -> ox.Store:
    store = ox.Store()
    store.extend(
        ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)) for s, p, o in triples
    )
    return store


def _triples(store: ox.Store) -> set[Triple]:
    return {
        (from_oxigraph(q.subject), from_oxigraph(q.predicate), from_oxigraph(q.object))  # type: ignore[misc]
        for q in store
    }


def updates_of(text: str) -> Iterator[str]:
    """The updates of a text, each with the prefixes of the text."""
    prefixes = "\n".join(line for line in text.split("\n") if line.startswith("PREFIX"))
    plain = "\n".join(
        line for line in text.split("\n") if not line.lstrip().startswith(("#", "PREFIX"))
    )
    for update in re.split(r";[ \t]*(?:\n|$)", plain):
        if update.strip():
            yield f"{prefixes}\nPREFIX rdf: <{RDF}>\n{update}"


def without_each(update: str) -> list[str]:
    """The update for lists of one member, of two, and so on."""
    if _EACH.search(update) is None:
        return [update]
    return [
        _EACH.sub(lambda found, size=size: _spelled_out(found, size), update)  # type: ignore[misc]
        for size in range(1, _LONGEST + 1)
    ]


def _spelled_out(found: re.Match[str], size: int) -> str:
    """A list of this size, and the pattern for each member, with variables of its own."""
    parts = []
    for place in range(size):
        before = "rdf:rest/" * place
        parts.append(f"?{found['list']} {before}rdf:first ?{found['member']}{place} .")
        pattern = found["pattern"].replace(f"?{found['member']} ", f"?{found['member']}{place} ")
        if found["first"]:
            start = found["first"] if place == 0 else f"link{place}"
            end = found["last"] if place == size - 1 else f"link{place + 1}"
            pattern = pattern.replace(f"?{found['first']} ", f"?{start} ")
            pattern = pattern.replace(f"?{found['last']} ", f"?{end} ")
        # The only other variable of a member in the bundled rules.
        parts.append(pattern.replace("?z", f"?z{place}") + " .")
    parts.append(f"?{found['list']} {'rdf:rest/' * (size - 1)}rdf:rest rdf:nil .")
    return " ".join(parts)
