"""A graph of shapes: its statements, and the places of shapes in the files that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sensorstream.errors import BackgroundError, Position, ShapesError
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.streams.background_graphs import Background

SH: Final = "http://www.w3.org/ns/shacl#"
_ENDS: Final = {"inversePath": "^{}", "zeroOrMorePath": "{}*", "oneOrMorePath": "{}+"} | {
    "zeroOrOnePath": "{}?"
}
_LOCAL: Final = re.compile(r"[^/#:]*\Z")


def sh(name: str) -> IRI:
    """A name of SHACL's vocabulary."""
    return IRI(SH + name)


@frozen
class Violation:
    """A violation of a shape, as a validation result of SHACL (section 3.6.2) has it.

    ``path`` is that of SPARQL, or an IRI alone; ``shape`` the IRI of the shape, or of the nearest
    shape with a name that a nameless one is part of.
    """

    shape: str
    focus: Term
    path: str | None
    value: Term | None
    component: str
    severity: str
    message: str

    def data(self) -> dict[str, str | None]:
        """The violation ready for JSON: IRIs as they are, literals as N-Triples has them."""
        return {
            "shape": self.shape,
            "focus": str(self.focus),
            "path": self.path,
            "value": None if self.value is None else str(self.value),
            "component": self.component,
            "severity": self.severity,
            "message": self.message,
        }


class ShapeGraph:
    """The statements of some files of shapes; ``texts`` are those of the files, by name."""

    def __init__(self, triples: Sequence[Triple], texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.index = TripleIndex()
        self.index.add(*triples)

    def objects(self, node: Term, name: str | IRI) -> list[Term]:
        """The values of a property of a node; a plain name is one of SHACL's."""
        if isinstance(node, Literal):
            return []
        predicate = name if isinstance(name, IRI) else sh(name)
        return [o for _, _, o in self.index.match(node, predicate, None)]

    def one(self, node: Term, name: str | IRI) -> Term | None:
        """The value of a property that has one at most.

        Raises:
            ShapesError: it has several.
        """
        found = self.objects(node, name)
        if len(found) > 1:
            raise self.fault(node, f"sh:{_local(str(name))} has {len(found)} values: expected one")
        return found[0] if found else None

    def items(self, node: Term) -> list[Term]:
        """The members of a list.

        Raises:
            ShapesError: it is no list.
        """
        found: list[Term] = []
        seen: set[Term] = set()
        while node != rdf.NIL:
            first, rest = self.objects(node, rdf.FIRST), self.objects(node, rdf.REST)
            if len(first) != 1 or len(rest) != 1 or node in seen:
                raise self.fault(node, f"{node} is no list: expected ( … )")
            seen.add(node)
            found.append(first[0])
            node = rest[0]
        return found

    def path(self, node: Term, depth: int = 0) -> str:
        """A path in the syntax of SPARQL; of a predicate alone, its IRI in angle brackets.

        Raises:
            ShapesError: it is no path.
        """
        if isinstance(node, IRI) and node != rdf.NIL:
            return node.n3
        if depth > 50:
            raise self.fault(node, "a path within itself: expected one that ends")
        if self.objects(node, rdf.FIRST):
            parts, sign = self.items(node), "/"
        elif alternatives := self.objects(node, "alternativePath"):
            parts, sign = self.items(alternatives[0]), "|"
        else:
            for name, written in _ENDS.items():
                for inner in self.objects(node, name):
                    return f"({written.format(self.path(inner, depth + 1))})"
            raise self.fault(node, f"{node} is no path: expected an IRI, or sh:inversePath …")
        return f"({sign.join(self.path(each, depth + 1) for each in parts)})"

    def path_told(self, node: Term) -> str:
        """The path as people and reports read it: an IRI, or :meth:`path`."""
        return str(node) if isinstance(node, IRI) else self.path(node)

    def name(self, node: Term) -> str:
        """The IRI of a shape; of a nameless one, that of what it is part of; else its label."""
        return next((each for each in self._owners(node) if isinstance(each, IRI)), str(node))

    def fault(self, node: Term, told: str) -> ShapesError:
        """The error that something about a node is wrong, with its place if that is known."""
        name = self.name(node)
        where = "" if name in told or name.startswith("_:") else f"<{name}>: "
        return ShapesError(f"{where}{told}", position=self._place(name))

    def _place(self, name: str) -> Position | None:
        """The place where a name stands first as the subject of statements, else anywhere."""
        local = re.escape(_local(name))
        patterns = [rf"<[^>]*{local}>|(?<![\w-])[\w-]*:{local}(?![\w-])"] if local else []
        for pattern in (rf"^\s*(?:{each})" for each in patterns):
            for file, text in self._texts.items():
                if found := re.search(pattern, text, re.MULTILINE):
                    start = found.end() - len(found[0].lstrip())
                    line = text.count("\n", 0, start) + 1
                    return Position(file, line, start - text.rfind("\n", 0, start))
        files = list(self._texts)
        return Position(files[0], 1, 1) if len(files) == 1 else None

    def _owners(self, node: Term) -> Iterator[Term]:
        """A node, and the nodes that lead to it, the nearest first."""
        seen: dict[Term, None] = {node: None}
        waiting = [node]
        while waiting:
            node = waiting.pop(0)
            yield node
            for subject, _, _ in self.index.match(None, None, node):
                if subject not in seen and isinstance(node, BlankNode):
                    seen[subject] = None
                    waiting.append(subject)


def read_shapes(files: Sequence[Path]) -> ShapeGraph:
    """Read files of shapes, in any format of RDF.

    Raises:
        ShapesError: a file cannot be read, with the line where it is known.
    """
    read = Background()
    try:
        read.read(files)
    except BackgroundError as error:
        raise ShapesError(error.message, position=error.position) from None
    texts = {str(each): each.read_text("utf-8", errors="replace") for each in files}
    return ShapeGraph(list(read.triples()), texts)


def _local(name: str) -> str:
    found = _LOCAL.search(name.rstrip("/#"))
    return "" if found is None else found[0]
