"""Tables of the page docs/understand/conformance.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence


def counted(
    of: str, columns: Sequence[str], cases: Iterable[tuple[str, Iterable[str]]]
) -> Iterator[str]:
    """How many cases of each group have which label; the labels are the columns."""
    found: dict[str, Counter[str]] = {}
    for group, labels in cases:
        found.setdefault(group, Counter()).update(labels)
    names = of.count("|") + 1
    total = ("**all**" + " |" * (names - 1), sum(found.values(), Counter[str]()))
    yield f"| {of} | {' | '.join(columns)} |"
    yield f"|{'---|' * names}{'---:|' * len(columns)}"
    for group, count in (*sorted(found.items()), total):
        yield f"| {group} | {' | '.join(str(count[each]) for each in columns)} |"


def reasons(what: str, told: Mapping[str, str]) -> Iterator[str]:
    """Reasons, each with all that it is the reason of."""
    groups: dict[str, list[str]] = {}
    for name, reason in told.items():
        groups.setdefault(reason, []).append(re.sub("^sparql1[01]/", "", name))
    yield from (f"| {what} | reason |", "|---|---|")
    yield from (f"| {', '.join(names)} | {reason} |" for reason, names in groups.items())
