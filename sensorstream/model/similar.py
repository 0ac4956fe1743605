"""Names for people: shortened by prefixes, and what somebody may have meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

from sensorstream.model.schema import local_name
from sensorstream.model.terms import IRI


def shortened(iri: str, prefixes: Mapping[str, str]) -> str:
    """An IRI with the longest prefix that fits, else in angle brackets."""
    fitting = [
        (len(start), name)
        for name, start in prefixes.items()
        if iri.startswith(start) and iri != start
    ]
    if not fitting:
        return f"<{iri}>"
    length, name = max(fitting)
    return f"{name}:{iri[length:]}"


def similar(name: IRI, known: Iterable[IRI], written: Callable[[str], str]) -> str | None:
    """The known name that is written most like another one, as ``written`` writes it."""
    names = {written(each): each for each in sorted(known)}
    close = get_close_matches(written(name), names, n=1) or [
        each for each, full in names.items() if local_name(full) == local_name(name)
    ]
    return close[0] if close else None
