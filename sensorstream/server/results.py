"""SPARQL results in the format that the client prefers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from anyio.to_thread import run_sync
from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from sensorstream.cache.protocol import Answered, Formats
from sensorstream.errors import Overrun
from sensorstream.history.asking import formats
from sensorstream.history.asking.answer import Answer
from sensorstream.server.negotiation import choose

_IN_MEMORY: Final = 4 * 1024 * 1024
_MOST_KEPT: Final = 256 * 1024 * 1024
_PIECE: Final = 64 * 1024


class _Kept(SpooledTemporaryFile[bytes]):
    """A buffer for an answer, with a size limit."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _MOST_KEPT:
            raise Overrun(
                f"the answer is larger than {_MOST_KEPT} bytes: ask for less, or add LIMIT"
            )
        return super().write(data)


def answer_response(answer: Answer, accept: str) -> Response:
    """An answer, in a format of ``accept``; it is read to its end here.

    Raises:
        QueryError: the answer cannot be computed.
        Overrun: it is too large.
        HTTPException: 406, no format suits.
    """
    writers = formats.writers(answer)
    media_type = choose(accept, list(writers))
    if media_type is None:
        raise _not_acceptable(accept, writers)

    def write(out: IO[bytes]) -> str:
        writers[media_type](answer, out)
        return media_type

    return _kept(write)


def cache_response(ask: Callable[[Formats, IO[bytes]], Answered], accept: str) -> Response:
    """The answer of the cache, in a format of ``accept``; it is read to its end here.

    Raises:
        SensorStreamError: there is no answer, or it is too large.
        HTTPException: 406, no format suits.
    """
    wanted = Formats(
        *(
            choose(accept, list(each))
            for each in (formats.SOLUTIONS, formats.BOOLEANS, formats.GRAPHS)
        )
    )

    def write(out: IO[bytes]) -> str:
        answered = ask(wanted, out)
        if answered.media_type is None:
            raise _not_acceptable(accept, answered.offered)
        return answered.media_type

    return _kept(write)


def _kept(write: Callable[[IO[bytes]], str]) -> Response:
    """What is written, of the media type that comes back.

    It is kept in memory while it is small, else in a file without a name. So a fault at its end
    is still told, and a slow client keeps no question running.
    """
    kept = _Kept(max_size=_IN_MEMORY)
    try:
        media_type = write(kept)
        size = kept.tell()
        kept.seek(0)
    except BaseException:
        kept.close()
        raise
    vary = {"Vary": "Accept"}
    if size <= _IN_MEMORY:
        with kept:
            return Response(kept.read(), media_type=media_type, headers=vary)
    return StreamingResponse(_pieces(kept), media_type=media_type, headers=vary)


async def _pieces(kept: IO[bytes]) -> AsyncIterator[bytes]:
    # Asynchronous, so that it is closed when the client leaves half-way.
    with kept:
        while piece := await run_sync(kept.read, _PIECE):
            yield piece


def _not_acceptable(accept: str, offered: Iterable[str]) -> HTTPException:
    return HTTPException(406, f"'{accept}' matches none of {', '.join(offered)}")
