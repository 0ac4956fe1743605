"""The entries that end the process of an engine, which that engine skips the third time.

Two files in the folder of the sockets outlive a host: the entry in work, and the entries to skip,
each with the number of its engine. What was skipped is in Spark's state and in the journal when its
batch is stored.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from sensorstream.app.life.in_work import TOO_OFTEN, InWork
from sensorstream.model.frozen import field, frozen


@frozen
class DeadlyEntries:
    """The entries to skip, each with the number of its engine, and a note of the entry in work."""

    found: frozenset[tuple[int, int]] = frozenset()
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
                file.write(f"{death.culprit} {death.engine}\n")
            in_work.forget()
        lines: list[str] = []
        with suppress(FileNotFoundError):
            lines = _file(folder, partition).read_text().splitlines()
        pairs = (line.split() for line in lines)
        return cls(frozenset((int(seq), int(engine)) for seq, engine in pairs), in_work)

    def begin(self, key: str) -> frozenset[int]:
        """The numbers of the entries that the engine of a key skips; it works from now on."""
        self.in_work.engine = engine = engine_number(key)
        return frozenset(seq for seq, of in self.found if of == engine)


def engine_number(key: str) -> int:
    """A number for the engine of a key."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big", signed=True)


def skipped_bytes(folder: Path, partition: int) -> int:
    """The size of the list of entries to skip: it grows with each of them."""
    with suppress(FileNotFoundError):
        return _file(folder, partition).stat().st_size
    return 0


def _file(folder: Path, partition: int) -> Path:
    return folder / f"{partition}.deadly"
