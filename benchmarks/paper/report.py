"""The results as Markdown: tables beside the paper's, and whether the goals are reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Final

from benchmarks.paper.results import Results, Row
from benchmarks.paper.sections import (
    CLEARING,
    LISTING,
    MAPPINGS,
    NAIVE,
    ONTOLOGY,
    PAPER,
    REBUILT,
    SLEEPING,
    STATEMENTS,
    WATCHING,
)
from benchmarks.scenario import PHASES, PROFILES, SLIDING, TABLE_1

FLAT: Final = 1.5
"""How much dearer the largest window may be than the smallest."""
PLAIN_MILLISECONDS: Final = 0.2
DL_MILLISECONDS: Final = 1.0
REMEMBERED_MILLISECONDS: Final = 0.3
PLAIN_TIMES: Final = 300
DL_TIMES: Final = 100

_WINDOWS: Final = {SLIDING: "sliding", CLEARING: "tumbling, when emptied"}
_NAMES: Final = {
    PAPER: "the paper's way",
    REBUILT: "the paper's way, model rebuilt",
    LISTING: "the paper's way, inferred statements listed",
}
_VARIATIONS: Final = {
    ONTOLOGY: "classes in the ontology",
    STATEMENTS: "statements per individual",
    SLEEPING: "semantic rules that no message wakes",
    WATCHING: "semantic rules whose condition is tested at every message",
    MAPPINGS: "mapping rules for other trackers",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a profile was measured by, how it did, its goal, and whether that is reached."""

    what: str
    profile: str
    measured: str
    goal: str
    reached: bool


def markdown(results: Results) -> str:
    """All tables and the verdicts."""
    parts = [
        fill(" ".join(f"{name}: {value}." for name, value in results.machine.items()), 100),
        *_part("Goals", _verdict_lines(results)),
        *_part("Table 1 of the paper, and here", _table_1(results)),
        *_part("Phases, sliding windows", _phases(results)),
        *_part("The paper's way, and the naive one", _peers(results)),
        *_part("What else may grow", _varied(results)),
    ]
    return "\n\n".join(part for part in parts if part)


def verdicts(results: Results) -> Iterator[Verdict]:
    """The goals that the results are enough to judge."""
    sizes = sorted({row.size for row in results.rows(SLIDING)})
    if not sizes:
        return
    large, small = sizes[-1], sizes[0]
    for profile in PROFILES:
        row = results.row(SLIDING, profile, large)
        if row is None:
            continue
        limit = PLAIN_MILLISECONDS if profile == "plain" else DL_MILLISECONDS
        yield Verdict(
            "ms a message",
            profile,
            _number(row.median),
            f"at most {limit:g}",
            row.median <= limit,
        )
        if row.hit is not None:
            yield Verdict(
                "ms of a message whose answer is remembered",
                profile,
                f"{_number(row.hit)}, {row.remembered} of {row.messages} messages",
                f"at most {REMEMBERED_MILLISECONDS:g}",
                row.hit <= REMEMBERED_MILLISECONDS,
            )
        first = results.row(SLIDING, profile, small)
        if first is not None and large != small:
            ratio = row.median / first.median
            yield Verdict(
                f"times the cost of {small} individuals",
                profile,
                f"{ratio:.2f}",
                f"at most {FLAT:g}",
                ratio <= FLAT,
            )
        peer = results.row(SLIDING, PAPER, large)
        if peer is not None:
            times = PLAIN_TIMES if profile == "plain" else DL_TIMES
            ratio = peer.median / row.median
            yield Verdict(
                "times faster than the paper's way",
                profile,
                f"{_ratio(ratio)}{_by_cpu(peer, row)}",
                f"{times}",
                ratio >= times,
            )


def _verdict_lines(results: Results) -> list[str]:
    found = list(verdicts(results))
    if not found:
        return []
    profiles = list(dict.fromkeys(each.profile for each in found))
    rows = {each.what: dict.fromkeys(profiles, "") for each in found}
    for each in found:
        goal = f"goal: {each.goal}{'' if each.reached else ', **not reached**'}"
        rows[each.what][each.profile] = f"{each.measured} ({goal})"
    size = max(row.size for row in results.rows(SLIDING))
    cells = [[what, *told.values()] for what, told in rows.items()]
    return _table([f"{size} individuals", *profiles], cells)


