"""The syntax tree of a rule file, before names are resolved.

Each node that an error may point at has its position; positions are not compared, so a tree equals
the tree of its own printed text.

Two kinds of braces share the node :class:`Hole`. In a mapping rule a hole holds XPath 1.0, in a
semantic rule ``?variable`` or ``new`` (paper section 4.1: both kinds of rules are
event-condition-action rules).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from sensorstream.errors import Position
from sensorstream.model import xsd
from sensorstream.model.frozen import Frozen, field
from sensorstream.model.terms import IRI
from sensorstream.sparql.iris import resolve

XML_SCHEMA_INSTANCE: Final = "http://www.w3.org/2001/XMLSchema-instance"
NOWHERE: Final = Position("", 1, 1)


class SyntaxNode(Frozen):
    """A part of a document of rules, and its place; nodes with equal parts are equal anywhere."""

    position: Position = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


class Argument(SyntaxNode):
    """An argument of a value function: ``"text"``, ``12.5`` or a ``word``; ``text`` is without
    quotes, and never contains both kinds of quotes.
    """

    kind: Literal["text", "number", "word"]
    text: str


class ValueCall(SyntaxNode):
    """``|> function argument …``: a value function; ``position`` is that of its name."""

    function: str
    arguments: tuple[Argument, ...] = ()


class Hole(SyntaxNode):
    """``{…}``: XPath, or in a semantic rule ``?variable`` or ``new``, without outer space.

    ``calls`` are the value functions applied to the result of the XPath, in order (mapping rules).
    ``position`` is that of the first character of ``text``.
    """

    text: str
    calls: tuple[ValueCall, ...] = ()


Part: TypeAlias = str | Hole


class TextTemplate(SyntaxNode):
    """Quoted text with holes. No part is empty, and no two strings are adjacent."""

    parts: tuple[Part, ...]


class WrittenName(SyntaxNode):
    """An IRI, written ``prefix:local`` or ``<iri>`` (then ``prefix`` is None); may have holes.
    ``<{…}>``, with nothing but one hole, is a whole IRI; in other names the values of holes are
    parts of an IRI, which are percent-encoded.
    """

    prefix: str | None
    parts: tuple[Part, ...]

    @property
    def is_constant(self) -> bool:
        return all(isinstance(part, str) for part in self.parts)

    @property
    def holes(self) -> tuple[Hole, ...]:
        return tuple(part for part in self.parts if isinstance(part, Hole))

    @property
    def whole(self) -> Hole | None:
        """The hole whose value is the whole IRI, if the name is such a hole."""
        if self.prefix is None and len(self.parts) == 1 and isinstance(self.parts[0], Hole):
            return self.parts[0]
        return None


class RuleVariable(SyntaxNode):
    """``?name`` in a semantic rule; ``name`` is without the question mark."""

    name: str


class XPathValue(SyntaxNode):
    """``{xpath}``, ``{xpath}^^datatype`` or ``{xpath}@language``: one value per node found. A
    ``language`` that the message gives, ``@{xpath}``, is a hole.
    """

    xpath: Hole
    datatype: WrittenName | None = None
    language: str | Hole | None = None


class TextValue(SyntaxNode):
    """``"text {hole}"``, with a datatype or a language if one is written."""

    text: TextTemplate
    datatype: WrittenName | None = None
    language: str | Hole | None = None


class WrittenNumber(SyntaxNode):
    """A number or boolean as written: ``12``, ``7.4``, ``1e3``, ``true``."""

    text: str

    @property
    def datatype(self) -> str:
        """The datatype such a text has in SPARQL (1.1, section 19.8)."""
        if self.text in ("true", "false"):
            return xsd.BOOLEAN
        if "e" in self.text.lower():
            return xsd.DOUBLE
        return xsd.DECIMAL if "." in self.text else xsd.INTEGER


class BlankValue(SyntaxNode):
    """``[ a :C ; :p {x} ]``: a blank node, owned by the individual (mapping rules)."""

    classes: tuple[WrittenName, ...]
    properties: tuple[PropertyValues, ...]


class BlankName(SyntaxNode):
    """``_:loc-{@id}``: the blank node with this label in the message (mapping rules)."""

    parts: tuple[Part, ...]

    @property
    def holes(self) -> tuple[Hole, ...]:
        return tuple(part for part in self.parts if isinstance(part, Hole))


class ListValue(SyntaxNode):
    """``( VALUE VALUE … )``: an ``rdf:List``, owned by the individual (mapping rules). ``items`` is
    not empty; an item that finds several values makes several members.
    """

    items: tuple[Value, ...]


class KnownName(SyntaxNode):
    """``known NAME``: a link, if the ontology knows that individual (mapping rules)."""

    name: WrittenName


class KnownBy(SyntaxNode):
    """``known CLASS with PROPERTY VALUE``: the ontology's members that have that value."""

    class_name: WrittenName
    property: WrittenName
    value: XPathValue | TextValue | WrittenNumber


