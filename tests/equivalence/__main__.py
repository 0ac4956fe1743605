"""Tell what a checkout answers, and what two checkouts answer differently.

``python -m tests.equivalence --out FILE [--only SECTION …] [--one-in N] [--verbose FOLDER]``
writes a file with one line for each item, ``section/item<TAB>digest`` or ``refusal:CODE``, sorted.
``python -m tests.equivalence compare A B`` prints what differs between two such files, and exits
with 1 if something does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.equivalence.canonical import digest
from tests.equivalence.items import Item, Tools, outcome_of, tools

SECTIONS: Final[Mapping[str, str]] = {
    "openapi": "surface.openapi",
    "commands": "surface.commands",
    "settings": "surface.settings",
    "errors": "surface.codes",
    "stories": "deployments.stories",
    "examples": "deployments.examples",
    "mapping": "deployments.mapping",
    "checkpoints": "checkpoints.checkpoints",
    "rule-sets": "reasoning.rule_sets",
    "entailment": "reasoning.entailment",
    "sparql-texts": "corpora.of_texts",
    "w3c-texts": "w3c.texts",
    "w3c": "w3c.answers",
    "sparql-now": "corpora.of_process",
    "sparql-history": "corpora.of_history",
    "sql": "sql.of_tables",
    "sql-spark": "sql.of_spark",
    "sparql-spark": "corpora.of_spark",
    "w3c-spark": "w3c.of_spark",
}
"""The functions that give the items of each section; the cheap ones first."""


def items_of(section: str, ready: Tools) -> Iterator[Item]:
    """The items of a section; one that fails if they cannot be made."""
    module, _, function = SECTIONS[section].partition(".")
    try:
        found = import_module(f"tests.equivalence.{module}")
        yield from getattr(found, function)(ready)
    except Exception as error:
        yield Item("whole", partial(_fail, error))


def _fail(error: Exception) -> str:
    raise error


def write(out: Path, only: Sequence[str], verbose: Path | None, one_in: int = 1) -> None:
    """Write the digests of some sections, and beside them what they are digests of.

    Of ``one_in`` items only one is looked at; always the same ones.
    """
    lines: list[str] = []
    with tools() as ready:
        for section in only:
            began = time.process_time()
            names: Counter[str] = Counter()
            counts: Counter[str] = Counter()
            for item in items_of(section, ready):
                name = item.name.replace("\n", " ").replace("\t", " ")
                names[name] += 1
                if names[name] > 1:
                    name = f"{name} #{names[name]}"
                if int(digest(name), 16) % one_in:
                    continue
                found = outcome_of(item)
                counts[found.told.partition(":")[0] if ":" in found.told else "answers"] += 1
                lines.append(f"{section}/{name}\t{found.told}\n")
                if verbose is not None:
                    file = verbose / section / f"{name.replace('/', '·')[:200]}.txt"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(found.shown, "utf-8", "backslashreplace")
            told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
            print(f"{section}: {told}; {time.process_time() - began:.0f} s CPU here", flush=True)
            out.write_text("".join(sorted(lines)), "utf-8")


def read(file: Path) -> dict[str, str]:
    """The lines of a file: items with their digests."""
    rows = (line.split("\t", 1) for line in file.read_text("utf-8").splitlines())
    return dict(rows)


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """What the second of two files has otherwise, or not, or more, section by section."""
    found = []
    for name in sorted({*one, *other}):
        before, after = one.get(name, "absent"), other.get(name, "absent")
        if before != after:
            found.append(f"{name}: {before} -> {after}")
    return found


def compare(one: Path, other: Path) -> int:
    """Print the differences of two files; 1 if there are any."""
    before, after = read(one), read(other)
    found = differences(before, after)
    every = Counter(name.partition("/")[0] for name in {*before, *after})
    changed = Counter(line.partition("/")[0] for line in found)
    print("\n".join([*found, *(f"{name}: {changed[name]} of {every[name]}" for name in every)]))
    return 1 if found else 0


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    if arguments[:1] == ["compare"]:
        _, one, other = map(Path, arguments)
        return compare(one, other)
    parser = argparse.ArgumentParser(prog="python -m tests.equivalence", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--verbose", type=Path)
    parser.add_argument("--one-in", type=int, default=1, metavar="N")
    given = parser.parse_args(arguments)
    write(given.out, given.only, given.verbose, given.one_in)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
