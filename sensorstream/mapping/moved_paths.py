"""XPath expressions rewritten for another context node, and the paths that they read from there.

There are three uses. A message that is a part of a document: absolute paths of XPath begin at the
document, those of a rule at its message, so ``/a/b`` becomes ``$message.root[self::a]/b``; relative
paths that go up reach the envelope. RML has no variables: a rule's ``$person/@x`` beside
``TimeStamp/@value`` becomes ``@x`` beside ``../TimeStamp/@value``. Reports show the nodes that an
expression reads, even if its value is a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from sensorstream.errors import NotMovable
from sensorstream.mapping.xpath_tree import (
    Expression,
    Path,
    XPathCall,
    XPathFilter,
    XPathNode,
    XPathStep,
    XPathVariable,
    parse,
    parts_of,
    walk,
    written,
)

ROOT: Final = "message.root"
"""The variable of the message's root element; the variables of rules have no full stop."""

_VARIABLE: Final = f"${ROOT}"
_DOWN: Final = frozenset(("descendant", "descendant-or-self"))
_UP: Final = frozenset(
    (
        *("parent", "ancestor", "ancestor-or-self", "preceding", "preceding-sibling"),
        *("following", "following-sibling"),
    )
)
_OF_ALL_AROUND: Final = frozenset(("lang", "id"))
_OF_THE_CONTEXT: Final = frozenset(("position", "last"))


def _tree(expression: str) -> Expression:
    tree = parse(expression)
    if tree is None:
        raise NotMovable(f"'{expression}' is not XPath 1.0")
    return tree


# A message in a document


def looks_up(expression: str) -> bool:
    """Whether a valid expression may read something outside the element it starts from."""
    tree = parse(expression)
    return tree is None or any(
        (isinstance(each, XPathStep) and each.axis in _UP)
        or (isinstance(each, XPathCall) and each.name in _OF_ALL_AROUND)
        for each in walk(tree)
    )


@cache
def at_part(expression: str) -> str:
    """A valid expression with its absolute paths begun at the variable :data:`ROOT`.

    Raises:
        NotMovable: an absolute path begins with a step that only a document node has.
    """

    def begun(node: XPathNode) -> str | None:
        match node:
            case Path(absolute=True, steps=()):
                return f"{_VARIABLE} "
            case Path(absolute=True, steps=(first, *further)):
                tests = "".join(f"[{anew(each)}]" for each in first.predicates)
                return _first(first, tests) + "".join(map(anew, further))
        return None

    def anew(node: XPathNode) -> str:
        return written(expression, node, begun)

    return anew(_tree(expression))


def _first(step: XPathStep, predicates: str) -> str:
    """The first step of an absolute path, from the root element instead of the document node."""
    axis, test, slash = step.axis, step.test, "//" if step.deep else "/"
    of_document = axis == "self" or (axis == "descendant-or-self" and test == "node()")
    if of_document or step.written == ".." or (step.deep and axis in _DOWN):
        raise NotMovable(
            f"'{slash}{step.written}' begins at a document node, which a part of a document lacks: "
            "expected /NAME"
        )
    if not step.deep:
        if axis == "child":
            return f"{_VARIABLE}[self::{test}]{predicates}"
        if axis in _DOWN:
            return f"{_VARIABLE}/descendant-or-self::{test}{predicates}"
        # The document node has nothing around it, and no attributes.
        return f"{_VARIABLE}[false()]"
    if axis != "child":
        return f"{_VARIABLE}/descendant-or-self::node()/{axis}::{test}{predicates}"
    if not predicates:
        return f"{_VARIABLE}/descendant-or-self::{test}"
    # A position counts among the children of one node: the root element is the first of its own.
    below = f"{_VARIABLE}/descendant-or-self::node()/child::{test}{predicates}"
    return f"({_VARIABLE}[self::{test}]{predicates} | {below})"


# RML


def absolute(path: str) -> str:
    """A path relative to the document node: RML's iterators may omit the first slash."""
    return moved(path, "/", {}) if path != "/" else "/*"


def from_document(expression: str) -> str:
    """An expression relative to the document node; lxml starts at the root element."""
    return moved(expression, "/", {})


def steps_down(path: str) -> tuple[str | None, str, int]:
    """The variable that a path starts at, the path from there, and how many elements it leads down.

    Raises:
        NotMovable: the path has steps other than plain steps from parent to child.
    """
    match parse(path):
        case Path(origin=(None | XPathVariable()) as start, absolute=False, steps=steps) if all(
            step.axis == "child" and not step.deep and not step.test.endswith(")") for step in steps
        ):
            variable = None if start is None else start.name
            return variable, path[steps[0].start :].removeprefix("/"), len(steps)
    raise NotMovable(f"'{path}' is not a path of plain child steps")


def moved(expression: str, prefix: str, variables: Mapping[str, str]) -> str:
    """An expression with ``prefix`` before each relative path and paths in place of variables.

    Raises:
        NotMovable: a variable stands in a predicate, or the expression asks for the position of
            its context node.
    """

    tree = _tree(expression)
    filters = (each for each in walk(tree) if isinstance(each, XPathStep | XPathFilter))
    tests = {test for each in filters for test in each.predicates}
    inside = {each for test in tests for each in walk(test)}
    for each in walk(tree):
        if isinstance(each, XPathVariable) and each in inside:
            raise NotMovable(f"${each.name} stands in a predicate of '{expression}'")
        if isinstance(each, XPathCall) and each.name in _OF_THE_CONTEXT and each not in inside:
            raise NotMovable(f"{each.name}() of '{expression}' asks where its context stands")

    def change(node: XPathNode) -> str | None:
        match node:
            case _ if node in tests:
                return expression[node.start : node.end]
            case XPathVariable(name=name):
                return variables[name]
            case Path(origin=XPathVariable(name=name), steps=(first, *_)):
                rest = expression[first.start : node.end]
                # A path from the context node itself needs no dot.
                at_context = variables[name] == "." and not first.deep
                return rest.removeprefix("/") if at_context else variables[name] + rest
            case Path(origin=None, absolute=False):
                return prefix + expression[node.start : node.end]
        return None

    return written(expression, tree, change)


# Reports


@cache
def subpaths(text: str) -> tuple[str, ...]:
    """The location paths of a valid expression, each written from the same context node.

    ``a[@b = c]/d`` has ``a/@b``, ``a/c`` and ``a[@b = c]/d``. A path behind brackets or a
    function, such as ``(a | b)/c``, is left out: only the paths in the brackets count.
    """
    tree = parse(text)
    return () if tree is None else tuple(dict.fromkeys(_paths_in(text, tree, "")))


def _paths_in(text: str, node: XPathNode, start: str) -> Iterator[str]:
    match node:
        case Path(origin=(None | XPathVariable())) | XPathFilter(of=XPathVariable()) if (
            text[node.start] != "("
        ):
            filters = node.steps if isinstance(node, Path) else (node,)
            for test in (test for each in filters for test in each.predicates):
                before = text[node.start : test.start].rstrip().removesuffix("[")
                yield from _paths_in(text, test, _joined(start, before))
            yield _joined(start, text[node.start : node.end])
        case Path(origin=origin):
            assert origin is not None
            yield from _paths_in(text, origin, start)
        case XPathFilter(of=of):
            yield from _paths_in(text, of, start)
        case XPathVariable():
            yield text[node.start : node.end]
        case _:
            for part in parts_of(node):
                yield from _paths_in(text, part, start)


def _joined(start: str, path: str) -> str:
    return path if not start or path.startswith(("/", "$")) else f"{start}/{path}"
