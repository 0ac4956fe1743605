"""The places in a message that statements come from: the rule, its XPath, and the nodes found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from lxml import etree

from sensorstream.errors import MappingError
from sensorstream.language import syntax
from sensorstream.language.rule_printer import print_hole
from sensorstream.mapping.document_parts import alone
from sensorstream.mapping.mapping_compiler import compile_mapping
from sensorstream.mapping.mapping_expressions import ExpressionRecorder, read_again
from sensorstream.mapping.mapping_plan import Harvest, PlannedRule, Turn
from sensorstream.mapping.reference_data import NO_REFERENCE, ReferenceData
from sensorstream.mapping.xml_document import Document, Element
from sensorstream.model.events import Message
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Literal, Subject, Triple
from sensorstream.model.timeline import Timeline

_MOST_NODES: Final = 5
"""Nodes that are told of one expression."""
_MOST_TEXT: Final = 200
"""Characters that are told of the text of a node."""
_MOST_LETS: Final = 20


@frozen
class XmlNode:
    """A node of a message: its XPath there (``/Message/@t``), its line, its text, perhaps cut."""

    path: str
    line: int
    text: str


@frozen
class Expression:
    """An expression of a mapping rule as it is written, with the nodes that it found."""

    written: str
    nodes: tuple[XmlNode, ...]


@frozen
class StatementPlace:
    """The place that a statement comes from.

    ``value`` are the expressions of its value, ``name`` those of the name of its subject; constants
    of the rule come from no expression. ``at`` is the node for which the rule was applied. For RML
    and stylesheets only the rule is known.
    """

    rule: str
    at: XmlNode | None = None
    value: tuple[Expression, ...] = ()
    name: tuple[Expression, ...] = ()


@frozen
class Sought:
    """Some statements of a message, and all about some individuals."""

    statements: Collection[Triple]
    about: Collection[Subject]


def places(
    sought: Sought,
    files: Sequence[syntax.RuleFile],
    schema: Schema,
    timeline: Timeline,
    document: Document,
    message: Message,
    reference: ReferenceData = NO_REFERENCE,
    others: Sequence[PlannedRule] = (),
) -> Mapping[Triple, Sequence[StatementPlace]]:
    """The places of the statements that the rules, or ``others`` (RML maps and stylesheets), make
    of a message. The message has been mapped before, so there are no limits of time.

    Raises:
        LanguageError: as :func:`.compile_mapping`.
        MappingError: the rules do not map the message.
    """
    seeker = _Seeker(frozenset(sought.statements), frozenset(sought.about), files)
    plan = compile_mapping(files, schema, timeline, reference, recorder=seeker)
    root = document.getroot()
    said = {
        triple
        for event in plan.apply(document, message, again=True).events
        for triple in event.triples
    }
    found = {triple: each for triple, each in seeker.found.items() if triple in said}
    parts = () if plan.split is None else plan.split(root)
    for part in parts or (root,):
        for rule in others:
            harvest = Harvest(message, again=True)
            try:
                rule.run(alone(part), harvest, None)
            except MappingError:
                continue
            for statements in harvest.by_time.values():
                for triple in filter(seeker.seeks, statements.merged()):
                    found.setdefault(triple, []).append(StatementPlace(rule.name))
    return found


@mutable
class _Seeker(ExpressionRecorder):
    """A recorder that notes the places of the sought statements."""

    wanted: frozenset[Triple]
    about: frozenset[Subject]
    files: Sequence[syntax.RuleFile]
    found: dict[Triple, list[StatementPlace]] = field(default_factory=dict)
    _named: dict[tuple[str, Subject], tuple[Expression, ...]] = field(default_factory=dict)
    _subjects: frozenset[Subject] = frozenset()

    def __post_init__(self) -> None:
        self._subjects = self.about | {triple[0] for triple in self.wanted}

    def seeks(self, triple: Triple) -> bool:
        """Whether a statement is sought."""
        return triple in self.wanted or triple[0] in self.about

    def named(self, rule: str, name: Subject, holes: Sequence[syntax.Hole], turn: Turn) -> None:
        """Note the places that an individual's name comes from."""
        if name in self._subjects:
            self._named[rule, name] = self._expressions(rule, holes, turn, "")

    def stated(self, rule: str, triple: Triple, holes: Sequence[syntax.Hole], turn: Turn) -> None:
        """Note the places that a statement's value comes from."""
        if not self.seeks(triple):
            return
        value = triple[2].lexical if isinstance(triple[2], Literal) else ""
        place = StatementPlace(
            rule,
            _node(turn.context, turn),
            self._expressions(rule, holes, turn, value),
            self._named.get((rule, triple[0]), ()),
        )
        known = self.found.setdefault(triple, [])
        if place not in known:
            known.append(place)

    def _expressions(
        self, rule: str, holes: Sequence[syntax.Hole], turn: Turn, value: str
    ) -> tuple[Expression, ...]:
        """The expressions; of several nodes those with the text of the value, if any."""
        file, lets = self._rule(rule)
        told = []
        for hole in dict.fromkeys(holes):
            found = read_again(_path(hole, lets), file.namespace_map, turn)
            nodes = [
                node
                for each in (found if isinstance(found, list) else ())
                if (node := _node(each, turn)) is not None
            ]
            same = [node for node in nodes if node.text == value[:_MOST_TEXT]]
            told.append(Expression(print_hole(hole), tuple((same or nodes)[:_MOST_NODES])))
        return tuple(told)

    def _rule(self, name: str) -> tuple[syntax.RuleFile, Mapping[str, syntax.Hole]]:
        for file in self.files:
            for rule in file.mapping_rules:
                if rule.name == name:
                    return file, {let.variable: let.value for let in rule.lets}
        raise AssertionError("only these rules are applied")


def _path(hole: syntax.Hole, lets: Mapping[str, syntax.Hole]) -> str:
    """The path of a hole; that of a variable of ``let`` is the path of its value."""
    text = hole.text
    for _ in range(_MOST_LETS):
        if not text.startswith("$") or text[1:] not in lets:
            break
        text = lets[text[1:]].text
    return text


def _node(found: object, turn: Turn) -> XmlNode | None:
    """A node of the message; None for a computed value."""
    if isinstance(found, Element):
        element, path, text = found, "", "".join(map(str, found.itertext()))
    else:
        parent = found.getparent() if hasattr(found, "getparent") else None
        if not isinstance(parent, Element):
            return None
        element, text = parent, str(found)
        name = getattr(found, "attrname", None)
        path = "/text()" if name is None else f"/@{etree.QName(name).localname}"
    tree = element.getroottree()
    if tree.getroot() is not turn.context.getroottree().getroot():
        return None
    line = element.sourceline
    return XmlNode(
        f"{tree.getpath(element)}{path}", line if isinstance(line, int) else 1, text[:_MOST_TEXT]
    )
