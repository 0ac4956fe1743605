"""The input ``tcp``: messages as lines or frames from connections.

Each message is answered by a line of JSON when it is in the journal and processed, in the order of
arrival. A sender that keeps a message until its answer has come loses none.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Coroutine
from typing import Final

from sensorstream.errors import AddressUnavailable, MessageTooLarge, Unavailable
from sensorstream.inputs.intake import Intake, Taken, origin_of
from sensorstream.settings.endpoints import TcpInput

_LOG = logging.getLogger(__name__)
_AHEAD: Final = 100
"""Messages of one connection that may wait for their answers."""
_LENGTH: Final = 4
"""Bytes of the length before a frame, the most significant first."""
_ENDS: Final = {"line": b"\n", "nul": b"\x00"}

_Answers = asyncio.Queue["asyncio.Future[Taken] | None"]


class TcpReader:
    """Listens on an address."""

    def __init__(self, name: str, source: str, options: TcpInput) -> None:
        """Bind the address; raises AddressUnavailable if it is taken, or not of this machine."""
        self._name = name
        self._source = source
        self._options = options
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((options.host, options.port))
        except OSError as error:
            self._listener.close()
            raise AddressUnavailable(
                f"inputs.{name}: cannot listen on {options.host} port {options.port}: {error}"
            ) from None
        self.port: int = self._listener.getsockname()[1]

    async def run(self, intake: Intake) -> None:
        """See :class:`.Reader`."""
        connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(
                self._serve(reader, writer, intake, len(connections) < self._options.connections)
            )
            connections.add(task)
            task.add_done_callback(connections.discard)

        listener = self._listener.dup()  # the server closes its own: this may run again
        server = await asyncio.start_server(accept, sock=listener, limit=intake.limit + 1)
        try:
            intake.connected()
            await intake.pause()
        finally:
            server.close()
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)
        self._listener.close()

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        intake: Intake,
        welcome: bool,
    ) -> None:
        """Serve a connection to its end."""
        try:
            if welcome:
                await self._converse(reader, writer, intake)
            else:
                told = f"there are {self._options.connections} connections already"
                self._refuse(writer, Unavailable.code, told)
        except (OSError, TimeoutError) as error:
            _LOG.info("input %s: a connection ended: %s", self._name, error)
        except Exception:
            _LOG.exception("internal error: input %s closes a connection", self._name)
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, intake: Intake
    ) -> None:
        waiting: _Answers = asyncio.Queue(_AHEAD)
        answering = asyncio.ensure_future(self._answer(waiting, writer))
        refusal = ("", "")
        try:
            while not answering.done():
                try:
                    content = await self._read(reader, intake.limit)
                except MessageTooLarge as error:
                    refusal = error.code, error.message
                    break
                except asyncio.IncompleteReadError:
                    break
                if content is None:
                    break
                if not content:
                    continue
                distinct = self._options.drop_repeats
                origin = origin_of("tcp", self._name, content) if distinct else ""
                taken = await intake.take(content, self._source, origin)
                await _first(waiting.put(taken), answering)
        except Unavailable as error:
            refusal = error.code, error.message
        finally:
            # Also when the input is stopped: taken messages are answered first.
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    await _first(waiting.put(None), answering)
                    await answering
            answering.cancel()
        if refusal[0]:
            self._refuse(writer, *refusal)

    async def _read(self, reader: asyncio.StreamReader, limit: int) -> bytes | None:
        """The next message; empty: nothing was between two ends; None: there are no more.

        Raises:
            MessageTooLarge: it holds more bytes than the limit.
            asyncio.IncompleteReadError: the connection ended inside a frame.
            TimeoutError: nothing came for too long.
        """
        async with asyncio.timeout(self._options.idle):
            if self._options.framing == "length":
                try:
                    head = await reader.readexactly(_LENGTH)
                except asyncio.IncompleteReadError as error:
                    if error.partial:
                        raise
                    return None
                size = int.from_bytes(head)
                if size > limit:
                    raise MessageTooLarge(f"the frame holds {size} bytes, the limit is {limit}")
                return await reader.readexactly(size)
            end = _ENDS[self._options.framing]
            try:
                content = (await reader.readuntil(end)).removesuffix(end)
            except asyncio.LimitOverrunError:
                raise MessageTooLarge(f"more than {limit} bytes without an end") from None
            except asyncio.IncompleteReadError as error:
                # The last one needs no end; if it was cut short it is no XML, and is quarantined.
                return error.partial.strip() or None
            return content.strip()

    async def _answer(self, waiting: _Answers, writer: asyncio.StreamWriter) -> None:
        """Answer messages in order; one of uncertain fate has no answer and ends the connection."""
        while (future := await waiting.get()) is not None:
            try:
                taken = await future
            except Exception as error:
                _LOG.warning("input %s: a message is not acknowledged: %s", self._name, error)
                writer.close()
                return
            if self._options.answers:
                writer.write(_line(_told(taken)))
                async with asyncio.timeout(self._options.idle):
                    await writer.drain()

    def _refuse(self, writer: asyncio.StreamWriter, code: str, told: str) -> None:
        _LOG.warning("input %s: closes a connection: %s: %s", self._name, code, told)
        if self._options.answers and not writer.is_closing():
            writer.write(_line({"status": "refused", "error": code, "detail": told}))


_FAREWELL: Final = 5.0
"""Seconds that a connection gets for its last answers."""


async def _first(doing: Coroutine[None, None, None], ended: asyncio.Future[None]) -> None:
    """Do something, unless a task has ended or ends meanwhile: then nobody would see it."""
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait({task, ended}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()


def _told(taken: Taken) -> dict[str, object]:
    told = {
        "status": taken.status,
        "message": taken.message,
        "error": taken.code,
        "detail": taken.fault,
        "replies": taken.replies,
    }
    return {name: value for name, value in told.items() if value}


def _line(told: dict[str, object]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n"
