"""An attempt to send an event to a webhook by HTTP, with one deadline for all of it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from ipaddress import ip_address
from threading import Event, Thread
from typing import Final, NamedTuple, TypeAlias

import h11

from sensorstream.alerts.sender import DeliveryFailure
from sensorstream.alerts.targets import Address, Resolver, WebhookPlace, check_addresses, read_url
from sensorstream.clock import Clock
from sensorstream.errors import WebhookError
from sensorstream.model.frozen import frozen
from sensorstream.settings.settings import Network

_AT_ONCE: Final = 256
"""Attempts at a time; further ones wait in order of arrival."""
_OF_ONE_HOST: Final = 16
"""Attempts at a time to one host; its webhooks take turns."""
_ANSWER: Final = 1024
"""Bytes of an answer that are read and kept for the log, within a second."""
_HEAD: Final = 100 * 1024
"""Bytes that the head of an answer may have."""
_ANSWER_SECONDS: Final = 1.0
_HEADERS: Final = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "SensorStream"}
_LONGEST_WAIT: Final = timedelta(hours=1)
"""The longest Retry-After that is honoured."""
_GONE, _TOO_MANY, _UNAVAILABLE = 410, 429, 503


@frozen
class Attempt:
    """The result of an attempt, begun at ``at`` (aware); no ``failure``: the receiver has it.

    ``status`` is that of HTTP, if there was an answer; ``answer`` the start of its body.
    """

    at: datetime
    seconds: float
    failure: DeliveryFailure | None = None
    status: int | None = None
    answer: str = ""


class _Slots:
    """Limits of the attempts to each host at a time."""

    def __init__(self) -> None:
        self._hosts: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self._all = asyncio.Semaphore(_AT_ONCE)

    @asynccontextmanager
    async def of(self, host: str) -> AsyncIterator[None]:
        """Hold a slot; the host's own first, so that a waiter for a host holds nothing else."""
        slots, users = self._hosts.get(host) or (asyncio.Semaphore(_OF_ONE_HOST), 0)
        self._hosts[host] = (slots, users + 1)
        try:
            async with slots, self._all:
                yield
        finally:
            slots, users = self._hosts.pop(host)
            if users > 1:
                self._hosts[host] = (slots, users - 1)


