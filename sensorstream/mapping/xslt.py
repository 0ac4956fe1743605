"""Stylesheets: XSLT turns a message into RDF, which becomes events.

Source: GRDDL (W3C, 2007), section 2: a document names the transformation that makes it RDF. Here
the deployment lists the stylesheets; none is ever downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Final, cast

import pyoxigraph as ox
from lxml import etree

from sensorstream.errors import MappingError, Position, TermError
from sensorstream.kb.graph_text import quads_in
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.language.syntax import Hole
from sensorstream.mapping import xpath
from sensorstream.mapping.mapping_plan import Harvest, PlannedRule
from sensorstream.mapping.path_index import Nodes
from sensorstream.mapping.rule_cost import Steep, cost_of
from sensorstream.mapping.stylesheet import Stylesheet, output_of
from sensorstream.mapping.transformer import Transformer
from sensorstream.mapping.xml_document import Element
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple, literal
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import SENSORSTREAM
from sensorstream.window.window_partition import owners_of

_AT: Final = IRI(f"{SENSORSTREAM}at")
_REPLACES: Final = IRI(f"{SENSORSTREAM}replaces")
_NAMED: Final = "{http://www.w3.org/2003/g/data-view#}transformation"


def rule_name(file: str) -> str:
    """The name of the rule for a stylesheet's file."""
    return re.sub(r"[^\w-]+", "-", PurePath(file).stem)


def compile_stylesheet(
    stylesheet: Stylesheet, timeline: Timeline, seconds: float | None = None
) -> PlannedRule:
    """The rule of a stylesheet. It runs in a process of its own, and may take ``seconds`` for a
    message; None: it runs in this process, without a limit.
    """
    name = rule_name(stylesheet.file)
    declared = stylesheet.declaration
    paths = (Hole(each, position=stylesheet.position) for each in (declared.path, declared.at))
    return PlannedRule(
        name,
        declared.path,
        stylesheet.namespaces,
        _Transformation(name, stylesheet, timeline, seconds).run,
        steep=tuple(
            Steep(degree, hole) for hole in paths if (degree := cost_of(hole.text).degree) > 1
        ),
    )


