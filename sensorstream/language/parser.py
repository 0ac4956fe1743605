"""Text to syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Literal, TypeAlias, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lark import Token, Transformer
from lark.exceptions import UnexpectedToken, VisitError

from sensorstream.errors import LanguageError, Position
from sensorstream.grammars import Grammar
from sensorstream.language import syntax
from sensorstream.language.hole import call, split
from sensorstream.language.lexer import KEYWORDS, RuleLexer, RuleText
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
    """The tree of a rule file, and all its faults.

    After a syntax error, which is then the only fault, the tree is empty. A tree with faults can
    only be printed.
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
    source = RuleText(text, file)
    try:
        tree = _lark().parse(cast(str, source))
        return cast(syntax.RuleFile, _Builder(source).transform(tree))
    except UnexpectedToken as error:
        raise _unexpected(source, error) from None
    except VisitError as error:
        if isinstance(error.orig_exc, LanguageError):
            raise error.orig_exc from None
        raise


def expected_after(before: Iterable[Token]) -> frozenset[str]:
    """The kinds of token that may follow the tokens of a file so far; none if these do not fit."""
    parser = _lark().parse_interactive()
    try:
        for token in before:
            parser.feed_token(token)
    except UnexpectedToken:
        return frozenset()
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


GRAMMAR: Final = Grammar("sensorstream.language", RuleLexer)
_lark = cache(GRAMMAR.parser)


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


def _unexpected(source: RuleText, error: UnexpectedToken) -> LanguageError:
    accepted = set(error.accepts or error.expected)
    if {"LOCAL_NAME", "NAMESPACE", "IRI"} <= accepted:
        accepted -= {"NAMESPACE", "IRI"}
    # Keywords first, then the kinds of token, then the end of the file.
    words = sorted(
        (_PLAIN[kind] for kind in accepted),
        key=lambda word: (word == _PLAIN["$END"], word[0] != "'", word),
    )
    expected = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    token = error.token
    if token.type == "$END":
        position = source.position(len(source.text.rstrip()))
        return LanguageError(f"the file ends here: expected {expected}", position=position)
    shown = token.value if len(token.value) <= 40 else f"{token.value[:40]}…"
    return LanguageError(
        f"unexpected '{shown}': expected {expected}",
        position=Position(source.file, token.line or 1, token.column or 1),
    )


_HOLE_IN_TEXT: Final = re.compile(r"""\{\{|\}\}|\\(?:.|\n)|\{((?:[^{}'"]|'[^']*'|"[^"]*")*)\}""")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


_Language: TypeAlias = str | syntax.Hole | None


