"""The results as Markdown: tables beside the paper's, and whether the goals are reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.results import Results, Row
from benchmarks.scenario import FILLING, PHASES, PROFILES, SLIDING, TABLE_1, UNBOUNDED
from benchmarks.sections import (
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

FLAT: Final = 1.5
"""How much dearer the largest window may be than the smallest."""
PLAIN_MILLISECONDS: Final = 0.2
DL_MILLISECONDS: Final = 1.0
REMEMBERED_MILLISECONDS: Final = 0.3
PLAIN_TIMES: Final = 300
DL_TIMES: Final = 100

_WINDOWS: Final = {
    SLIDING: "sliding",
    FILLING: "filling",
    UNBOUNDED: "none",
}
_NAMES: Final = {
    PAPER: "the paper's way",
    REBUILT: "the paper's way, model rebuilt",
    LISTING: "the paper's way, inferred statements listed",
}
_VARIATIONS: Final = {
    ONTOLOGY: ("Classes in the ontology", "classes"),
    STATEMENTS: ("Statements per individual", "statements"),
    SLEEPING: ("Semantic rules that no message wakes (plain)", "rules"),
    WATCHING: ("Semantic rules whose condition is tested at every message (plain)", "rules"),
    MAPPINGS: ("Mapping rules for other trackers (plain)", "rules"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, what was measured, and whether that reaches it."""

    goal: str
    measured: str
    reached: bool


def markdown(results: Results) -> str:
    """All tables and the verdicts."""
    parts = [
        " ".join(f"{name}: {value}." for name, value in results.machine.items()),
        *_part("Goals", _verdict_lines(results)),
        *_part("Table 1 of the paper, and here", _table_1(results)),
        *_part("Phases, sliding windows", _phases(results)),
        *_part("The paper's way", _peers(results)),
        *_part("The naive way", _naive(results)),
        *(
            part
            for section, (title, unit) in _VARIATIONS.items()
            for part in _part(title, _varied(results, section, unit))
        ),
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
            f"{profile}, {large} individuals: at most {limit:g} ms a message",
            f"{_number(row.median)} ms",
            row.median <= limit,
        )
        if row.hit is not None:
            yield Verdict(
                f"{profile}, {large} individuals, answer remembered: at most "
                f"{REMEMBERED_MILLISECONDS:g} ms",
                f"{_number(row.hit)} ms ({row.remembered} of {row.messages} messages)",
                row.hit <= REMEMBERED_MILLISECONDS,
            )
        first = results.row(SLIDING, profile, small)
        if first is not None and large != small:
            ratio = row.median / first.median
            yield Verdict(
                f"{profile}: {large} individuals within {FLAT:g} times the cost of {small}",
                f"{ratio:.2f} times",
                ratio <= FLAT,
            )
        peer = results.row(SLIDING, PAPER, large)
        if peer is not None:
            times = PLAIN_TIMES if profile == "plain" else DL_TIMES
            ratio = peer.median / row.median
            yield Verdict(
                f"{profile}, {large} individuals: {times} times faster than the paper's way",
                f"{_ratio(ratio)} times{_by_cpu(peer, row)}",
                ratio >= times,
            )


def _verdict_lines(results: Results) -> list[str]:
    found = list(verdicts(results))
    if not found:
        return []
    rows = [[v.goal, v.measured, "reached" if v.reached else "**not reached**"] for v in found]
    return _table(["goal", "measured", ""], rows)


def _table_1(results: Results) -> list[str]:
    rows = []
    for section, title in ((CLEARING, "tumbling, when emptied"), (SLIDING, "sliding")):
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
    rows = [
        [
            _NAMES[row.system],
            "tumbling, when emptied" if section == CLEARING else _WINDOWS[section],
            str(row.size),
            str(row.messages),
            *(_number(row.phases[phase]) for phase in PHASES),
            _number(row.median),
            _number(row.cpu),
            str(row.checked or ""),
        ]
        for section in (*_WINDOWS, CLEARING)
        for system in _NAMES
        for row in results.rows(section)
        if row.system == system
    ]
    titles = ["measured", *PHASES, "median", "CPU", "types compared"]
    return _table(["system", "window", "size", *titles], rows)


def _naive(results: Results) -> list[str]:
    rows = [
        [
            row.system,
            str(row.size),
            str(row.messages),
            _number(row.median),
            _number(row.cpu),
            _times(row, results.row(SLIDING, row.system.rpartition("_")[2], row.size)),
            str(row.checked),
        ]
        for row in results.rows(NAIVE)
    ]
    titles = ["size", "measured", "median", "CPU", "ours is faster", "types compared"]
    return _table(["call", *titles], rows)


def _varied(results: Results, section: str, unit: str) -> list[str]:
    found = results.rows(section)
    systems = [name for name in PROFILES if any(row.system == name for row in found)]
    rows = []
    for size in sorted({row.size for row in found}):
        cells = [str(size)]
        for system in systems:
            row = results.row(section, system, size)
            cells += ["", ""] if row is None else [_number(row.median), _number(row.cpu)]
        rows.append(cells)
    titles = [f"{system} {title}" for system in systems for title in ("median", "CPU")]
    return _table([unit, *titles], rows)


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
    return f" ({_ratio(slow.cpu / fast.cpu)} by CPU time)"


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
