from __future__ import annotations

import logging
import socket
import ssl
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sensorstream.errors import SettingsError
from sensorstream.server.tls import Certificate
from sensorstream.settings.settings import HttpSettings
from tests.server.certificates import write_certificate
from tests.waiting import eventually


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    write_certificate(chain, key, "first")
    return chain, key


def name_shown(certificate: Certificate, trusted: Path) -> str:
    """The common name that a client is shown which trusts a certificate; "" if another is shown."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with suppress(OSError), certificate.context.wrap_socket(theirs, server_side=True) as tls:
            tls.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    client = ssl.create_default_context(cafile=trusted)
    try:
        with closing(client.wrap_socket(ours, server_hostname="localhost")) as tls:
            told = tls.getpeercert()
            tls.send(b"x")
    except ssl.SSLError:
        return ""
    finally:
        ours.close()
        thread.join()
        theirs.close()
    assert told is not None
    subject = told["subject"]
    return str(subject[0][0][1])


def test_renewed_files_take_effect(files: tuple[Path, Path]) -> None:
    with Certificate(*files, look_again=0.01) as certificate:
        assert name_shown(certificate, files[0]) == "first"
        write_certificate(*files, "second")
        eventually(lambda: name_shown(certificate, files[0]) == "second")


def test_files_that_do_not_fit_leave_the_old_ones_in_use(
    files: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    old = files[0].with_name("old.pem")
    old.write_bytes(files[0].read_bytes())
    with caplog.at_level(logging.ERROR), Certificate(*files, look_again=0.01) as certificate:
        files[1].write_text("not a key")
        eventually(lambda: "the renewed certificate is not used" in caplog.text)
        assert name_shown(certificate, old) == "first"
        caplog.clear()
        files[0].unlink()
        eventually(lambda: "the renewed certificate is not used" in caplog.text)
        assert name_shown(certificate, old) == "first"
        write_certificate(*files, "third")
        eventually(lambda: name_shown(certificate, files[0]) == "third")


def test_old_versions_of_tls_are_refused(files: tuple[Path, Path]) -> None:
    assert Certificate(*files).context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_what_cannot_be_used_is_told(files: tuple[Path, Path], tmp_path: Path) -> None:
    chain, key = files
    with pytest.raises(SettingsError, match=r"cannot serve HTTPS with .*none\.pem"):
        Certificate.of(HttpSettings(certificate=tmp_path / "none.pem"))
    with pytest.raises(SettingsError, match=r"private_key is set, but http\.certificate is not"):
        Certificate.of(HttpSettings(private_key=key))
    assert Certificate.of(HttpSettings()) is None
    locked = tmp_path / "locked.pem"
    write_certificate(chain, locked, "locked", password=b"secret")
    with pytest.raises(SettingsError, match="the key without a password"):
        Certificate(chain, locked)
    with pytest.raises(SettingsError, match="belong together"):
        Certificate(chain, key)


def test_one_file_may_hold_both(files: tuple[Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(files[0].read_bytes() + files[1].read_bytes())
    assert Certificate.of(HttpSettings(certificate=both)) is not None
