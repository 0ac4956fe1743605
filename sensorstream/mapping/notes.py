"""Notes on mapping rules: no faults, but worth knowing."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from sensorstream.analysis import Note
from sensorstream.language.printer import print_hole
from sensorstream.language.syntax import MappingRule, RuleFile
from sensorstream.mapping.location_path import lookup_of
from sensorstream.mapping.rule_cost import largest, steep_of


def mapping_notes(files: Iterable[RuleFile], own: Container[str] = ()) -> Iterator[Note]:
    """The rules whose paths cannot be looked up whole, and those not linear in the message.

    The former cost more with every message. ``own`` are the user's own functions.
    """
    for file in files:
        for rule in file.mapping_rules:
            yield from _steep(rule, own, in_parts=bool(file.parts))
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


def _steep(rule: MappingRule, own: Container[str], *, in_parts: bool) -> Iterator[Note]:
    steep = steep_of(rule, own, in_parts=in_parts)
    if not steep:
        return
    worst = max(steep, key=lambda each: each.degree)
    yield Note(
        "not-linear",
        f"rule {rule.name}: {print_hole(worst.hole)} takes up to n^{worst.degree} steps for n "
        f"nodes: messages of more than {largest(each.degree for each in steep)} nodes are mapped "
        "in a process of their own, which takes some milliseconds more, and may take "
        "limits.mapping_seconds",
        worst.hole.position,
    )
