"""Text to syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lark import Token, Transformer
from lark.exceptions import UnexpectedToken

from sensorstream.errors import LanguageError, Position
from sensorstream.grammars import Grammar, one_of, unexpected
from sensorstream.language import syntax
from sensorstream.language.rule_lexer import KEYWORDS, LexedText, RuleLexer
from sensorstream.language.value_holes import call, split
from sensorstream.language.wellformed import faults, place
from sensorstream.model.events import SEVERITIES
from sensorstream.model.schedules import DAYS

_TIME_OF_DAY: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?")


def parse(text: str, file: str = "") -> syntax.RuleFile:
    """The tree of a rule file; ``file`` names it in errors.

    Raises:
        LanguageError: at the first unexpected token (with the expected ones), or for a tree without
            a meaning (undeclared prefix, two rules with the same name, …).
    """
    tree, found = parse_with_faults(text, file)
    for fault in found:
        raise fault
    return tree


def parse_with_faults(
    text: str, file: str = ""
) -> tuple[syntax.RuleFile, tuple[LanguageError, ...]]:
    """The tree of a rule file, and all its faults. After a syntax error, which is then the only
    fault, the tree is empty. A tree with faults can only be printed.
    """
    try:
        parsed = syntax_tree(text, file)
    except LanguageError as error:
        return syntax.RuleFile((), (), (), file), (error,)
    return parsed, tuple(sorted(faults(parsed), key=place))


def syntax_tree(text: str, file: str = "") -> syntax.RuleFile:
    """The tree of a rule file, which may still lack a meaning.

    Raises:
        LanguageError: at the first unexpected token.
    """
    source = LexedText(text, file)
    try:
        return cast(syntax.RuleFile, GRAMMAR.read(source, _Builder(source)))
    except UnexpectedToken as error:
        raise _unexpected(source, error) from None


GRAMMAR: Final = Grammar("sensorstream.language", RuleLexer)


_PLAIN: Final = {
    "HOLE": "an XPath in braces",
    "SPARQL_TEXT": "SPARQL in braces",
    "TEXT": 'a "text"',
    "LOCAL_NAME": "a name such as :Human",
    "NAMESPACE": "a prefix such as ex:",
    "IRI": "an <iri>",
    "NUMBER": "a number",
    "NAME": "a word",
    "VARIABLE": "a ?variable",
    "NODE_VARIABLE": "a $variable",
    "LANGUAGE": "a language such as @en",
    "LANGUAGE_HOLE": "a language such as @{lang}",
    "COMPARISON": "a comparison such as >",
    "EQUALS": "'='",
    "_DATATYPE": "'^^'",
    "_SEMICOLON": "';'",
    "_COMMA": "','",
    "_DOT": "'.'",
    "OPEN": "'['",
    "_CLOSE": "']'",
    "OPEN_LIST": "'('",
    "_CLOSE_LIST": "')'",
    "BLANK_NAME": "a node such as _:place",
    "$END": "the end of the file",
} | {kind: f"'{word}'" for word, kind in KEYWORDS.items()}


def _unexpected(source: LexedText, error: UnexpectedToken) -> LanguageError:
    accepted = set(error.accepts or error.expected)
    if {"LOCAL_NAME", "NAMESPACE", "IRI"} <= accepted:
        accepted -= {"NAMESPACE", "IRI"}
    # Keywords come first, then the kinds of token, then the end of the file.
    words = sorted(
        (_PLAIN[kind] for kind in accepted),
        key=lambda word: (word == _PLAIN["$END"], word[0] != "'", word),
    )
    message, position = unexpected(source, error, "the file", f"expected {one_of(words)}")
    return LanguageError(message, position=position)


_HOLE_IN_TEXT: Final = re.compile(r"""\{\{|\}\}|\\(?:.|\n)|\{((?:[^{}'"]|'[^']*'|"[^"]*")*)\}""")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


_Language: TypeAlias = str | syntax.Hole | None


def _node(kind: type[syntax.SyntaxNode]) -> Callable[[_Builder, list[Any]], syntax.SyntaxNode]:
    def made(self: _Builder, children: list[Any]) -> syntax.SyntaxNode:
        word, *fields = children
        return kind(*map(self._field, fields), position=self._at(word))

    return made


class _Builder(Transformer[Token, Any]):
    """The transformer of the parse tree: a method for each rule of the grammar, bottom up."""

    def __init__(self, source: LexedText) -> None:
        super().__init__()
        self._source = source

    # Nodes that keep a word's place and the fields behind it

    message_each = _node(syntax.MessageEach)
    on_change, on_message = _node(syntax.OnChange), _node(syntax.OnMessage)
    on_insert, on_expire = _node(syntax.OnInsert), _node(syntax.OnExpire)
    on_update, every = _node(syntax.OnUpdate), _node(syntax.Every)
    exists, select, ask = (
        _node(syntax.ExistsCondition),
        _node(syntax.SelectCondition),
        _node(syntax.AskCondition),
    )
    delete_individual = _node(syntax.DeleteIndividual)
    delete_pattern = _node(syntax.DeletePattern)
    sparql_update, reply = _node(syntax.SparqlUpdate), _node(syntax.Reply)
    known_name, known_by = _node(syntax.KnownName), _node(syntax.KnownBy)

    def _maybe(self, children: list[Any]) -> Any:
        """The optional field behind a word, or None."""
        return self._field(children[-1]) if children else None

    named = old = new = asked = until = key = graph = at = _maybe

    def _all(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(map(self._field, children))

    guards = conditions = classes = _all

    def _field(self, child: Any) -> Any:
        match child:
            case Token(type="HOLE"):
                return self._hole(child)
            case Token(type="SPARQL_TEXT"):
                return self._sparql(child)
            case Token(type="TEXT"):
                return self._template(child)
        return child

    # Pieces of tokens

    def _at(self, token: Token) -> Position:
        return self._source.position(token.start_pos or 0)

    def _inner(self, offset: int, written: str) -> tuple[str, Position]:
        """The text without outer space, and where it starts; ``written`` starts at ``offset``."""
        cut = written.strip()
        return cut, self._source.position(offset + written.find(cut))

    def _hole(self, token: Token) -> syntax.Hole:
        return self._hole_at((token.start_pos or 0) + 1, token.value[1:-1])

    def _hole_at(self, offset: int, written: str) -> syntax.Hole:
        expression, *rest = split(written)
        text, position = self._inner(offset, expression.text)
        if not text:
            raise LanguageError("the braces are empty: expected an expression", position=position)
        calls = tuple(call(self._source, offset + part.offset, part.text) for part in rest)
        return syntax.Hole(text, calls, position=position)

    def _sparql(self, token: Token) -> syntax.Sparql:
        text, position = self._inner((token.start_pos or 0) + 1, token.value[1:-1])
        if not text:
            raise LanguageError("the braces are empty: expected SPARQL", position=position)
        return syntax.Sparql(text, position=position)

    def _parts(self, written: str, offset: int, *, escapes: bool) -> tuple[syntax.Part, ...]:
        parts: list[syntax.Part] = []
        plain: list[str] = []

        def flush() -> None:
            if text := "".join(plain):
                parts.append(text)
            plain.clear()

        done = 0
        for match in _HOLE_IN_TEXT.finditer(written):
            plain.append(written[done : match.start()])
            done = match.end()
            piece = match.group()
            if match.group(1) is not None:
                flush()
                parts.append(self._hole_at(offset + match.start() + 1, match.group(1)))
            elif piece in ("{{", "}}"):
                plain.append(piece[0])
            elif escapes and piece[1] in _ESCAPES:
                plain.append(_ESCAPES[piece[1]])
            else:
                raise LanguageError(
                    f"unknown escape '{piece}': expected one of " + r"\n \r \t \" \\",
                    position=self._source.position(offset + match.start()),
                )
        plain.append(written[done:])
        flush()
        return tuple(parts)

    def _template(self, token: Token) -> syntax.TextTemplate:
        quote = 3 if token.value.startswith('"""') else 1
        written = token.value[quote:-quote]
        parts = self._parts(written, (token.start_pos or 0) + quote, escapes=True)
        return syntax.TextTemplate(parts, position=self._at(token))

    def _constant(self, token: Token, what: str) -> str:
        template = self._template(token)
        if any(isinstance(part, syntax.Hole) for part in template.parts):
            raise LanguageError(f"{what} has no holes", position=template.position)
        return "".join(cast(tuple[str, ...], template.parts))

    def name(self, children: list[Token]) -> syntax.WrittenName:
        (token,) = children
        start = token.start_pos or 0
        if token.type == "IRI":
            parts = self._parts(token.value[1:-1], start + 1, escapes=False)
            return syntax.WrittenName(None, parts, position=self._at(token))
        prefix, local = token.value.split(":", 1)
        parts = self._parts(local, start + len(prefix) + 1, escapes=False)
        return syntax.WrittenName(prefix, parts, position=self._at(token))

    def blank_name(self, children: list[Token]) -> syntax.BlankName:
        (token,) = children
        start = (token.start_pos or 0) + 2
        parts = self._parts(token.value[2:], start, escapes=False)
        return syntax.BlankName(parts, position=self._at(token))

    def variable(self, children: list[Token]) -> syntax.RuleVariable:
        return syntax.RuleVariable(children[0].value[1:], position=self._at(children[0]))

    def _duration(self, token: Token) -> syntax.WrittenDuration:
        return syntax.WrittenDuration(
            self._constant(token, "a length of time"), position=self._at(token)
        )

    # Files

    def start(self, children: list[Any]) -> syntax.RuleFile:
        def of(*kinds: type) -> tuple[Any, ...]:
            return tuple(child for child in children if isinstance(child, kinds))

        return syntax.RuleFile(
            prefixes=of(syntax.Prefix),
            xml_namespaces=of(syntax.XmlNamespace),
            rules=of(syntax.MappingRule, syntax.SemanticRule),
            file=self._source.file,
            tables=of(syntax.LookupTable),
            parts=of(syntax.MessageEach),
            bases=of(syntax.Base),
        )

    def base(self, children: list[Token]) -> syntax.Base:
        (iri,) = children
        return syntax.Base(self._without_holes(iri, "a base"), position=self._at(iri))

    def prefix(self, children: list[Token]) -> syntax.Prefix:
        namespace, iri = children
        written = self._without_holes(iri, "a prefix's IRI")
        return syntax.Prefix(namespace.value[:-1], written, position=self._at(namespace))

    def _without_holes(self, iri: Token, what: str) -> str:
        if "{" in iri.value:
            raise LanguageError(f"{what} has no holes", position=self._at(iri))
        return str(iri.value[1:-1])

    def xmlns(self, children: list[Token]) -> syntax.XmlNamespace:
        name, _, uri = children
        written = self._constant(uri, "a namespace")
        return syntax.XmlNamespace(name.value, written, position=self._at(name))

    def table(self, children: list[Token]) -> syntax.LookupTable:
        name, path, key, value = children
        return syntax.LookupTable(
            name.value,
            self._constant(path, "a file's name"),
            self._constant(key, "a column's name"),
            self._constant(value, "a column's name"),
            position=self._at(name),
        )

    # Mapping rules

    def mapping_rule(self, children: list[Any]) -> syntax.MappingRule:
        name, _, message, *rest = children
        loops = tuple(child for child in rest if isinstance(child, syntax.ForEach))
        lets = tuple(child for child in rest if isinstance(child, syntax.Let))
        guards, *actions = rest[len(loops) + len(lets) :]
        return syntax.MappingRule(
            name.value,
            self._hole(message),
            loops,
            guards,
            tuple(actions),
            lets,
            position=self._at(name),
        )

    def for_each(self, children: list[Token]) -> syntax.ForEach:
        variable, xpath = children
        return syntax.ForEach(variable.value[1:], self._hole(xpath), position=self._at(variable))

    def let(self, children: list[Token]) -> syntax.Let:
        variable, _, value = children
        return syntax.Let(variable.value[1:], self._hole(value), position=self._at(variable))

    # Semantic rules

    def semantic_rule(self, children: list[Any]) -> syntax.SemanticRule:
        name, trigger, conditions, *actions = children
        return syntax.SemanticRule(
            name.value, trigger, conditions, tuple(actions), position=self._at(name)
        )

    def on_silence(self, children: list[Any]) -> syntax.OnSilence:
        word, class_name, variable, duration = children
        given = {} if variable is None else {"variable": variable}
        return syntax.OnSilence(
            class_name, self._duration(duration), **given, position=self._at(word)
        )

    def local_time(self, children: list[Token]) -> syntax.LocalTime:
        day, time, zone = children
        if day.value not in DAYS:
            raise LanguageError(
                f"unknown day '{day.value}': expected {', '.join(DAYS[:-1])} or {DAYS[-1]}",
                position=self._at(day),
            )
        shown = self._constant(time, "a time of day")
        if not _TIME_OF_DAY.fullmatch(shown):
            raise LanguageError(
                f"'{shown}' is not a time of day: expected one such as 07:00 or 23:59:59",
                position=self._at(time),
            )
        place = self._constant(zone, "a time zone")
        try:
            ZoneInfo(place)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise LanguageError(
                f"there is no time zone '{place}': expected one such as Europe/Vienna or UTC",
                position=self._at(zone),
            ) from None
        return syntax.LocalTime(day.value, shown, place, position=self._at(day))

    def when(self, children: list[Any]) -> syntax.When:
        word, condition, _, lasting, until = children
        return syntax.When(condition, lasting, until, position=self._at(word))

    def negated(self, children: list[Any]) -> syntax.Condition:
        word, test = children
        return cast(syntax.Condition, replace(test, negated=True, position=self._at(word)))

    def count_members(self, children: list[Any]) -> syntax.CountCondition:
        word, class_name, comparison, number = children
        if not number.value.isdecimal():
            raise LanguageError(
                f"'{number.value}' is not a count: expected digits", position=self._at(number)
            )
        return syntax.CountCondition(
            class_name, comparison, int(number.value), position=self._at(word)
        )

    def comparison(self, children: list[Token]) -> str:
        return str(children[0].value)

    def alert(self, children: list[Any]) -> syntax.AlertAction:
        word, severity, text, key, duration = children
        if severity.value not in SEVERITIES:
            raise LanguageError(
                f"unknown severity '{severity.value}': expected info, warning or critical",
                position=self._at(severity),
            )
        return syntax.AlertAction(
            severity.value, self._template(text), key, duration, position=self._at(word)
        )

    def lasting(self, children: list[Token]) -> syntax.WrittenDuration | None:
        return self._duration(children[0]) if children else None

    multiples = lasting

    # Both

    def individual_action(self, children: list[Any]) -> syntax.IndividualAction:
        kind, name, classes, graph, at, *properties = children
        return syntax.IndividualAction(
            kind.value, name, classes, tuple(properties), at, graph, position=self._at(kind)
        )

    def property(self, children: list[Any]) -> syntax.PropertyValues:
        name, *values = children
        return syntax.PropertyValues(name, tuple(values), position=name.position)

    def xpath_value(self, children: list[Any]) -> syntax.XPathValue:
        token, (datatype, language) = children
        return syntax.XPathValue(self._hole(token), datatype, language, position=self._at(token))

    def text_value(self, children: list[Any]) -> syntax.TextValue:
        token, (datatype, language) = children
        return syntax.TextValue(self._template(token), datatype, language, position=self._at(token))

    def annotation(self, children: list[Any]) -> tuple[syntax.WrittenName | None, _Language]:
        if not children:
            return None, None
        (written,) = children
        if not isinstance(written, Token):
            return written, None
        if written.type == "LANGUAGE":
            return None, str(written.value[1:])
        return None, self._hole_at((written.start_pos or 0) + 2, written.value[2:-1])

    def number(self, children: list[Token]) -> syntax.WrittenNumber:
        return syntax.WrittenNumber(children[0].value, position=self._at(children[0]))

    def list_value(self, children: list[Any]) -> syntax.ListValue:
        opening, *items = children
        return syntax.ListValue(tuple(items), position=self._at(opening))

    def if_valid(self, children: list[Any]) -> syntax.Fallback:
        value, otherwise = children if len(children) == 2 else (*children, None)
        return syntax.Fallback(value, True, otherwise, position=value.position)

    def fallback(self, children: list[Any]) -> syntax.Fallback:
        value, otherwise = children
        return syntax.Fallback(value, False, otherwise, position=value.position)

    def policy(self, children: list[Token]) -> syntax.MissingPolicy:
        kind: Literal["skip individual", "reject"] = (
            "reject" if children[0].type == "REJECT" else "skip individual"
        )
        return syntax.MissingPolicy(kind, position=self._at(children[0]))

    def blank(self, children: list[Any]) -> syntax.BlankValue:
        opening, (classes, properties) = children
        return syntax.BlankValue(classes, properties, position=self._at(opening))

    def classes_and_properties(
        self, children: list[Any]
    ) -> tuple[tuple[syntax.WrittenName, ...], tuple[syntax.PropertyValues, ...]]:
        classes = tuple(child for child in children if isinstance(child, syntax.WrittenName))
        return classes, tuple(child for child in children if child not in classes)


# The good rules of a file with faults, so that all faults are found at once


_RULE: Final = re.compile(r"^[ \t]*(?:mapping|rule)[ \t]+[^\W\d]", re.M)


def rule_starts(text: str) -> list[int]:
    """The offsets of the lines on which rules seem to begin, whatever stands between them."""
    return [match.start() for match in _RULE.finditer(text)]


def parse_with_recovery(
    text: str, file: str = ""
) -> tuple[syntax.RuleFile | None, tuple[LanguageError, ...]]:
    """The tree of the rules without faults, and the faults of the others. A syntax error ends where
    the next rule begins. The tree is None if the fault is in the head, on which all rules depend.
    """
    found: list[LanguageError] = []
    try:
        tree: syntax.RuleFile | None = syntax_tree(text, file)
    except LanguageError as error:
        tree, found = _pieces(text, file, error)
    if tree is None:
        return None, tuple(found)
    unsound = sorted(faults(tree), key=place)
    faulty = {_index(tree.rules, fault) for fault in unsound}
    found = sorted((*found, *unsound), key=place)
    if -1 in faulty:
        return None, tuple(found)
    kept = tuple(rule for index, rule in enumerate(tree.rules) if index not in faulty)
    return replace(tree, rules=kept), tuple(found)


def _pieces(
    text: str, file: str, first: LanguageError
) -> tuple[syntax.RuleFile | None, list[LanguageError]]:
    """The head and the rules, each read by itself; ``first`` is the fault of the whole."""
    head: syntax.RuleFile | None = None
    rules: list[syntax.Rule] = []
    found: list[LanguageError] = []
    for index, piece in enumerate(_split(text)):
        try:
            tree = syntax_tree(piece, file)
        except LanguageError as error:
            # The first rule keeps the error of the whole file, which says more about what follows.
            error.message = error.message.replace("the file ends here", "the rule ends here")
            found.append(error if found else first)
            continue
        head = tree if index == 0 else head
        rules += tree.rules
    if not found:  # each rule is right by itself, but not where it stands
        return None, [first]
    return (None if head is None else replace(head, rules=tuple(rules))), found


def _split(text: str) -> Iterator[str]:
    """The head, then the rules, each with empty lines before it: lines keep their numbers."""
    starts = [0, *(start for start in rule_starts(text) if start)]
    if rule_starts(text)[:1] == [0]:
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield "\n" * text.count("\n", 0, start) + text[start:end]


def _index(rules: tuple[syntax.Rule, ...], fault: LanguageError) -> int:
    """The rule that a fault is in; -1 is the head of the file."""
    starts = [(rule.position.line, rule.position.column) for rule in rules]
    _, line, column = place(fault)
    return bisect_right(starts, (line, column)) - 1