class _Transformation:
    """A stylesheet, applied to messages; it has no state but its process."""

    def __init__(
        self, name: str, stylesheet: Stylesheet, timeline: Timeline, seconds: float | None
    ) -> None:
        self._name = name
        self._stylesheet = stylesheet
        self._timeline = timeline
        self._transformer = (
            None if seconds is None else Transformer(stylesheet.content, stylesheet.file, seconds)
        )
        path, at = stylesheet.declaration.path, stylesheet.declaration.at
        self._find = xpath.compile_xpath(path, stylesheet.namespaces) if path else None
        self._at = xpath.compile_xpath(at, stylesheet.namespaces) if at else None

    def run(self, root: Element, harvest: Harvest, nodes: Nodes | None) -> bool:
        """Turn the message into events, if it is one for this stylesheet."""
        node = self._node(root, harvest)
        if node is None:
            return False
        triples = list(self._triples(root, harvest))
        self._add(triples, self._default_time(node, harvest), harvest)
        return True

    def _node(self, root: Element, harvest: Harvest) -> Element | None:
        """The nodes of the stylesheet's path, if the stylesheet is for the message."""
        declared = self._stylesheet.declaration
        named = (root.get(_NAMED) or "").split()
        if PurePath(self._stylesheet.file).name in named or declared.transformation in named:
            return root
        if not declared.path and not declared.source:
            return None
        if declared.source and declared.source != harvest.message.source:
            return None
        if self._find is None:
            return root
        found = self._evaluate(self._find, declared.path, root)
        for node in cast(Sequence[Element | str], found):
            return node if isinstance(node, Element) else root
        return None

    def _evaluate(self, find: xpath.Evaluation, text: str, node: Element) -> object:
        try:
            return find(node, {})
        except etree.XPathError as error:
            raise self._error(f"{{{text}}} is not possible on this message: {error}") from None

    def _default_time(self, node: Element, harvest: Harvest) -> Callable[[], Instant]:
        """The time of statements without a time of their own; evaluated only if needed."""

        def time() -> Instant:
            if self._at is None:
                return harvest.message.received
            at = self._stylesheet.declaration.at
            found = xpath.texts(self._evaluate(self._at, at, node))
            if len(found) != 1:
                count = f"{len(found)} values" if found else "nothing"
                raise self._error(f"{{{at}}} found {count}, expected a time")
            return self._instant(found[0], f"{{{at}}}")

        return time

    def _instant(self, text: str, where: str) -> Instant:
        try:
            return self._timeline.instant(text)
        except TermError as error:
            raise self._error(f"{where}: {error.message}") from None

    # From the stylesheet's output to triples

    def _triples(self, root: Element, harvest: Harvest) -> Iterator[Triple]:
        output = self._output(root, harvest)
        if not output.strip():
            return
        labels: dict[Term, BlankNode] = {}
        try:
            for quad in quads_in(output, self._stylesheet.format):
                if quad.graph_name != ox.DefaultGraph():
                    raise TermError(f"its output names a graph, {quad.graph_name}: expected none")
                subject, predicate, value = (
                    self._own(from_oxigraph(part), labels, harvest)
                    for part in (quad.subject, quad.predicate, quad.object)
                )
                if isinstance(value, Literal):
                    value = self._checked(value, predicate)
                yield cast(Subject, subject), cast(IRI, predicate), value
        except SyntaxError as error:
            written = output.decode("utf-8", "replace").splitlines()
            line = error.lineno or 1
            near = written[line - 1].strip()[:80] if line <= len(written) else ""
            reason = re.sub(r"^Parser error at .*?: | \(line \d+\)$", "", str(error.args[0]))
            raise self._error(
                f"its output is not {self._stylesheet.format.name}: line {line} ({near}): {reason}"
            ) from None
        except TermError as error:
            raise self._error(error.message) from None

    def _output(self, root: Element, harvest: Harvest) -> bytes:
        if self._transformer is None:
            found = output_of(self._stylesheet.transform, root)
        else:
            found = self._transformer.transform(root, harvest.message.id, again=harvest.again)
        if isinstance(found, bytes):
            return found
        at = Position(self._stylesheet.file, found.line, 1) if found.line else None
        raise self._error(found.reason, at)

    def _own(self, term: Term, labels: dict[Term, BlankNode], harvest: Harvest) -> Term:
        """A term; a blank node gets a label that is the same each time the message is mapped."""
        if not isinstance(term, BlankNode):
            return term
        node = labels.get(term)
        if node is None:
            node = labels[term] = harvest.blank_node()
        return node

    def _checked(self, value: Literal, predicate: Term) -> Literal:
        try:
            return literal(value.lexical, value.datatype, value.language)
        except TermError as error:
            raise TermError(f"<{predicate}>: {error.message}") from None

    # From triples to events

    def _add(
        self, triples: Sequence[Triple], default: Callable[[], Instant], harvest: Harvest
    ) -> None:
        said: list[Triple] = []
        times: dict[Subject, Instant] = {}
        replaced: dict[tuple[Subject, Term], None] = {}
        for subject, predicate, value in triples:
            if predicate == _AT:
                where = f"ss:at of {subject.n3}"
                if not isinstance(value, Literal) or subject in times:
                    raise self._error(f"{where}: expected one time")
                times[subject] = self._instant(value.lexical, where)
            elif predicate == _REPLACES:
                replaced[subject, value] = None
            elif predicate.startswith(SENSORSTREAM):
                raise self._error(f"unknown property {predicate.n3}: expected ss:at, ss:replaces")
            else:
                said.append((subject, predicate, value))
        owners = owners_of(Event(tuple(said), 0, harvest.message.id), {})
        for triple in said:
            subject, predicate, _ = triple
            owner = owners[subject]
            if owner not in times:
                times[owner] = default()
            statements = harvest.at(times[owner])
            statements.triples[triple] = None
            if (subject, predicate) in replaced:
                statements.replaces.add((subject, predicate))
            if isinstance(subject, IRI):
                harvest.individuals[subject] = None

    def _error(self, what: str, position: Position | None = None) -> MappingError:
        return MappingError(
            f"stylesheet {self._name}: {what}", position=position or self._stylesheet.position
        )