class MissingPolicy(SyntaxNode):
    """``or skip individual`` or ``or reject``: the effect of a missing value."""

    kind: Literal["skip individual", "reject"]


class Fallback(SyntaxNode):
    """``VALUE [if valid] [or …]``: the alternative to a missing value (mapping rules).

    ``if_valid`` treats an invalid value as a missing one. ``otherwise`` is the next value to
    try, or a policy; None leaves the value out. At least one of the two is given.
    """

    value: Value
    if_valid: bool
    otherwise: Value | MissingPolicy | None


Value: TypeAlias = (
    XPathValue
    | TextValue
    | WrittenNumber
    | WrittenName
    | RuleVariable
    | BlankValue
    | BlankName
    | ListValue
    | KnownName
    | KnownBy
    | Fallback
)


class PropertyValues(SyntaxNode):
    """``; :p value, value``; ``property`` has no holes, ``values`` is not empty."""

    property: WrittenName
    values: tuple[Value, ...]


class IndividualAction(SyntaxNode):
    """``insert|update individual NAME a CLASS, … in graph NAME at {xpath} ; property values … .``

    ``update`` is update-or-insert: the earlier values of the named properties are replaced.
    ``at`` (mapping rules only) is the application time; None means the time of arrival. ``graph``
    (mapping rules only) is the graph of its statements; None is the default graph.
    """

    kind: Literal["insert", "update"]
    name: WrittenName | RuleVariable | BlankName
    classes: tuple[WrittenName, ...]
    properties: tuple[PropertyValues, ...]
    at: Hole | None = None
    graph: WrittenName | None = None


# Mapping rules


class ForEach(SyntaxNode):
    """``for each $variable in {xpath}``; ``variable`` is without the dollar sign."""

    variable: str
    xpath: Hole


class Let(SyntaxNode):
    """``let $variable = {xpath |> functions}``: a value of each turn of the loops."""

    variable: str
    value: Hole


class MappingRule(SyntaxNode):
    """``mapping NAME on message {…} for each … let … if {…} and {…} then …``. All ``guards`` must
    hold; ``actions`` is not empty. ``position`` is that of the name.
    """

    name: str
    message: Hole
    for_each: tuple[ForEach, ...]
    guards: tuple[Hole, ...]
    actions: tuple[IndividualAction, ...]
    lets: tuple[Let, ...] = ()


# Semantic rules


class Sparql(SyntaxNode):
    """SPARQL text from between two braces, without outer space; the prefixes of the file apply.
    ``position`` is that of the first character of ``text``.
    """

    text: str


class WrittenDuration(SyntaxNode):
    """A quoted length of the time line: ``"PT1M"``, or ``"10"`` on the integer line."""

    text: str


class OnChange(SyntaxNode):
    """``on change``: each time that a message or a rule changed the knowledge base."""


