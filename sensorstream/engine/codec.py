"""Values of frozen dataclasses as plain data for JSON, and back, by their type hints.

A dataclass becomes an object with a member for each field; a collection of dataclasses names
the fields once and gives the values as rows. So data outlive changes of the classes: a field that
is missing in the data gets its default, one that the class no longer has is passed over. What
changes the *meaning* of a field needs a new version of the whole
(:mod:`sensorstream.engine.checkpoint`).

==============================  ====================================================
type                            data
==============================  ====================================================
``int float str bool None``     itself
RDF term                        its N-Triples text
``Fraction``                    text, such as ``1/3``
``bytes``                       base64
``Enum``                        its value
dataclass                       ``{field: data}``
union of dataclasses            ``{class name: {field: data}}``
``X | None``                    null or the data of ``X``
``tuple[X, Y]``                 ``[x, y]``
collection of ``X``             ``[x, …]``
collection of a dataclass       ``{"fields": [name, …], "rows": [[data, …], …]}``
``Mapping[str, X]``             ``{key: x}``
other ``Mapping[K, X]``         ``[collection of K, collection of X]``
==============================  ====================================================

A type that is not in this table is refused (``TypeError``), whatever the value is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import islice
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sensorstream.errors import TermError
from sensorstream.model.terms import IRI, BlankNode, Literal, term

Convert: TypeAlias = Callable[[Any], Any]
Value = TypeVar("Value")

_AT_ONCE: Final = 1_000
"""Rows that are made to text together."""
_KEPT: Final = 16_384
"""Terms whose texts are remembered."""
_PLAIN: Final = frozenset({int, float, str, bool, NoneType})
_TERMS: Final = frozenset({IRI, BlankNode, Literal})
_BUILD: Final[Mapping[Any, Convert]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    Sequence: tuple,
    Collection: tuple,
    Set: frozenset,
}


def encode(value: Value, kind: type[Value]) -> Any:
    """Plain data for ``json``; O(size of the value).

    Raises:
        TypeError: a field has a type that is not in the table.
    """
    return _CODECS.of(kind).encode(value)


def texts(value: Value, kind: type[Value]) -> Iterator[str]:
    """The JSON of :func:`encode`'s data, in pieces: it is never held as a whole.

    Raises:
        TypeError: a field has a type that is not in the table.
    """
    return _pieces(_CODECS.of(kind), value)


def decode(data: Any, kind: type[Value]) -> Value:
    """The value that :func:`encode` was given, from data that ``json`` has read.

    Raises:
        TypeError: a field has a type that is not in the table.
        ValueError: the data do not fit the type.
    """
    codec = _CODECS.of(kind)
    try:
        value: Value = codec.decode(data)
    except (AttributeError, LookupError, TypeError, TermError) as error:
        raise ValueError(f"the data are not those of {kind.__name__}: {error!r}") from error
    return value


class _Codec(NamedTuple):
    encode: Convert
    decode: Convert
    columns: Convert | None = None
    """For a dataclass: from the names of stored columns to what makes a value of a row."""
    row: Convert | None = None
    """For a dataclass: from a value to its row, in the order of the fields."""
    names: Sequence[str] = ()
    pieces: Callable[[Any], Iterator[str]] | None = None
    """The JSON of a value in pieces; None: it is one piece."""


def _same(value: Any) -> Any:
    return value


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


def _pieces(codec: _Codec, value: Any) -> Iterator[str]:
    if codec.pieces is None:
        yield _json(codec.encode(value))
    else:
        yield from codec.pieces(value)


def _rows(convert: Convert, items: Iterable[Any]) -> Iterator[str]:
    """The JSON of a list, some items at a time."""
    left, lead = iter(items), "["
    while rows := list(map(convert, islice(left, _AT_ONCE))):
        yield lead + _json(rows)[1:-1]
        lead = ","
    yield "[]" if lead == "[" else "]"


_SAME: Final = _Codec(_same, _same)


class _Codecs:
    """The table above: each type is looked up once."""

    def __init__(self) -> None:
        self._known: dict[Any, _Codec] = {}
        # N-Triples: most terms repeat, and equal terms become one object.
        self._term = _Codec(lru_cache(_KEPT)(attrgetter("n3")), lru_cache(_KEPT)(term))

    def of(self, hint: Any) -> _Codec:
        found = self._known.get(hint)
        if found is None:
            found = self._known[hint] = self._make(hint)
        return found

    def _make(self, hint: Any) -> _Codec:
        origin, args = get_origin(hint) or hint, get_args(hint)
        if hint in _PLAIN:
            return _SAME
        if hint in _TERMS:
            return self._term
        if hint is Fraction:
            return _Codec(str, Fraction)
        if hint is bytes:
            return _Codec(lambda value: base64.b64encode(value).decode(), base64.b64decode)
        if origin in (Union, UnionType):
            return self._union(args)
        if is_dataclass(origin):
            return self._record(hint)
        if isinstance(origin, type) and issubclass(origin, Enum):
            return _Codec(attrgetter("value"), origin)
        if origin is tuple and args and args[-1] is not Ellipsis:
            return self._product(args)
        if origin in _BUILD and args:
            return self._collection(_BUILD[origin], args[0])
        if origin in (dict, Mapping) and args:
            return self._mapping(*args)
        raise TypeError(f"no data are known for the type {hint}")

    def _union(self, args: tuple[Any, ...]) -> _Codec:
        members = [each for each in args if each is not NoneType]
        if all(each in _PLAIN for each in members):
            return _SAME
        if all(each in _TERMS for each in members):
            found = self._term
        elif len(members) == 1:
            found = self.of(members[0])
        elif all(is_dataclass(each) for each in members):
            found = self._tagged({each.__name__: each for each in members})
        else:
            raise TypeError(f"no data are known for the union of {args}")
        if len(members) == len(args):
            return found
        encode, decode = found.encode, found.decode
        return _Codec(
            lambda value: None if value is None else encode(value),
            lambda data: None if data is None else decode(data),
            pieces=lambda value: _pieces(_SAME if value is None else found, value),
        )

    def _tagged(self, kinds: Mapping[str, Any]) -> _Codec:
        codecs = {name: self.of(kind) for name, kind in kinds.items()}

        def encode(value: Any) -> Any:
            name = type(value).__name__
            return {name: codecs[name].encode(value)}

        def decode(data: Any) -> Any:
            ((name, content),) = data.items()
            return codecs[name].decode(content)

        return _Codec(encode, decode)

    def _record(self, kind: Any) -> _Codec:
        made = get_origin(kind) or kind
        hints = _field_types(kind)
        names = tuple(hints)
        codecs = {name: self.of(hint) for name, hint in hints.items()}
        values: Callable[[Any], tuple[Any, ...]] = (
            attrgetter(*names)
            if len(names) > 1
            else lambda value: tuple(getattr(value, name) for name in names)
        )
        writers = _places(names, {name: each.encode for name, each in codecs.items()})

        def converted(value: Any) -> Sequence[Any]:
            cells = list(values(value))
            for place, convert in writers:
                cells[place] = convert(cells[place])
            return cells

        row = converted if writers else values

        @lru_cache(64)
        def columns(stored: tuple[str, ...]) -> Convert:
            readers = _places(stored, {name: each.decode for name, each in codecs.items()})

            def read(cells: list[Any]) -> Any:
                for place, convert in readers:
                    cells[place] = convert(cells[place])
                if stored == names:
                    return made(*cells)
                pairs = zip(stored, cells, strict=True)
                return made(**{name: cell for name, cell in pairs if name in codecs})

            return read

        def pieces(value: Any) -> Iterator[str]:
            lead = "{"
            for name, cell in zip(names, values(value), strict=True):
                yield f'{lead}"{name}":'
                yield from _pieces(codecs[name], cell)
                lead = ","
            yield "{}" if lead == "{" else "}"

        return _Codec(
            lambda value: dict(zip(names, row(value), strict=True)),
            lambda data: columns(tuple(data))(list(data.values())),
            columns,
            row,
            names,
            pieces,
        )

    def _product(self, kinds: tuple[Any, ...]) -> _Codec:
        if all(self.of(kind) is self._term for kind in kinds):
            text, found = self._term.encode, self._term.decode
            return _Codec(lambda row: list(map(text, row)), lambda row: tuple(map(found, row)))
        writers = [self.of(kind).encode for kind in kinds]
        readers = [self.of(kind).decode for kind in kinds]
        return _Codec(
            lambda row: [convert(cell) for convert, cell in zip(writers, row, strict=True)],
            lambda row: tuple(convert(cell) for convert, cell in zip(readers, row, strict=True)),
        )

    def _collection(self, build: Convert, kind: Any) -> _Codec:
        codec = self.of(kind)
        # A set is written in one order, so that equal states have equal data.
        order = partial(sorted, key=repr) if build in (set, frozenset) else _same
        if codec.row is None or codec.columns is None:
            encode, decode = codec.encode, codec.decode
            return _Codec(
                lambda items: order(list(map(encode, items))),
                lambda data: build(map(decode, data)),
                pieces=partial(_rows, encode) if order is _same else None,
            )
        row, columns, names = codec.row, codec.columns, codec.names

        def pieces(items: Any) -> Iterator[str]:
            yield f'{{"fields":{_json(names)},"rows":'
            yield from _rows(row, items)
            yield "}"

        return _Codec(
            lambda items: {"fields": names, "rows": order(list(map(row, items)))},
            lambda data: build(map(columns(tuple(data["fields"])), data["rows"])),
            pieces=pieces if order is _same else None,
        )

    def _mapping(self, key: Any, value: Any) -> _Codec:
        if key is str:
            codec = self.of(value)
            encode, decode = codec.encode, codec.decode
            return _Codec(
                lambda items: {name: encode(each) for name, each in items.items()},
                lambda data: {name: decode(each) for name, each in data.items()},
            )
        keys, values = self._collection(list, key), self._collection(list, value)

        def pieces(items: Any) -> Iterator[str]:
            yield "["
            yield from _pieces(keys, items)
            yield ","
            yield from _pieces(values, items.values())
            yield "]"

        return _Codec(
            lambda items: [keys.encode(items), values.encode(items.values())],
            lambda data: dict(zip(keys.decode(data[0]), values.decode(data[1]), strict=True)),
            pieces=pieces,
        )


_CODECS: Final = _Codecs()


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields by name, type arguments put in."""
    made = get_origin(kind) or kind
    given = dict(zip(getattr(made, "__parameters__", ()), get_args(kind), strict=True))
    hints = get_type_hints(made)
    return {each.name: _filled(hints[each.name], given) for each in fields(made)}


def _filled(hint: Any, given: Mapping[Any, Any]) -> Any:
    if hint in given:
        return given[hint]
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(given[each] for each in parameters)] if parameters else hint


def _places(names: Sequence[str], converts: Mapping[str, Convert]) -> list[tuple[int, Convert]]:
    """The places of the columns that need a conversion, and their conversions."""
    found = ((place, converts.get(name, _same)) for place, name in enumerate(names))
    return [(place, convert) for place, convert in found if convert is not _same]
