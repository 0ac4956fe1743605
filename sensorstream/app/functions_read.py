"""Whether the user's own functions are those that the engine called before.

Rules call them, so the same message may give something else after an edit. Their code is not in
the journal: code that comes from there is never run. But the journal says which files they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from sensorstream.app.file_texts import below
from sensorstream.app.versions import digest_of
from sensorstream.journal.notice import ReadFunctions
from sensorstream.journal.store import Store
from sensorstream.settings import Settings


def changed_functions(settings: Settings, store: Store) -> ReadFunctions | None:
    """The entry of a start that reads other files of functions than the last one; None: the same.

    Raises:
        HistoryError: the journal cannot be read.
    """
    now = {}
    for path in settings.functions.files:
        # One that cannot be read is as if it were gone.
        with suppress(OSError):
            now[below(settings.folder, path)] = digest_of(path.read_bytes())
    last = store.last_accepted(ReadFunctions.kind, store.last_seq())
    before = {} if last is None else ReadFunctions.decode(last.content, last.source).digests
    if now == before:
        return None
    if last is None:
        return ReadFunctions(now, "")
    told = ", ".join(_differences(before, now))
    return ReadFunctions(
        now,
        f"files of functions are others than at the start before: {told}. Messages from here on "
        "are mapped with them, and so are those that are processed again",
    )


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {'edited' if name in now and name in before else 'new' if name in now else 'gone'}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
