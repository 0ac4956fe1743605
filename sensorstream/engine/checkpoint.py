"""An engine's state as bytes, and back: compressed JSON behind a checksum, no code in it.

The bytes are a mark of four letters, a checksum of sixteen bytes over all that follows, and the
JSON, compressed. Its ``version`` says what the fields mean; :mod:`sensorstream.engine.codec` says
how they are written.
"""

from __future__ import annotations

import json
import zlib
from hashlib import blake2b
from itertools import chain
from typing import Any, Final

from sensorstream.engine.codec import decode, texts
from sensorstream.engine.engine import EngineState
from sensorstream.errors import DamagedCheckpoint

_MARK: Final = b"SSCP"
_CHECKSUM: Final = 16
_VERSION: Final = 1


def dump(state: EngineState) -> bytes:
    """Encode the state; O(window), in pieces: the uncompressed text is never held as a whole."""
    # Level 1: half the size of JSON, for a tenth of the time of the default.
    compressed = zlib.compressobj(level=1)
    told = chain((f'{{"version":{_VERSION},"state":',), texts(state, EngineState), "}")
    content = b"".join(compressed.compress(piece.encode()) for piece in told) + compressed.flush()
    return _MARK + _checksum(content) + content


def load(content: bytes) -> EngineState:
    """Decode the state that :func:`dump` wrote.

    Raises:
        DamagedCheckpoint: the bytes are not whole, or were written by another version.
    """
    data = _read(content)
    version = data.get("version") if isinstance(data, dict) else None
    if version != _VERSION:
        raise DamagedCheckpoint(
            f"the checkpoint has version {version}, expected {_VERSION}: it was written by "
            "another SensorStream"
        )
    try:
        return decode(data["state"], EngineState)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedCheckpoint(f"the checkpoint cannot be read: {error!r}") from error


def text_of(content: bytes) -> str:
    """The content that :func:`dump` wrote, as one text to search for names in.

    Raises:
        DamagedCheckpoint: the bytes are not whole.
    """
    return json.dumps(_read(content), ensure_ascii=False)


def _read(content: bytes) -> Any:
    start = len(_MARK) + _CHECKSUM
    checked, content = content[:start], content[start:]
    if checked != _MARK + _checksum(content):
        raise DamagedCheckpoint("the checkpoint is damaged: its checksum does not fit")
    try:
        return json.loads(zlib.decompress(content))
    except (zlib.error, ValueError) as error:
        raise DamagedCheckpoint(f"the checkpoint is damaged: {error}") from error


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECKSUM).digest()
