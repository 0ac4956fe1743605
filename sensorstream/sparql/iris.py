"""Relative IRIs (RFC 3986, section 5.2)."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?\Z",
    re.S,
)


def resolve(base: str, reference: str) -> str:
    """The IRI that ``reference`` means in a document whose IRI is ``base``.

    An absolute reference is returned as it is written, dots in its path included.
    """
    to = _parts(reference)
    if to["scheme"] is not None:
        return reference
    of = _parts(base)
    scheme, fragment = of["scheme"], to["fragment"]
    if to["authority"] is not None:
        return _written(scheme, to["authority"], _without_dots(to["path"]), to["query"], fragment)
    authority, path, query = of["authority"], of["path"] or "", to["query"]
    if not to["path"]:
        return _written(scheme, authority, path, of["query"] if query is None else query, fragment)
    if to["path"].startswith("/"):
        merged = to["path"]
    elif authority is not None and not path:
        merged = f"/{to['path']}"
    else:
        merged = path[: path.rfind("/") + 1] + to["path"]
    return _written(scheme, authority, _without_dots(merged), query, fragment)


def _parts(iri: str) -> dict[str, str | None]:
    match = _PARTS.match(iri)
    assert match is not None, "the pattern matches every text"
    return match.groupdict()


def _without_dots(path: str | None) -> str:
    """Remove dot segments from a path (RFC 3986, section 5.2.4)."""
    kept: list[str] = []
    segments = (path or "").split("/")
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
            if last:
                kept.append("")
        elif segment == ".":
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/".join(kept)


def _written(
    scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None
) -> str:
    return "".join(
        (
            "" if scheme is None else f"{scheme}:",
            "" if authority is None else f"//{authority}",
            path,
            "" if query is None else f"?{query}",
            "" if fragment is None else f"#{fragment}",
        )
    )
