"""Sample messages, and the values that the XPath before a place of an open rule finds in them.

They are the files that a comment ``# sample: messages/*.xml`` of the rule file names (relative to
it), else those of the folder ``messages`` beside the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lark import Token
from lxml import etree

from sensorstream.errors import LanguageError, MessageError, NotMovable
from sensorstream.language.syntax import RuleFile
from sensorstream.language.value_holes import split
from sensorstream.mapping.document_parts import compile_split
from sensorstream.mapping.moved_paths import ROOT, at_part
from sensorstream.mapping.xml_document import Element, parse_document
from sensorstream.mapping.xpath_tree import TOKEN
from sensorstream.model.frozen import frozen, replace

_NAMED: Final = re.compile(r"^[ \t]*#[ \t]*sample:[ \t]*(\S.*?)[ \t]*$", re.M)
_MOST_FILES: Final = 20
_MOST_BYTES: Final = 1 << 20
_MOST_NODES: Final = 2000
_MOST_MESSAGES: Final = 100
_DEPTH: Final = 200


def sample_files(rules: Path, text: str, folder: Path) -> list[Path]:
    """The sample messages of a rule file with that text; ``folder`` is that of the settings."""
    found: list[Path] = []
    for pattern in _NAMED.findall(text):
        try:
            found += sorted(rules.parent.glob(pattern))
        except (ValueError, NotImplementedError):  # no pattern, or an absolute one
            found.append(Path(pattern))
    if not found:
        found = sorted((folder / "messages").glob("*.xml"))
    return [file for file in found if file.is_file()][:_MOST_FILES]


def read_samples(files: Iterable[Path]) -> list[Element]:
    """The root elements of the messages, without those that are too large or no XML."""
    roots: list[Element] = []
    room = _MOST_BYTES
    for file in files:
        try:
            if (size := file.stat().st_size) > room:
                continue
            roots.append(parse_document(file.read_bytes(), max_depth=_DEPTH).getroot())
        except (OSError, MessageError):
            continue
        room -= size
    return roots


@frozen
class SampleScope:
    """The scope of the expression in a hole: context nodes, and the variables' values."""

    nodes: Sequence[object]
    variables: Mapping[str, object]
    namespaces: Mapping[str, str]

    def find(self, path: str) -> list[object]:
        """The values that a path finds from any of the context nodes; none if it is no XPath."""
        found: dict[object, object] = {}
        for value in self._evaluated(path):
            for each in value if isinstance(value, list) else [value]:
                if len(found) < _MOST_NODES:
                    found.setdefault(_identity(each), each)
        return list(found.values())

    def _evaluated(self, path: str) -> Iterator[object]:
        namespaces = dict(self.namespaces) or None
        try:
            # Only an expression without fault can be changed.
            etree.XPath(path, namespaces=namespaces)
            written = at_part(path) if ROOT in self.variables else path
            compiled = etree.XPath(written, namespaces=namespaces)
        except (etree.XPathSyntaxError, NotMovable):
            return
        given: dict[str, Any] = {name: _given(value) for name, value in self.variables.items()}
        for node in self.nodes:
            if isinstance(node, Element):
                try:
                    yield compiled(node, **given)
                except etree.XPathError:
                    return


def scope_of(tokens: Sequence[Token], roots: Sequence[Element], head: RuleFile) -> SampleScope:
    """The scope behind the tokens of a rule; ``head`` declares namespaces and messages."""
    last = tokens[-1].type if tokens else ""
    before = tokens[-2].type if len(tokens) > 1 else ""
    if (before, last) == ("MESSAGE", "_EACH"):
        return SampleScope(roots, {}, head.namespace_map)
    messages = _parts(roots, head)
    # Absolute paths begin at the message, so also at any of them.
    scope = SampleScope(messages, {ROOT: messages} if head.parts else {}, head.namespace_map)
    variable = ""
    for kind, token in zip(("", *(each.type for each in tokens)), tokens, strict=False):
        if token.type == "NODE_VARIABLE":
            variable = token.value[1:]
        elif token.type == "HOLE" and kind == "MESSAGE":
            scope = replace(scope, nodes=scope.find(_path(token)))
        elif token.type == "HOLE" and variable:
            found = {**scope.variables, variable: scope.find(_path(token))}
            scope, variable = replace(scope, variables=found), ""
    return scope


