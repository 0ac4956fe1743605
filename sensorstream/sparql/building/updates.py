"""Updates from the parse tree (SPARQL 1.1 Update, section 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from sensorstream.model.terms import IRI, BlankNode
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import TriplePattern, Update, Variable
from sensorstream.sparql.building.query_forms import QueryBuilder
from sensorstream.sparql.building.term_builder import NO_PREFIXES, Triples
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.walk import nodes

_Quads = tuple[algebra.Quad, ...]


class UpdateBuilder(QueryBuilder):
    """The rules from ``update`` down to ``quads_of_graph``."""

    def __init__(
        self,
        source: Source,
        base: str | None,
        prefixes: Mapping[str, str] = NO_PREFIXES,
        given: Collection[str] | None = None,
    ) -> None:
        """``given`` names the variables with a value from outside; empty outside rules."""
        super().__init__(source, base, prefixes)
        self._given = given
        self._used: set[BlankNode] = set()

    def update(self, children: list[Any]) -> Update:
        return Update(tuple(children))

    def deletion(self, children: list[Any]) -> Update:
        return Update((self.delete_where([self.quads(children)]),))

    @v_args(meta=True)
    def load(self, meta: Meta, children: list[Any]) -> algebra.Load:
        source, *target = _values(children)
        made = algebra.Load(source, target[0] if target else None, _silent(children))
        return self.at(meta.start_pos, made)

    @v_args(meta=True)
    def clear(self, meta: Meta, children: list[Any]) -> algebra.Clear | algebra.Drop:
        kind = algebra.Clear if children[0].type == "CLEAR" else algebra.Drop
        return self.at(meta.start_pos, kind(children[-1], _silent(children)))

    @v_args(meta=True)
    def create(self, meta: Meta, children: list[Any]) -> algebra.Create:
        return self.at(meta.start_pos, algebra.Create(_values(children)[0], _silent(children)))

    @v_args(meta=True)
    def transfer(self, meta: Meta, children: list[Any]) -> algebra.Transfer:
        source, target = children[-2:]
        silent = _silent(children)
        return self.at(
            meta.start_pos, algebra.Transfer(children[0].type, source[0], target[0], silent)
        )

    def graph_set(self, children: list[Any]) -> IRI | algebra.GraphSet:
        return children[0] if isinstance(children[0], IRI) else algebra.GraphSet(children[0].type)

    def graph_or_default(self, children: list[Any]) -> tuple[IRI | None]:
        return (children[0] if isinstance(children[0], IRI) else None,)

    def insert_data(self, children: list[_Quads]) -> algebra.InsertData:
        self._refuse_variables(children[0], "INSERT DATA")
        self._refuse_known_labels(children[0])
        return algebra.InsertData(children[0])

    def delete_data(self, children: list[_Quads]) -> algebra.DeleteData:
        self._refuse_variables(children[0], "DELETE DATA")
        self._refuse_blank_nodes(children[0], "DELETE DATA")
        return algebra.DeleteData(children[0])

    def delete_where(self, children: list[_Quads]) -> algebra.DeleteWhere:
        self._refuse_blank_nodes(children[0], "DELETE WHERE")
        return algebra.DeleteWhere(children[0])

    def modify(self, children: list[Any]) -> algebra.Modify:
        parts = {child[0]: child[1] for child in children[:-1] if child[0] != "using"}
        using = [child for child in children[:-1] if child[0] == "using"]
        # A blank node of a pattern belongs to its operation.
        self._block_of.clear()
        return algebra.Modify(
            parts.get("delete"),
            parts.get("insert"),
            children[-1].whole,
            algebra.Dataset(
                tuple(iri for _, named, iri in using if not named),
                tuple(iri for _, named, iri in using if named),
            ),
            parts.get("with"),
            self.run_time_base(),
        )

    def with_graph(self, children: list[IRI]) -> tuple[str, IRI]:
        return "with", children[0]

    def delete(self, children: list[_Quads]) -> tuple[str, _Quads]:
        self._refuse_blank_nodes(children[0], "DELETE")
        return "delete", children[0]

    def insert(self, children: list[_Quads]) -> tuple[str, _Quads]:
        return "insert", children[0]

    def using(self, children: list[Any]) -> tuple[str, bool, IRI]:
        return "using", len(children) == 2, children[-1]

    def quads(self, children: list[Any]) -> _Quads:
        quads: list[algebra.Quad] = []
        for child in children:
            if isinstance(child, Triples):
                quads += (algebra.Quad(triple) for triple in child.patterns)
            else:
                quads += child
        triples: tuple[TriplePattern, ...] = tuple(quad.triple for quad in quads)
        self.refuse_paths(triples, "the triples of an update")
        return tuple(quads)

    def quads_of_graph(self, children: list[Any]) -> list[algebra.Quad]:
        graph, *triples = children
        return [algebra.Quad(triple, graph) for each in triples for triple in each.patterns]

    # Rules beyond the grammar (section 19.8, notes 5 to 11)

    def _refuse_variables(self, quads: _Quads, where: str) -> None:
        for part in nodes(quads):
            if isinstance(part, Variable) and part.name not in (self._given or ()):
                self.fail_at(
                    part,
                    f"{part} cannot stand in {where}: it takes no variables"
                    if self._given is None
                    else f"{part} has no value: {where} has no WHERE that binds it",
                )

    def _refuse_blank_nodes(self, quads: _Quads, where: str) -> None:
        for part in nodes(quads):
            if isinstance(part, BlankNode):
                self.fail_at(part, f"a blank node cannot stand in {where}: expected a name")

    def _refuse_known_labels(self, quads: _Quads) -> None:
        """A blank node that is inserted as data belongs to one operation of a request."""
        labels = {part for part in nodes(quads) if isinstance(part, BlankNode)}
        for label in sorted(labels & self._used):
            self.fail_at(label, f"{label} stands already in another operation")
        self._used |= labels


def _silent(children: list[Any]) -> bool:
    return any(isinstance(child, Token) and child.type == "SILENT" for child in children)


def _values(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]