class Poster:
    """Sends to webhooks, from within one event loop.

    ``timeout`` is the number of seconds for a whole attempt, from the look-up of the name to the
    head of the answer, without the wait for a slot. ``allowed`` are networks that may be reached
    though they are not public. Once ``stopping`` is set no attempt begins: a waiter for a slot gets
    CancelledError.
    """

    def __init__(
        self,
        timeout: float,
        allowed: Sequence[Network],
        clock: Clock,
        resolver: Resolver,
        stopping: Event,
    ) -> None:
        self._stopping = stopping
        self._timeout = timeout
        self._allowed = allowed
        self._clock = clock
        self._lookups = Lookups(resolver)
        self._slots = _Slots()

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        import httpx

        made = httpx.create_ssl_context(trust_env=False)
        made.set_alpn_protocols(["http/1.1"])
        return made

    def connections(self) -> WebhookConnections:
        """Connections to one webhook: another's may not be used, though the address is the same."""
        return WebhookConnections(self._certificates)

    async def check(self, url: str) -> None:
        """Check that a webhook may have this URL now; raises WebhookError if not, or if its host
        was not found in time.
        """
        place = read_url(url)
        try:
            async with asyncio.timeout(self._timeout):
                await self._find(place)
        except TimeoutError:
            raise WebhookError(
                f"the webhook's host '{place.host}' was not found within {self._timeout:g} seconds"
            ) from None

    async def post(
        self,
        connections: WebhookConnections,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> Attempt:
        """Send a body; whatever the receiver does is told in the attempt."""
        try:
            place = read_url(url)
        except WebhookError as error:
            return Attempt(self._clock.now(), 0.0, DeliveryFailure(error.message))
        async with self._slots.of(place.host):
            if self._stopping.is_set():
                raise asyncio.CancelledError
            at, begun = self._clock.now(), self._clock.counter()
            exchange = _Exchange(connections, place, body, headers)
            try:
                async with asyncio.timeout(self._timeout):
                    addresses = await self._find(place)
                    await exchange.run(addresses, self._timeout / len(addresses))
            except TimeoutError:
                reason = f"{exchange.doing} took more than {self._timeout:g} seconds in all"
                failure: DeliveryFailure | None = DeliveryFailure(reason)
            except WebhookError as error:
                failure = DeliveryFailure(error.message)
            except (OSError, h11.ProtocolError) as error:
                failure = DeliveryFailure(f"{type(error).__name__}: {error}")
            else:
                failure = None
            if exchange.status is not None:  # then it has answered, whatever became of the rest
                failure = _judge(exchange.status, exchange.retry_after, at)
            seconds = self._clock.counter() - begun
            text = bytes(exchange.answer).decode(errors="replace")
            return Attempt(at, seconds, failure, exchange.status, text)

    async def _find(self, place: WebhookPlace) -> Sequence[Address]:
        try:
            found = await self._lookups.find(place.host, place.port)
        except (OSError, UnicodeError) as error:
            told = f"the webhook's host '{place.host}' cannot be resolved: {error}"
            raise WebhookError(told) from None
        return check_addresses(place, found, self._allowed)


class ConnectError(OSError):
    """A receiver cannot be connected to."""


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    talk: h11.Connection


class WebhookConnections:
    """Connections to one webhook, one to each of its addresses, for one request at a time.

    An HTTP client would cost more than the exchange: it keeps cookies and follows redirects, and a
    redirect or a proxy could avoid the check of the target.
    """

    def __init__(self, certificates: ssl.SSLContext) -> None:
        self._certificates = certificates
        self._idle: dict[Address, _Connection] = {}

    async def __aenter__(self) -> WebhookConnections:
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._idle.values():
            each.writer.close()

    async def take(
        self, place: WebhookPlace, address: Address, tell: Callable[[str], None]
    ) -> _Connection:
        """A connection that nobody else has; ``tell`` is told what is done for it. Raises
        ConnectError if there is none to be had.
        """
        held = self._idle.pop(address, None)
        if held is not None:
            if not held.reader.at_eof() and not held.writer.is_closing():
                return held
            held.writer.close()
        tell("connecting")
        try:
            reader, writer = await asyncio.open_connection(str(address), place.port)
            try:
                if place.secure:
                    tell("the TLS handshake")
                    await writer.start_tls(self._certificates, server_hostname=place.host)
            except BaseException:
                writer.transport.abort()
                raise
        except OSError as error:
            raise ConnectError(str(error)) from None
        return _Connection(reader, writer, h11.Connection(h11.CLIENT, _HEAD))

    def give_back(self, address: Address, connection: _Connection) -> None:
        """Keep a connection for the next request, if this one is over."""
        talk = connection.talk
        if talk.our_state is talk.their_state is h11.DONE:
            talk.start_next_cycle()
            self._idle[address] = connection
        else:
            connection.writer.transport.abort()


class _Exchange:
    """A request and as much of its answer as has come."""

    def __init__(
        self,
        connections: WebhookConnections,
        place: WebhookPlace,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        self._connections = connections
        self._place = place
        self._body = body
        self._headers = {"Host": place.authority, **_HEADERS, **headers}
        self.doing = "looking up the name"
        self.status: int | None = None
        self.retry_after = ""
        self.answer = bytearray()

    async def run(self, addresses: Sequence[Address], each: float) -> None:
        """Send to the first address that can be connected to; ``each`` has so many seconds."""
        *others, last = addresses
        for address in others:
            with suppress(ConnectError, TimeoutError):
                async with asyncio.timeout(each):
                    connection = await self._connections.take(self._place, address, self._tell)
                break
        else:
            address = last
            connection = await self._connections.take(self._place, address, self._tell)
        try:
            await self._send(connection)
        finally:
            self._connections.give_back(address, connection)

    def _tell(self, doing: str) -> None:
        self.doing = doing

    async def _send(self, connection: _Connection) -> None:
        self.doing = "sending"
        target, length = self._place.target, str(len(self._body))
        headers = [*self._headers.items(), ("Content-Length", length)]
        head = connection.talk.send(h11.Request(method="POST", target=target, headers=headers))
        body = connection.talk.send(h11.Data(self._body))
        connection.talk.send(h11.EndOfMessage())
        connection.writer.write((head or b"") + (body or b""))
        with suppress(ConnectionError):  # it may have answered before
            await connection.writer.drain()
        self.doing = "waiting for the answer"
        while not isinstance(event := await _next(connection), h11.Response):
            pass
        self.retry_after = dict(event.headers).get(b"retry-after", b"").decode("latin-1")
        self.status = event.status_code
        with suppress(OSError, h11.ProtocolError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                while isinstance(event := await _next(connection), h11.Data):
                    self.answer += event.data[: _ANSWER - len(self.answer)]
                    if len(self.answer) >= _ANSWER:
                        break


async def _next(connection: _Connection) -> h11.Event:
    """The next event from the receiver."""
    talk = connection.talk
    while (event := talk.next_event()) is h11.NEED_DATA:
        data = await connection.reader.read(_HEAD)
        if not data and talk.their_state is h11.SEND_RESPONSE:
            raise h11.RemoteProtocolError("the receiver closed the connection without an answer")
        talk.receive_data(data)
    if isinstance(event, type):
        raise h11.RemoteProtocolError("the receiver wants to speak another protocol")
    return event


def _judge(status: int, retry_after: str, now: datetime) -> DeliveryFailure | None:
    """The failure that an answer means for its delivery, if any."""
    if 200 <= status < 300:
        return None
    if status in (_TOO_MANY, _UNAVAILABLE):
        wait = _wait(retry_after, now)
        return DeliveryFailure(f"answered {status}", away=True, wait=wait)
    told = " (redirects are not followed)" if 300 <= status < 400 else ""
    return DeliveryFailure(f"answered {status}{told}", final=status == _GONE)


def _wait(retry_after: str, now: datetime) -> timedelta | None:
    """The wait of a Retry-After (RFC 9110, section 10.2.3), bounded; None: it says none."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=min(int(text[:9]), 10**6)), _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta()), _LONGEST_WAIT)


_Key: TypeAlias = tuple[str, int]


class Lookups:
    """Look-ups for one event loop. A host has one thread at a time, however many ask for it.

    So there are never more threads than hosts of webhooks, and a slow host keeps no other waiting.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._running: dict[_Key, asyncio.Future[Sequence[str]]] = {}

    async def find(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host; may be given up at any time. Raises OSError or UnicodeError if
        it has none, or is no name.
        """
        with suppress(ValueError):
            return [str(ip_address(host))]
        key = (host, port)
        found = self._running.get(key)
        if found is None:
            loop = asyncio.get_running_loop()
            found = self._running[key] = loop.create_future()
            Thread(target=self._look, args=(loop, key), name="lookup", daemon=True).start()
        return await asyncio.shield(found)

    def _look(self, loop: asyncio.AbstractEventLoop, key: _Key) -> None:
        found: Sequence[str] | Exception
        try:
            found = self._resolver(*key)
        except Exception as error:
            found = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._done, key, found)

    def _done(self, key: _Key, found: Sequence[str] | Exception) -> None:
        future = self._running.pop(key)
        if isinstance(found, Exception):
            future.set_exception(found)
            future.exception()  # seen, also if all who waited have given up
        else:
            future.set_result(found)
