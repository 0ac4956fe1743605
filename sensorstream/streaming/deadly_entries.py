"""The entries that end the process of their engine, which are skipped the third time.

Two files in the folder of the sockets outlive a host: the entry in work, and the numbers of the
entries to skip. What was skipped is in Spark's state and in the journal when its batch is stored.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sensorstream.app.life.in_work import TOO_OFTEN, InWork


@dataclass(frozen=True, slots=True)
class DeadlyEntries:
    """The numbers of the entries to skip, and a note of the entry in work."""

    numbers: frozenset[int] = frozenset()
    in_work: InWork = field(default_factory=InWork)

    @classmethod
    def count(cls, folder: Path, partition: int) -> DeadlyEntries:
        """Count the death of the host before this one, if an entry was in work.

        Raises:
            HistoryError: the file of the entry in work cannot be written.
        """
        in_work = InWork(folder / f"{partition}.in-work")
        death = in_work.open()
        if death is not None and death.times >= TOO_OFTEN:
            with _file(folder, partition).open("a") as file:
                file.write(f"{death.culprit}\n")
            in_work.forget()
        numbers: list[str] = []
        with suppress(FileNotFoundError):
            numbers = _file(folder, partition).read_text().split()
        return cls(frozenset(map(int, numbers)), in_work)


def skipped_bytes(folder: Path, partition: int) -> int:
    """The size of the list of entries to skip: it grows with each of them."""
    with suppress(FileNotFoundError):
        return _file(folder, partition).stat().st_size
    return 0


def _file(folder: Path, partition: int) -> Path:
    return folder / f"{partition}.deadly"
