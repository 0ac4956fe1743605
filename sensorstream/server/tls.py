"""TLS: the certificate of the server, read again when its files change."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Final

from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.errors import SettingsError
from sensorstream.settings.settings import HttpSettings

_LOG = logging.getLogger(__name__)
_LOOK_AGAIN: Final = 5.0
"""Seconds between two looks at the files."""


class Certificate(RepeatedWork):
    """The certificate chain and its private key; use as a context manager. Renewed files take
    effect within seconds, for new connections. While they do not fit together (a renewal writes one
    after the other), or cannot be read, the old ones stay.
    """

    def __init__(self, chain: Path, key: Path, look_again: float = _LOOK_AGAIN) -> None:
        """Read the files.

        Raises:
            SettingsError: they cannot be read, do not fit together, or the key has a password.
        """
        self._files = (chain, key)
        self._seen = self._state()
        self.context = self._read()
        fault = "internal error while the certificate was read again"
        super().__init__("certificate", self._look, look_again, (fault, fault))

    @classmethod
    def of(cls, settings: HttpSettings) -> Certificate | None:
        """The certificate of the settings; None: they name none."""
        if settings.certificate is None:
            if settings.private_key is not None:
                raise SettingsError("http.private_key is set, but http.certificate is not")
            return None
        return cls(settings.certificate, settings.private_key or settings.certificate)

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        chain, key = self._files
        try:
            # With a password, because OpenSSL would ask the terminal for that of a locked key.
            context.load_cert_chain(chain, key, password="")
        except (OSError, ValueError) as error:  # an ssl.SSLError is an OSError
            raise SettingsError(
                f"cannot serve HTTPS with the certificate {chain} and the private key {key}: "
                f"{error}; expected PEM files that belong together, the key without a password"
            ) from None

    def _look(self) -> None:
        now = self._state()
        if now == self._seen:
            return
        self._seen = now
        try:
            # First into another one: half of a new pair must not replace the old one.
            self._read()
            self._load(self.context)
        except SettingsError as error:
            _LOG.error("the renewed certificate is not used: %s", error)
        else:
            _LOG.warning("the renewed certificate %s is in use", self._files[0])

    def _state(self) -> list[tuple[int, int, int]]:
        """The numbers that change when a file is written or replaced."""
        found = []
        for file in self._files:
            try:
                told = file.stat()
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((told.st_mtime_ns, told.st_ino, told.st_size))
        return found