def _parts(roots: Sequence[Element], head: RuleFile) -> list[Element]:
    try:
        parts = compile_split([head])
    except etree.XPathError:
        return list(roots)
    if parts is None:
        return list(roots)
    found: list[Element] = []
    for root in roots:
        try:
            found += parts(root) or [root]
        except (etree.XPathError, LanguageError):
            found.append(root)
    return found[:_MOST_MESSAGES]


def _path(hole: Token) -> str:
    return split(hole.value[1:-1])[0].text.strip()


def _given(value: object) -> object:
    """A value as lxml takes it: a list of elements, or a text."""
    if isinstance(value, list) and not all(isinstance(each, Element) for each in value):
        return value[0]
    return value


def _identity(found: object) -> object:
    """The identity of a node: lxml makes a new text for each evaluation of an attribute."""
    if isinstance(found, Element):
        return id(found)
    parent = getattr(found, "getparent", lambda: None)()
    return (found, None) if parent is None else (id(parent), getattr(found, "attrname", None))


_MOST_VALUES: Final = 3
_LONGEST: Final = 40


@frozen
class LastPath:
    """The path at the end of an expression: ``base`` up to its last slash, ``step`` behind it;
    ``filtered`` are the paths before the open brackets around it, from outside to inside.
    """

    filtered: tuple[str, ...]
    base: str
    step: str

    def scope(self, outside: SampleScope) -> SampleScope:
        """The context nodes of the path: those that the filtered paths find."""
        scope = outside
        for path in self.filtered:
            scope = replace(scope, nodes=scope.find(path))
        return scope


_STEP: Final = re.compile(r"[@$]?[\w.:-]*\Z")


def last_path(expression: str) -> LastPath | None:
    """The path at the end of an expression; None where no path can go on, as inside a text."""
    step = _STEP.search(expression)
    assert step is not None
    before = expression[: step.start()]
    start = offset = 0
    is_operand = False
    open_at: list[tuple[str, int]] = []
    while offset < len(before):
        match = TOKEN.match(before, offset)
        if match is None:
            return None
        end, text = match.end(), match.group()
        if match["space"] is not None:
            pass
        elif text in ("/", "//", "::", "@"):
            is_operand = False
        elif text in ("[", "("):
            open_at.append((before[start:offset].strip() if text == "[" else "", start))
            start, is_operand = end, False
        elif text in ("]", ")"):
            if not open_at:
                return None
            start, is_operand = open_at.pop()[1], True
        elif (
            text in (".", "..")
            or match["literal"]
            or match["number"]
            or ((match["name"] or match["variable"] or text == "*") and not is_operand)
        ):
            is_operand = True
        else:  # an operator, maybe a word
            start, is_operand = end, False
        offset = end
    base = before[start:].strip()
    if is_operand and base:
        return None
    return LastPath(tuple(path for path, _ in open_at if path), base, step.group())


@frozen
class SampleStep:
    """An element or attribute that the next step of a path may find; ``name`` is its XPath,
    ``count`` and ``values`` are those of the sample messages.
    """

    name: str
    count: int
    values: tuple[str, ...]


def next_steps(path: LastPath, outside: SampleScope) -> Iterator[SampleStep]:
    """The steps that may follow the last slash, with the prefixes that the file declares."""
    scope = path.scope(outside)
    elements, attributes = f"{path.base}*", f"{path.base}@*"
    found: dict[str, list[str]] = {}
    prefixes = {uri: prefix for prefix, uri in scope.namespaces.items()}
    for node in scope.find(elements):
        if isinstance(node, Element):
            name = _written(node.tag, prefixes)
            found.setdefault(name, []).append((node.text or "").strip())
    for node in scope.find(attributes):
        if attribute := getattr(node, "attrname", None):
            found.setdefault(f"@{_written(attribute, prefixes)}", []).append(str(node))
    for name, values in found.items():
        if not name.endswith(":"):
            yield SampleStep(name, len(values), shown_values(values))


def _written(tag: object, prefixes: dict[str, str]) -> str:
    """A name as XPath writes it; it ends with a colon if its namespace has no prefix."""
    name = etree.QName(str(tag))
    if not name.namespace:
        return name.localname
    prefix = prefixes.get(name.namespace)
    return ":" if prefix is None else f"{prefix}:{name.localname}"


def shown_values(values: Sequence[object]) -> tuple[str, ...]:
    """A few different values, shortened."""
    texts = dict.fromkeys(text for value in values if (text := _text(value)))
    return tuple(texts)[:_MOST_VALUES]


def _text(value: object) -> str:
    if isinstance(value, Element):
        text = (value.text or "").strip() or f"<{etree.QName(value).localname}>"
    else:
        text = str(value).strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