class OnMessage(SyntaxNode):
    """``on message``: once a message."""


class OfClass(SyntaxNode):
    """A part of a rule that concerns the members of a class."""

    class_name: WrittenName


class OnInsert(OfClass):
    """``on insert CLASS as ?variable``: for each individual that became a member of the class."""

    variable: RuleVariable


class OnExpire(OfClass):
    """``on expire CLASS as ?variable``: for each member of the class that left the window."""

    variable: RuleVariable


class OnSilence(OfClass):
    """``on silence of CLASS as ?variable for "PT1H"``: for each member that says nothing so long.
    Without ``as`` the variable is ``?individual``; ``?last`` is when it last said something.
    """

    duration: WrittenDuration
    variable: RuleVariable = RuleVariable("individual")


class OnUpdate(SyntaxNode):
    """``on update NAME as ?variable old ?old new ?new``: a value came in place of another. ``name``
    is a property, or a class: then any property of its members.
    """

    name: WrittenName
    variable: RuleVariable
    old: RuleVariable | None = None
    new: RuleVariable | None = None

    @property
    def variables(self) -> tuple[RuleVariable, ...]:
        """The variables to which it gives a value."""
        return tuple(each for each in (self.variable, self.old, self.new) if each is not None)


class LocalTime(SyntaxNode):
    """``day at "07:00" in "Europe/Vienna"``: when the clocks of a place show that time.

    ``day`` is ``day``, or the weekday that is meant: ``monday`` to ``sunday``. ``time`` is
    ``HH:MM`` or ``HH:MM:SS``, ``zone`` a name of the IANA time zone database.
    """

    day: str
    time: str
    zone: str


class Every(SyntaxNode):
    """``every "PT10S"`` or ``every day at …``, with ``from history select { SELECT … }`` or not.

    Fires each time that application time has moved on by that much, or has come to such a time.
    With ``question`` it then asks the history, and the rule is tried with each solution.
    """

    schedule: WrittenDuration | LocalTime
    question: Sparql | None = None


class ExistsCondition(OfClass):
    """``[not] exists CLASS``."""

    negated: bool = False


Comparison: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


class CountCondition(OfClass):
    """``[not] count CLASS > 20``: the number of members of the class."""

    comparison: Comparison
    number: int
    negated: bool = False


class SelectCondition(SyntaxNode):
    """``[not] select { SELECT … }``: there are solutions, which bind their variables; or not."""

    query: Sparql
    negated: bool = False


class AskCondition(SyntaxNode):
    """``[not] ask { ASK … }``."""

    query: Sparql
    negated: bool = False


Condition: TypeAlias = ExistsCondition | CountCondition | SelectCondition | AskCondition


class When(SyntaxNode):
    """``when CONDITION becomes true [for "PT10M"] [until CONDITION]``.

    Fires once for each solution of the condition that did not hold before. A solution ends with
    ``until``; without it, when the condition holds no longer.
    """

    condition: Condition
    lasting: WrittenDuration | None = None
    until: Condition | None = None


Trigger: TypeAlias = (
    OnChange | OnMessage | OnInsert | OnExpire | OnSilence | OnUpdate | Every | When
)


Severity: TypeAlias = Literal["info", "warning", "critical"]


class AlertAction(SyntaxNode):
    """``alert SEVERITY "text" key "key" for "PT1M"``.

    Alerts with the same ``key`` are the same alert, which is not raised again during ``duration``;
    both may be missing.
    """

    severity: Severity
    text: TextTemplate
    key: TextTemplate | None = None
    duration: WrittenDuration | None = None


class DeleteIndividual(SyntaxNode):
    """``delete individual ?x .``"""

    name: WrittenName | RuleVariable


class DeletePattern(SyntaxNode):
    """``delete { ?s :p ?o . }``: every triple of the window that matches the pattern."""

    pattern: Sparql


