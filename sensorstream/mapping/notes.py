"""Notes on mapping rules: no faults, but worth knowing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.analysis import Note
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.location_path import lookup_of


def mapping_notes(files: Iterable[RuleFile]) -> Iterator[Note]:
    """The rules whose paths cannot be looked up whole: they cost more with every message."""
    for file in files:
        for rule in file.mapping_rules:
            lookup = lookup_of(rule.message.text, file.namespace_map)
            if lookup.exact:
                continue
            tried = "on the messages that have the rest of it" if lookup.paths else "on every one"
            yield Note(
                "not-indexed",
                f"rule {rule.name}: its path cannot be looked up whole, because of "
                f"'{lookup.left_out}': it is tried {tried}",
                rule.message.position,
            )