def _table_1(results: Results) -> list[str]:
    rows = []
    for section, title in reversed(_WINDOWS.items()):
        for size in sorted({row.size for row in results.rows(SLIDING)}):
            published = TABLE_1.get(size)
            paper = "" if published is None else _published(section, size)
            peer = results.row(section, PAPER, size)
            cells = [title, str(size), paper, _milliseconds(peer)]
            for profile in PROFILES:
                ours = results.row(section, profile, size)
                cells += [_milliseconds(ours), _times(peer, ours)]
            rows.append(cells)
    profiles = [cell for profile in PROFILES for cell in (profile, "faster")]
    return _table(["window", "individuals", "paper 2010", "its way here", *profiles], rows)


def _published(section: str, size: int) -> str:
    row = TABLE_1[size]
    return f"{row.tumbling if section == CLEARING else row.sliding:g}"


def _phases(results: Results) -> list[str]:
    rows = []
    for profile in PROFILES:
        found = [row for row in results.rows(SLIDING) if row.system == profile]
        rows += [
            [
                profile,
                str(row.size),
                *(_number(row.phases[phase]) for phase in PHASES),
                _number(row.median),
                _number(row.p99),
                _number(row.cpu),
                *_remembered(row),
            ]
            for row in sorted(found, key=lambda row: row.size)
        ]
    titles = [*PHASES, "median", "p99", "CPU", "remembered", "asked"]
    return _table(["profile", "size", *titles], rows)


def _remembered(row: Row) -> list[str]:
    if not row.remembered:
        return ["", ""]
    return [
        f"{_number(row.hit)} ({row.remembered})",
        f"{_number(row.miss)} ({row.messages - row.remembered})",
    ]


def _peers(results: Results) -> list[str]:
    found = [
        (_NAMES[row.system], window, row)
        for section, window in _WINDOWS.items()
        for system in _NAMES
        for row in results.rows(section)
        if row.system == system
    ]
    found += [(row.system, "sliding", row) for row in results.rows(NAIVE)]
    rows = [
        [
            system,
            window,
            str(row.size),
            str(row.messages),
            _number(row.median),
            _number(row.cpu),
        ]
        for system, window, row in found
    ]
    return _table(["system", "window", "size", "measured", "median", "CPU"], rows)


def _varied(results: Results) -> list[str]:
    rows = []
    for section, title in _VARIATIONS.items():
        for profile in PROFILES:
            found = [row for row in results.rows(section) if row.system == profile]
            found.sort(key=lambda row: row.size)
            if found:
                sizes = ", ".join(str(row.size) for row in found)
                medians = ", ".join(_number(row.median) for row in found)
                rows.append([title, sizes, profile, medians])
    return _table(["what grows", "sizes", "profile", "median at each"], rows)


def _part(title: str, lines: list[str]) -> list[str]:
    return [f"### {title}", "\n".join(lines)] if lines else []


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    return [
        "| " + " | ".join(titles) + " |",
        "|" + "---|" * len(titles),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def _by_cpu(slow: Row, fast: Row) -> str:
    """The ratio again, in CPU time: on a busy machine the long steps are those that wait."""
    if not slow.cpu or not fast.cpu:
        return ""
    return f", {_ratio(slow.cpu / fast.cpu)} by CPU time"


def _milliseconds(row: Row | None) -> str:
    return "" if row is None else _number(row.median)


def _times(slow: Row | None, fast: Row | None) -> str:
    return "" if slow is None or fast is None else _ratio(slow.median / fast.median)


def _ratio(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _number(value: float | None) -> str:
    """Milliseconds in three figures or so."""
    if value is None:
        return ""
    for least, form in ((100.0, ".0f"), (10.0, ".1f"), (0.1, ".2f")):
        if value >= least:
            return f"{value:{form}}"
    return f"{value:.3f}"
