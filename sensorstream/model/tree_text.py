"""Trees as texts, by a table with a form for each kind of node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

_MAYBE: Final = re.compile(r"\[([^]]*)\]")
_FIELD: Final = re.compile(r"\{(\w+)(?:!(\w))?(?::([^}]*))?\}")


class _Field(NamedTuple):
    name: str
    way: str
    between: str


_Pieces: TypeAlias = "tuple[str | _Field | _Pieces, ...]"
Way: TypeAlias = Callable[[Any], str]


class TreeText:
    """A writer of nodes by their forms.

    In a form ``{field}`` is the text of a field; text after a colon separates several.
    ``{field!q}`` is written in another way, named by the letter. ``[…]`` is left out if a field in
    it is None, False or empty; a field that is True writes only the words around it.
    """

    def __init__(self, forms: Mapping[type, str], ways: Mapping[str, Way]) -> None:
        """Take the forms, and the ways to write a field; the plain one is ``""``."""
        self._forms = {kind: tuple(_pieces(form)) for kind, form in forms.items()}
        self._ways = ways

    def of(self, node: object) -> str:
        """The text of a node."""
        return self._filled(self._forms[type(node)], node)

    def _filled(self, pieces: _Pieces, node: object) -> str:
        told: list[str] = []
        for each in pieces:
            if isinstance(each, str):
                told.append(each)
            elif isinstance(each, _Field):
                value = getattr(node, each.name)
                several = value if isinstance(value, tuple) else (value,)
                if value is not True:
                    told.append(each.between.join(map(self._ways[each.way], several)))
            elif all(_is_given(getattr(node, f.name)) for f in each if isinstance(f, _Field)):
                told.append(self._filled(each, node))
        return "".join(told)


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ()


def _pieces(form: str) -> Iterator[str | _Field | _Pieces]:
    for place, part in enumerate(_MAYBE.split(form)):
        if place % 2:
            yield tuple(_fields(part))
        else:
            yield from _fields(part)


def _fields(form: str) -> Iterator[str | _Field]:
    start = 0
    for match in _FIELD.finditer(form):
        yield form[start : match.start()]
        yield _Field(match[1], match[2] or "", match[3] or "")
        start = match.end()
    yield form[start:]
