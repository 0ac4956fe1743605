"""An engine's state as bytes, and back: compressed JSON behind a checksum, no code in it.

The bytes are a mark of four letters, a checksum of sixteen bytes over all that follows, and the
JSON, compressed. Its ``version`` says what the fields mean; how they are written is said by
:mod:`sensorstream.engine.codec`. States of older versions are brought to the present one step by
step (:mod:`sensorstream.engine.upgrades`).
"""

from __future__ import annotations

import json
import zlib
from hashlib import blake2b
from itertools import chain
from typing import Any, Final

from sensorstream.engine.codec import decode, texts
from sensorstream.engine.engine import EngineState
from sensorstream.engine.upgrades import UPGRADES
from sensorstream.errors import DamagedCheckpoint

_MARK: Final = b"SSCP"
_CHECKSUM: Final = 16
_VERSION: Final = len(UPGRADES) + 1


def dump(state: EngineState) -> bytes:
    """The state as bytes; O(window), in pieces: what is compressed is never there as a whole."""
    # Level 1: half the size of JSON, for a tenth of the time of the default.
    compressed = zlib.compressobj(level=1)
    told = chain((f'{{"version":{_VERSION},"state":',), texts(state, EngineState), "}")
    content = b"".join(compressed.compress(piece.encode()) for piece in told) + compressed.flush()
    return _MARK + _checksum(content) + content


def load(content: bytes) -> EngineState:
    """The state that :func:`dump` wrote, in this version or an older one.

    Raises:
        DamagedCheckpoint: the bytes are not whole, or were written by a newer version.
    """
    data = _read(content)
    version = data.get("version") if isinstance(data, dict) else None
    if not isinstance(version, int) or version < 1:
        raise DamagedCheckpoint("the checkpoint does not say its version")
    if version > _VERSION:
        raise DamagedCheckpoint(
            f"the checkpoint has version {version}, expected at most {_VERSION}: it was written "
            "by a newer SensorStream"
        )
    try:
        for upgrade in UPGRADES[version - 1 :]:
            data = upgrade(data)
        return decode(data["state"], EngineState)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedCheckpoint(
            f"the checkpoint of version {version} cannot be read: {error!r}"
        ) from error


def text_of(content: bytes) -> str:
    """All that :func:`dump` wrote, as one text to search for names in.

    Raises:
        DamagedCheckpoint: the bytes are not whole.
    """
    return json.dumps(_read(content), ensure_ascii=False)


def _read(content: bytes) -> Any:
    # Before version 3 there was no mark; zlib has a checksum of its own.
    if content.startswith(_MARK):
        rest = content[len(_MARK) :]
        checksum, content = rest[:_CHECKSUM], rest[_CHECKSUM:]
        if checksum != _checksum(content):
            raise DamagedCheckpoint("the checkpoint is damaged: its checksum does not fit")
    try:
        return json.loads(zlib.decompress(content))
    except (zlib.error, ValueError) as error:
        raise DamagedCheckpoint(f"the checkpoint is damaged: {error}") from error


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECKSUM).digest()