class SparqlUpdate(SyntaxNode):
    """``sparql { DELETE … INSERT … WHERE … }``: SPARQL 1.1 Update."""

    update: Sparql


class Reply(SyntaxNode):
    """``reply "<Command …/>"``: a command in the answer to the message's sender."""

    text: TextTemplate


Action: TypeAlias = (
    AlertAction | IndividualAction | DeleteIndividual | DeletePattern | SparqlUpdate | Reply
)


class SemanticRule(SyntaxNode):
    """``rule NAME on … if … and … then …``. All conditions must hold (there may be none);
    ``actions`` is not empty. ``position`` is that of the name.
    """

    name: str
    trigger: Trigger
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]


Rule: TypeAlias = MappingRule | SemanticRule


class Prefix(SyntaxNode):
    """``prefix name: <iri>`` (``name`` without the colon, may be empty)."""

    name: str
    iri: str


class Base(SyntaxNode):
    """``base <iri>``: the base of relative IRIs, in the file and in its messages."""

    iri: str


class XmlNamespace(SyntaxNode):
    """``xmlns name = "uri"``: a namespace prefix for the XPaths of the file."""

    name: str
    uri: str


class LookupTable(SyntaxNode):
    """``table NAME from "file.csv" key "column" value "column"``: a lookup table; ``path`` is
    relative to the rule file.
    """

    name: str
    path: str
    key: str
    value: str


class MessageEach(SyntaxNode):
    """``message each {…}``: the elements of a document that are separate messages."""

    xpath: Hole


class RuleFile(Frozen):
    """A rule file: its declarations, then its rules in order; ``file`` is for error messages.
    ``bases`` has one member at most, once the file is checked.
    """

    prefixes: tuple[Prefix, ...]
    xml_namespaces: tuple[XmlNamespace, ...]
    rules: tuple[Rule, ...]
    file: str = field(default="", compare=False)
    tables: tuple[LookupTable, ...] = ()
    parts: tuple[MessageEach, ...] = ()
    bases: tuple[Base, ...] = ()

    @property
    def mapping_rules(self) -> tuple[MappingRule, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, MappingRule))

    @property
    def semantic_rules(self) -> tuple[SemanticRule, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, SemanticRule))

    @property
    def prefix_map(self) -> dict[str, str]:
        """Prefix to IRI; ``xsd``, ``rdf``, ``rdfs`` and ``owl`` must be declared like any other."""
        return {prefix.name: self.absolute(prefix.iri) for prefix in self.prefixes}

    @property
    def base(self) -> str | None:
        """The base of relative IRIs; None: the file has only absolute ones."""
        return self.bases[0].iri if self.bases else None

    @property
    def namespace_map(self) -> dict[str, str]:
        """XML namespace prefix to URI, in lxml's form; ``xsi`` needs no declaration."""
        declared = {namespace.name: namespace.uri for namespace in self.xml_namespaces}
        return {"xsi": XML_SCHEMA_INSTANCE} | declared

    def resolve(self, name: WrittenName) -> IRI:
        """The IRI of a name without holes, whose prefix is declared."""
        written = "".join(part for part in name.parts if isinstance(part, str))
        if name.prefix is None:
            return IRI(self.absolute(written))
        return IRI(self.prefix_map[name.prefix] + written)

    def head(self, name: WrittenName) -> tuple[Part, ...]:
        """The parts of a name with holes, with prefix or base: the first one makes it absolute."""
        if name.prefix is not None:
            return (self.prefix_map[name.prefix], *name.parts)
        first, *rest = name.parts
        assert isinstance(first, str), "parse refuses an IRI that begins with a hole"
        # A digit stands for the hole, so that no dot before it is taken for a whole segment.
        return (self.absolute(f"{first}0")[:-1], *rest)

    def absolute(self, iri: str) -> str:
        """An IRI, resolved against the base of the file if there is one (RFC 3986, section 5.2)."""
        return iri if self.base is None else resolve(self.base, iri)
