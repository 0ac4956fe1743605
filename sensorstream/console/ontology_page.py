"""The ontology in force: its classes and properties as trees, with how much there is of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.console import page_addresses
from sensorstream.console.elements import Notice, change_button, heading, link, stand_at
from sensorstream.console.page_addresses import local_name
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import label, number
from sensorstream.console.text_changes import VersionTable
from sensorstream.model.frozen import frozen

_PREFIXES: Final = """
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
_CLASSES: Final = (
    _PREFIXES
    + """SELECT DISTINCT ?term ?above {
  { ?term a owl:Class } UNION { ?term a rdfs:Class }
  OPTIONAL { ?term rdfs:subClassOf ?above . FILTER(isIRI(?above) && ?above != ?term) }
  FILTER(isIRI(?term))
} LIMIT 20000"""
)
_PROPERTIES: Final = (
    _PREFIXES
    + """SELECT DISTINCT ?term ?above {
  VALUES ?kind { owl:ObjectProperty owl:DatatypeProperty rdf:Property }
  ?term a ?kind
  OPTIONAL { ?term rdfs:subPropertyOf ?above . FILTER(isIRI(?above) && ?above != ?term) }
  FILTER(isIRI(?term))
} LIMIT 20000"""
)
_MEMBERS: Final = "SELECT ?term (COUNT(*) AS ?count) { ?s a ?term } GROUP BY ?term"
_USES: Final = "SELECT ?term (COUNT(*) AS ?count) { ?s ?term ?o } GROUP BY ?term"
_DEEPEST: Final = 40
_HEADER: Final = (
    '<a :href="props.node.link" :title="props.node.iri" @click.stop>{{ props.node.label }}</a>'
    '<span class="many">{{ props.node.many }}</span>'
)


@frozen
class Term:
    """A class or property in the tree; one with several terms above it stands below each."""

    iri: str
    below: tuple[Term, ...]


async def build(visit: Visit) -> None:
    """Build two trees, the counts of now, on request those of history, and the versions."""
    counts: dict[str, tuple[Mapping[str, int], Mapping[str, int]]] = {}
    client = visit.client

    def show() -> None:
        for key, tree in trees.items():
            tree.show(str(name.value or ""), *counts.get(key, ({}, {})))

    async def count(on: str) -> None:
        for key, question in (("Classes", _MEMBERS), ("Properties", _USES)):
            found = (await client.query(question, on=on)).rows
            numbers = {str(term): int(str(many)) for term, many in found}
            now, before = counts.get(key, ({}, {}))
            counts[key] = (numbers, before) if on == "cache" else (now, numbers)
        show()

    async def count_history() -> None:
        with notice.of():
            await count("history")

    def choose() -> None:
        stand_at(page_addresses.address(page_addresses.ONTOLOGY.path, name=name.value or None))
        show()

    with ui.element("div").classes("form"):
        name = ui.input("Name contains", value=visit.asked.get("name", ""), on_change=choose)
        name.props("clearable")
        change_button("Count history too", count_history)
    notice = Notice()
    with ui.element("div").classes("charts"):
        trees = {
            "Classes": _Tree("Classes", page_addresses.members),
            "Properties": _Tree("Properties", _uses),
        }
    for tree, question in zip(trees.values(), (_CLASSES, _PROPERTIES), strict=True):
        found = (await client.query(question)).rows
        tree.terms = trees_of(
            (str(term), None if above is None else str(above)) for term, above in found
        )
    with notice.of():
        await count("cache")
    heading("Versions")
    text = (await client.ontology()).text

    async def put_again(old: str, media_type: str) -> None:
        change = await client.put_ontology(old, media_type)
        ui.notify(f"the ontology is in force: change {change}")
        await versions.read()

    versions = VersionTable(visit, "ontology", "", lambda: text, put_again)
    await versions.read()
    link("The ontology as a file", page_addresses.twin("/ontology"))


async def terms_of(client: AsyncClient) -> list[str]:
    """The classes and properties of the ontology."""
    found = [await client.query(question) for question in (_CLASSES, _PROPERTIES)]
    return sorted({str(term) for each in found for term, _ in each.rows})


class _Tree:
    """A tree of terms with their counts."""

    def __init__(self, title: str, leads: Callable[[str], str]) -> None:
        """``leads``: the address of a term's members or uses."""
        self._leads = leads
        self.terms: tuple[Term, ...] = ()
        with ui.element("section"):
            heading(title)
            self._tree = ui.tree([], label_key="label").classes("terms")
            self._tree.add_slot("default-header", _HEADER)
            self._tree.set_visibility(False)

    def show(self, name: str, now: Mapping[str, int], before: Mapping[str, int]) -> None:
        """Show the terms whose names contain a text, and those above them."""
        nodes = self._nodes(self.terms, name.strip().lower(), now, before)
        if nodes != self._tree.props["nodes"]:
            self._tree.props["nodes"] = nodes
            self._tree.update()
            self._tree.set_visibility(bool(nodes))

    def _nodes(
        self,
        terms: Iterable[Term],
        name: str,
        now: Mapping[str, int],
        before: Mapping[str, int],
        above: str = "",
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for place, term in enumerate(terms):
            at, iri = f"{above}{place}", term.iri
            below = self._nodes(term.below, name, now, before, f"{at}.")
            if not below and name not in f"{iri} {label(iri)}".lower():
                continue
            counts = (now.get(iri), "now"), (before.get(iri), "in history")
            said = ", ".join(f"{number(count)} {when}" for count, when in counts if count)
            node = {"id": at, "label": label(iri), "iri": iri, "link": self._leads(iri)}
            found.append({**node, "many": said, "children": below})
        return found


def _uses(iri: str) -> str:
    return page_addresses.address(
        page_addresses.ASK.path, text=f"SELECT ?s ?o {{ ?s <{iri}> ?o }} LIMIT 1000"
    )


def trees_of(pairs: Iterable[tuple[str, str | None]]) -> tuple[Term, ...]:
    """The trees of terms from pairs of a term and one above it, by name; a cycle is cut."""
    below: dict[str, set[str]] = {}
    has_above: set[str] = set()
    for term, above in pairs:
        below.setdefault(term, set())
        if above is not None:
            below.setdefault(above, set()).add(term)
            has_above.add(term)
    roots = [each for each in below if each not in has_above]
    reached = {each.iri for each in _walk(tuple(_grown(root, below, ()) for root in roots))}
    # A term that no root reaches stands in a cycle.
    while rest := sorted(below.keys() - reached):
        roots.append(rest[0])
        reached |= {each.iri for each in _walk((_grown(rest[0], below, ()),))}
    return tuple(_grown(root, below, ()) for root in sorted(roots, key=local_name))


def _grown(iri: str, below: Mapping[str, set[str]], above: tuple[str, ...]) -> Term:
    if len(above) == _DEEPEST:
        return Term(iri, ())
    here = (*above, iri)
    return Term(
        iri,
        tuple(
            _grown(each, below, here)
            for each in sorted(below[iri], key=local_name)
            if each not in here
        ),
    )


def _walk(terms: tuple[Term, ...]) -> Iterator[Term]:
    for term in terms:
        yield term
        yield from _walk(term.below)
