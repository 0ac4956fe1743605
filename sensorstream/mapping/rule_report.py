"""An explanation of the mapping rules' work on a message, step by step. A plan compiled with a
recorder reports every expression; a plan without one has no cost for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from sensorstream.errors import MappingError
from sensorstream.language import syntax
from sensorstream.language.rule_printer import print_hole
from sensorstream.language.syntax import XML_SCHEMA_INSTANCE
from sensorstream.mapping.document_parts import alone
from sensorstream.mapping.mapping_compiler import compile_mapping
from sensorstream.mapping.mapping_expressions import ExpressionRecorder, read_again
from sensorstream.mapping.mapping_plan import Harvest, MappingPlan, PlannedRule, Turn
from sensorstream.mapping.moved_paths import ROOT, subpaths
from sensorstream.mapping.path_hint import why_nothing, why_unmatched
from sensorstream.mapping.reference_data import NO_REFERENCE, ReferenceData
from sensorstream.mapping.xml_document import Document, Element, written_name
from sensorstream.mapping.xpath import evaluated
from sensorstream.model.events import Message
from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.walk import nodes

_SHOWN: Final = 3
"""Values shown of each expression."""


@frozen
class ExpressionReport:
    """One hole of a rule: how often it was evaluated, and what it found.

    ``role`` is ``on message``, ``for each $x``, ``let $x``, ``if``, ``name``, ``a`` (a class),
    ``graph``, ``at`` or the property. Of a
    condition ``found`` counts how often it held, of all others the nodes or values. ``missed``
    counts the times it found nothing; ``cause`` is then the likely reason, if known.
    """

    role: str = field(
        metadata={"description": "what it is for, such as `on message` or a property"}
    )
    written: str
    tried: int
    found: int
    missed: int = field(metadata={"description": "how often it found nothing"})
    values: tuple[str, ...] = field(metadata={"description": "the first three"})
    cause: str = field(metadata={"description": "why it found nothing, if that is known"})


@frozen
class RuleReport:
    """One rule: whether its ``on message`` found something, else the likely cause."""

    rule: str
    matched: bool
    cause: str
    expressions: tuple[ExpressionReport, ...]


@frozen
class Explanation:
    """One message of a document: its rules, and the parts that no rule read.

    ``error`` is the reason why the rules reject it, or empty. ``yields`` are the results of RML
    maps and stylesheets: which parts these read is not known; such parts may be in ``unmapped``.
    """

    line: int
    rules: tuple[RuleReport, ...]
    unmapped: tuple[Unmapped, ...]
    error: str
    yields: tuple[Yield, ...] = ()


def explain(
    files: Sequence[syntax.RuleFile],
    schema: Schema,
    timeline: Timeline,
    document: Document,
    message: Message,
    reference: ReferenceData = NO_REFERENCE,
    others: Sequence[PlannedRule] = (),
) -> tuple[Explanation, ...]:
    """The work of the rules, and of ``others`` (maps and stylesheets), on each of a document's
    messages.

    Raises:
        LanguageError: as ``compile_mapping`` does.
    """
    tracer = _Tracer(files)
    plan = compile_mapping(files, schema, timeline, reference, recorder=tracer)
    root = document.getroot()
    parts = () if plan.split is None else plan.split(root)
    return tuple(
        replace(
            _explained(plan, part, message, files, tracer),
            yields=yields(others, alone(part), message) if others else (),
        )
        for part in (plan.in_turn(parts) if parts else (root,))
    )


def _explained(
    plan: MappingPlan,
    root: Element,
    message: Message,
    files: Sequence[syntax.RuleFile],
    tracer: _Tracer,
) -> Explanation:
    tracer.start()
    error, matched = "", set[str]()
    try:
        matched = set(plan.apply_to(root, message).matched)
    except MappingError as fault:
        error = str(fault)
    planned = {rule.name: rule for rule in plan.rules}
    rules = tuple(
        tracer.report(rule, file, root, rule.name in matched, planned[rule.name])
        for file in files
        for rule in file.mapping_rules
    )
    line = root.sourceline
    namespaces = {name: uri for file in files for name, uri in file.namespace_map.items()}
    left = unmapped(root, tracer.seen, namespaces)
    return Explanation(line if isinstance(line, int) else 1, rules, left, error)


@mutable
class _Tally:
    tried: int = 0
    found: int = 0
    missed: int = 0
    values: dict[str, None] = field(default_factory=dict)
    # The nodes from which its path found nothing.
    starts: list[Element] = field(default_factory=list)


class _Tracer(ExpressionRecorder):
    """A recorder that counts for each hole, and marks the parts of the message that were read."""

    def __init__(self, files: Iterable[syntax.RuleFile]) -> None:
        self._namespaces = {
            rule.name: file.namespace_map for file in files for rule in file.mapping_rules
        }
        self.start()

    def start(self) -> None:
        """Clear the records of the previous message."""
        self._tallies: dict[tuple[str, str], _Tally] = {}
        self.seen = Seen()

    def selected(self, rule: str, hole: syntax.Hole, turn: Turn, count: int) -> None:
        namespaces = self._namespaces[rule]
        here = _elements(read_again(hole.text, namespaces, turn))
        self._mark(namespaces, hole.text, turn, here)
        self.seen.passed |= here
        self._count(rule, hole, turn, count)

    def tested(self, rule: str, hole: syntax.Hole, turn: Turn, held: bool) -> None:
        self._mark(self._namespaces[rule], hole.text, turn)
        self._count(rule, hole, turn, int(held))

    def produced(self, rule: str, hole: syntax.Hole, turn: Turn, values: Sequence[str]) -> None:
        namespaces = self._namespaces[rule]
        self._mark(namespaces, hole.text, turn)
        self.seen.whole |= _elements(read_again(hole.text, namespaces, turn))
        self._count(rule, hole, turn, len(values), values)

    def report(
        self,
        rule: syntax.MappingRule,
        file: syntax.RuleFile,
        root: Element,
        matched: bool,
        planned: PlannedRule,
    ) -> RuleReport:
        """The records of a rule, in the order of its text."""
        message = self._tally(rule.name, rule.message)
        matched = matched or message.found > 0
        cause = "" if matched else why_unmatched(root, [planned])
        expressions = tuple(
            self._expression(rule.name, role, hole, file.namespace_map)
            for role, hole in holes_of(file, rule)
        )
        return RuleReport(rule.name, matched, cause, expressions)

    def _expression(
        self, rule: str, role: str, hole: syntax.Hole, namespaces: Mapping[str, str]
    ) -> ExpressionReport:
        tally = self._tally(rule, hole)
        cause = ""
        if tally.missed and not tally.found:
            cause = why_nothing(hole.text, tally.starts, namespaces)
        return ExpressionReport(
            role,
            print_hole(hole),
            tally.tried,
            tally.found,
            tally.missed,
            tuple(tally.values)[:_SHOWN],
            cause,
        )

    def _count(
        self,
        rule: str,
        hole: syntax.Hole,
        turn: Turn,
        found: int,
        values: Sequence[str] = (),
    ) -> None:
        tally = self._tally(rule, hole)
        tally.tried += 1
        tally.found += found
        tally.values |= dict.fromkeys(values)
        if not found:
            tally.missed += 1
            head = hole.text.partition("/")[0]
            start = turn.variables.get(head[1:]) if head.startswith("$") else turn.context
            if hole.text.startswith("/"):
                start = turn.variables.get(ROOT, turn.context.getroottree().getroot())
            if isinstance(start, Element):
                tally.starts.append(start)

    def _tally(self, rule: str, hole: syntax.Hole) -> _Tally:
        return self._tallies.setdefault((rule, print_hole(hole)), _Tally())

    def _mark(
        self,
        namespaces: Mapping[str, str],
        text: str,
        turn: Turn,
        but: Set[Element] = frozenset(),
    ) -> None:
        """Mark all nodes that an expression reads, except some elements, as seen."""
        for path in subpaths(text):
            found = read_again(path, namespaces, turn)
            self.seen.elements |= _elements(found) - but
            for node in found if isinstance(found, list) else ():
                if isinstance(node, Element) or (parent := node.getparent()) is None:
                    continue
                if node.attrname is not None:
                    self.seen.attributes.add((parent, node.attrname))
                else:
                    self.seen.elements.add(parent)


def _elements(found: object) -> set[Element]:
    nodes_found = found if isinstance(found, list) else ()
    return {node for node in nodes_found if isinstance(node, Element)}


def holes_of(file: syntax.RuleFile, rule: syntax.MappingRule) -> Iterable[tuple[str, syntax.Hole]]:
    """Every expression of a rule with its role, each once."""
    told: dict[tuple[str, str], syntax.Hole] = {("on message", ""): rule.message}
    for loop in rule.for_each:
        told["for each", f" ${loop.variable}"] = loop.xpath
    for let in rule.lets:
        told["let", f" ${let.variable}"] = let.value
    for guard in rule.guards:
        told.setdefault(("if", print_hole(guard)), guard)
    for action in rule.actions:
        parts = {"name": action.name, "a": action.classes, "graph": action.graph, "at": action.at}
        for role, part in parts.items():
            for hole in nodes(part, syntax.Hole):
                told.setdefault((role, print_hole(hole)), hole)
        for values in nodes(action.properties, syntax.PropertyValues):
            name = values.property
            written = ("" if name.prefix is None else f"{name.prefix}:") + "".join(
                part for part in name.parts if isinstance(part, str)
            )
            for value in values.values:
                for hole in _own_holes(value):
                    told.setdefault((written, print_hole(hole)), hole)
    for (role, more), hole in told.items():
        yield role + more if role in ("for each", "let") else role, hole


def _own_holes(value: object) -> Iterable[syntax.Hole]:
    """The holes of a value, without those of the properties of a node in it."""
    if isinstance(value, syntax.BlankValue):
        return ()
    if isinstance(value, syntax.ListValue):
        return [hole for item in value.items for hole in _own_holes(item)]
    if isinstance(value, syntax.Fallback):
        return [*_own_holes(value.value), *_own_holes(value.otherwise)]
    return nodes(value, syntax.Hole)


# The parts of a message that no rule read


_ABOUT_SCHEMAS: Final = f"{{{XML_SCHEMA_INSTANCE}}}"
_LONGEST: Final = 60


@mutable
class Seen:
    """The nodes that expressions found. ``passed`` are elements that were the context of a rule,
    ``whole`` those whose text it read.
    """

    passed: set[Element] = field(default_factory=set)
    elements: set[Element] = field(default_factory=set)
    attributes: set[tuple[Element, str]] = field(default_factory=set)
    whole: set[Element] = field(default_factory=set)


@frozen
class Unmapped:
    """Equal places that no rule read: how many, and text and line of the first."""

    path: str
    count: int
    text: str
    line: int


def unmapped(root: Element, seen: Seen, namespaces: Mapping[str, str]) -> tuple[Unmapped, ...]:
    """Attributes and elements with content that no path found, in document order. If nothing inside
    an element was read either, only the element is listed.
    """
    # The last of several prefixes.
    prefixes = dict(reversed([*namespaces.items()]))
    found: dict[str, Unmapped] = {}

    def tell(path: str, text: str, element: Element) -> None:
        line = element.sourceline
        first = found.get(path)
        if first is None:
            shown = " ".join(text.split())
            shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
            found[path] = Unmapped(path, 1, shown, line if isinstance(line, int) else 1)
        else:
            found[path] = Unmapped(path, first.count + 1, first.text, first.line)

    # Elements that were found, and those above them or above an attribute that was.
    touched = seen.passed | seen.elements | seen.whole | {element for element, _ in seen.attributes}
    on_the_way = {above for element in touched for above in element.iterancestors()} | touched

    def visit(element: Element, path: str, *, taken: bool) -> None:
        # If an element's text was read, so was the text of all elements in it, but no attribute.
        taken = taken or element in seen.whole
        if taken:
            texts: list[str] = []
        elif element not in on_the_way:
            tell(path, "".join(str(text) for text in element.itertext()), element)
            return
        else:
            texts = [element.text or "", *(child.tail or "" for child in element)]
        for name, value in element.attrib.items():
            written = str(name)
            if (element, written) not in seen.attributes and not written.startswith(_ABOUT_SCHEMAS):
                tell(f"{path}/@{written_name(written, prefixes)}", str(value), element)
        if element not in seen.elements and any(text.strip() for text in texts):
            tell(f"{path}/text()", "".join(texts), element)
        for child in element:
            visit(child, f"{path}/{written_name(child.tag, prefixes)}", taken=taken)

    visit(root, f"/{written_name(root.tag, prefixes)}", taken=False)
    return tuple(found.values())


# The results of RML maps and stylesheets, as a whole, not per expression


@frozen
class Yield:
    """One triples map or stylesheet.

    ``path`` is the iterator, or the path of the messages that the stylesheet is for; empty if
    it names none. ``found`` counts the nodes there, ``triples`` what came out. ``cause`` is the
    likely reason why nothing matched; ``error`` the reason for a rejection. ``missing`` are the
    XPaths of a map that found nothing in any of its iterations.
    """

    rule: str
    path: str
    matched: bool
    found: int
    triples: int
    cause: str
    error: str
    missing: tuple[str, ...] = ()


def yields(rules: Iterable[PlannedRule], root: Element, message: Message) -> tuple[Yield, ...]:
    """The result of each rule alone for a message."""
    return tuple(_yield(rule, root, message) for rule in rules)


def _yield(rule: PlannedRule, root: Element, message: Message) -> Yield:
    sought: dict[str, bool] = {}
    harvest, matched, error = Harvest(message, sought=sought), True, ""
    try:
        matched = rule.run(root, harvest, None)
    except MappingError as fault:
        error = str(fault)
    triples = 0 if error else sum(len(said.merged()) for said in harvest.by_time.values())
    cause = "" if matched else _cause(root, rule, message)
    found = _count(root, rule)
    missing = tuple(xpath for xpath, has_found in sought.items() if not has_found)
    return Yield(rule.name, rule.path, matched, found, triples, cause, error, missing)


def _count(root: Element, rule: PlannedRule) -> int:
    if not rule.path:
        return 0
    found = evaluated(rule.path, rule.namespaces, root, {})
    return len(found) if isinstance(found, list) else 0


def _cause(root: Element, rule: PlannedRule, message: Message) -> str:
    if not rule.path or _count(root, rule):
        return f"neither the message nor its source, {message.source}, selects it"
    return why_unmatched(root, [rule])