class _Builder(Transformer[Token, Any]):
    """One method for each rule of the grammar, bottom up."""

    def __init__(self, source: RuleText) -> None:
        super().__init__()
        self._source = source

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
        return syntax.Hole(text, calls, position)

    def _sparql(self, token: Token) -> syntax.Sparql:
        text, position = self._inner((token.start_pos or 0) + 1, token.value[1:-1])
        if not text:
            raise LanguageError("the braces are empty: expected SPARQL", position=position)
        return syntax.Sparql(text, position)

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

    def _template(self, token: Token) -> syntax.Template:
        quote = 3 if token.value.startswith('"""') else 1
        written = token.value[quote:-quote]
        parts = self._parts(written, (token.start_pos or 0) + quote, escapes=True)
        return syntax.Template(parts, self._at(token))

    def _constant(self, token: Token, what: str) -> str:
        template = self._template(token)
        if any(isinstance(part, syntax.Hole) for part in template.parts):
            raise LanguageError(f"{what} has no holes", position=template.position)
        return "".join(cast(tuple[str, ...], template.parts))

    def name(self, children: list[Token]) -> syntax.Name:
        (token,) = children
        start = token.start_pos or 0
        if token.type == "IRI":
            parts = self._parts(token.value[1:-1], start + 1, escapes=False)
            return syntax.Name(None, parts, self._at(token))
        prefix, local = token.value.split(":", 1)
        parts = self._parts(local, start + len(prefix) + 1, escapes=False)
        return syntax.Name(prefix, parts, self._at(token))

    def blank_name(self, children: list[Token]) -> syntax.BlankName:
        (token,) = children
        start = (token.start_pos or 0) + 2
        parts = self._parts(token.value[2:], start, escapes=False)
        return syntax.BlankName(parts, self._at(token))

    def variable(self, children: list[Token]) -> syntax.Variable:
        return syntax.Variable(children[0].value[1:], self._at(children[0]))

    def _duration(self, token: Token) -> syntax.Duration:
        return syntax.Duration(self._constant(token, "a length of time"), self._at(token))

    # Files

    def start(self, children: list[Any]) -> syntax.RuleFile:
        def of(*kinds: type) -> tuple[Any, ...]:
            return tuple(child for child in children if isinstance(child, kinds))

        return syntax.RuleFile(
            prefixes=of(syntax.Prefix),
            xml_namespaces=of(syntax.XmlNamespace),
            rules=of(syntax.MappingRule, syntax.SemanticRule),
            file=self._source.file,
            tables=of(syntax.Table),
            parts=of(syntax.MessageEach),
            bases=of(syntax.Base),
        )

    def base(self, children: list[Token]) -> syntax.Base:
        (iri,) = children
        return syntax.Base(self._without_holes(iri, "a base"), self._at(iri))

    def prefix(self, children: list[Token]) -> syntax.Prefix:
        namespace, iri = children
        written = self._without_holes(iri, "a prefix's IRI")
        return syntax.Prefix(namespace.value[:-1], written, self._at(namespace))

    def _without_holes(self, iri: Token, what: str) -> str:
        if "{" in iri.value:
            raise LanguageError(f"{what} has no holes", position=self._at(iri))
        return str(iri.value[1:-1])

    def xmlns(self, children: list[Token]) -> syntax.XmlNamespace:
        name, _, uri = children
        written = self._constant(uri, "a namespace")
        return syntax.XmlNamespace(name.value, written, self._at(name))

    def table(self, children: list[Token]) -> syntax.Table:
        name, path, key, value = children
        return syntax.Table(
            name.value,
            self._constant(path, "a file's name"),
            self._constant(key, "a column's name"),
            self._constant(value, "a column's name"),
            self._at(name),
        )

    def message_each(self, children: list[Token]) -> syntax.MessageEach:
        word, xpath = children
        return syntax.MessageEach(self._hole(xpath), self._at(word))

    # Mapping rules

    def mapping_rule(self, children: list[Any]) -> syntax.MappingRule:
        name, _, message, *rest = children
        loops = tuple(child for child in rest if isinstance(child, syntax.ForEach))
        lets = tuple(child for child in rest if isinstance(child, syntax.Let))
        guards, *actions = rest[len(loops) + len(lets) :]
        return syntax.MappingRule(
            name.value, self._hole(message), loops, guards, tuple(actions), self._at(name), lets
        )

    def for_each(self, children: list[Token]) -> syntax.ForEach:
        variable, xpath = children
        return syntax.ForEach(variable.value[1:], self._hole(xpath), self._at(variable))

    def let(self, children: list[Token]) -> syntax.Let:
        variable, _, value = children
        return syntax.Let(variable.value[1:], self._hole(value), self._at(variable))

    def guards(self, children: list[Token]) -> tuple[syntax.Hole, ...]:
        return tuple(self._hole(token) for token in children)

    # Semantic rules

    def semantic_rule(self, children: list[Any]) -> syntax.SemanticRule:
        name, trigger, conditions, *actions = children
        return syntax.SemanticRule(name.value, trigger, conditions, tuple(actions), self._at(name))

    def on_change(self, children: list[Token]) -> syntax.OnChange:
        return syntax.OnChange(self._at(children[0]))

    def on_message(self, children: list[Token]) -> syntax.OnMessage:
        return syntax.OnMessage(self._at(children[0]))

    def on_insert(self, children: list[Any]) -> syntax.OnInsert:
        word, class_name, variable = children
        return syntax.OnInsert(class_name, variable, self._at(word))

    def on_expire(self, children: list[Any]) -> syntax.OnExpire:
        word, class_name, variable = children
        return syntax.OnExpire(class_name, variable, self._at(word))

    def on_silence(self, children: list[Any]) -> syntax.OnSilence:
        word, class_name, variable, duration = children
        given = {} if variable is None else {"variable": variable}
        return syntax.OnSilence(
            class_name, self._duration(duration), **given, position=self._at(word)
        )

    def on_update(self, children: list[Any]) -> syntax.OnUpdate:
        word, name, variable, old, new = children
        return syntax.OnUpdate(name, variable, old, new, self._at(word))

    def named(self, children: list[syntax.Variable]) -> syntax.Variable | None:
        return children[0] if children else None

    old = new = named

    def every(self, children: list[Any]) -> syntax.Every:
        word, schedule, question = children
        return syntax.Every(schedule, question, self._at(word))

    def multiples(self, children: list[Token]) -> syntax.Duration:
        return self._duration(children[0])

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
        return syntax.LocalTime(day.value, shown, place, self._at(day))

    def asked(self, children: list[Token]) -> syntax.Sparql | None:
        return self._sparql(children[1]) if children else None

    def when(self, children: list[Any]) -> syntax.When:
        word, condition, _, lasting, until = children
        return syntax.When(condition, lasting, until, self._at(word))

    def until(self, children: list[syntax.Condition]) -> syntax.Condition | None:
        return children[0] if children else None

    def conditions(self, children: list[syntax.Condition]) -> tuple[syntax.Condition, ...]:
        return tuple(children)

    def negated(self, children: list[Any]) -> syntax.Condition:
        word, test = children
        fields = {name: getattr(test, name) for name in test.__slots__}
        return cast(
            syntax.Condition, type(test)(**fields | {"negated": True, "position": self._at(word)})
        )

    def exists(self, children: list[Any]) -> syntax.Exists:
        word, class_name = children
        return syntax.Exists(class_name, position=self._at(word))

    def count_members(self, children: list[Any]) -> syntax.Count:
        word, class_name, comparison, number = children
        if not number.value.isdecimal():
            raise LanguageError(
                f"'{number.value}' is not a count: expected digits", position=self._at(number)
            )
        return syntax.Count(class_name, comparison, int(number.value), position=self._at(word))

    def comparison(self, children: list[Token]) -> str:
        return str(children[0].value)

    def select(self, children: list[Token]) -> syntax.Select:
        return syntax.Select(self._sparql(children[1]), position=self._at(children[0]))

    def ask(self, children: list[Token]) -> syntax.Ask:
        return syntax.Ask(self._sparql(children[1]), position=self._at(children[0]))

    def alert(self, children: list[Any]) -> syntax.AlertAction:
        word, severity, text, key, duration = children
        if severity.value not in SEVERITIES:
            raise LanguageError(
                f"unknown severity '{severity.value}': expected info, warning or critical",
                position=self._at(severity),
            )
        return syntax.AlertAction(
            severity.value, self._template(text), key, duration, self._at(word)
        )

    def key(self, children: list[Token]) -> syntax.Template | None:
        return self._template(children[0]) if children else None

    def lasting(self, children: list[Token]) -> syntax.Duration | None:
        return self._duration(children[0]) if children else None

    def delete_individual(self, children: list[Any]) -> syntax.DeleteIndividual:
        return syntax.DeleteIndividual(children[1], self._at(children[0]))

    def delete_pattern(self, children: list[Token]) -> syntax.DeletePattern:
        return syntax.DeletePattern(self._sparql(children[1]), self._at(children[0]))

    def sparql_update(self, children: list[Token]) -> syntax.SparqlUpdate:
        return syntax.SparqlUpdate(self._sparql(children[1]), self._at(children[0]))

    def reply(self, children: list[Token]) -> syntax.Reply:
        return syntax.Reply(self._template(children[1]), self._at(children[0]))

    # Both

    def individual_action(self, children: list[Any]) -> syntax.IndividualAction:
        kind, name, classes, graph, at, *properties = children
        return syntax.IndividualAction(
            kind.value, name, classes, tuple(properties), at, self._at(kind), graph
        )

    def classes(self, children: list[syntax.Name]) -> tuple[syntax.Name, ...]:
        return tuple(children)

    def graph(self, children: list[syntax.Name]) -> syntax.Name | None:
        return children[0] if children else None

    def at(self, children: list[Token]) -> syntax.Hole | None:
        return self._hole(children[0]) if children else None

    def property(self, children: list[Any]) -> syntax.PropertyValues:
        name, *values = children
        return syntax.PropertyValues(name, tuple(values), name.position)

    def xpath_value(self, children: list[Any]) -> syntax.XPathValue:
        token, (datatype, language) = children
        return syntax.XPathValue(self._hole(token), datatype, language, self._at(token))

    def text_value(self, children: list[Any]) -> syntax.TextValue:
        token, (datatype, language) = children
        return syntax.TextValue(self._template(token), datatype, language, self._at(token))

    def annotation(self, children: list[Any]) -> tuple[syntax.Name | None, _Language]:
        if not children:
            return None, None
        (written,) = children
        if not isinstance(written, Token):
            return written, None
        if written.type == "LANGUAGE":
            return None, str(written.value[1:])
        return None, self._hole_at((written.start_pos or 0) + 2, written.value[2:-1])

    def number(self, children: list[Token]) -> syntax.Number:
        return syntax.Number(children[0].value, self._at(children[0]))

    def list_value(self, children: list[Any]) -> syntax.ListValue:
        opening, *items = children
        return syntax.ListValue(tuple(items), self._at(opening))

    def known_name(self, children: list[Any]) -> syntax.KnownName:
        word, name = children
        return syntax.KnownName(name, self._at(word))

    def known_by(self, children: list[Any]) -> syntax.KnownBy:
        word, class_name, name, value = children
        return syntax.KnownBy(class_name, name, value, self._at(word))

    def if_valid(self, children: list[Any]) -> syntax.Fallback:
        value, otherwise = children if len(children) == 2 else (*children, None)
        return syntax.Fallback(value, True, otherwise, value.position)

    def fallback(self, children: list[Any]) -> syntax.Fallback:
        value, otherwise = children
        return syntax.Fallback(value, False, otherwise, value.position)

    def policy(self, children: list[Token]) -> syntax.Policy:
        kind: Literal["skip individual", "reject"] = (
            "reject" if children[0].type == "REJECT" else "skip individual"
        )
        return syntax.Policy(kind, self._at(children[0]))

    def blank(self, children: list[Any]) -> syntax.BlankValue:
        opening, (classes, properties) = children
        return syntax.BlankValue(classes, properties, self._at(opening))

    def classes_and_properties(
        self, children: list[Any]
    ) -> tuple[tuple[syntax.Name, ...], tuple[syntax.PropertyValues, ...]]:
        classes = tuple(child for child in children if isinstance(child, syntax.Name))
        return classes, tuple(child for child in children if child not in classes)
