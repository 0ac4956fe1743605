"""A server whose start lasts: it is alive, not ready, and says what it does."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import psycopg2
import pytest

from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.serve_command import bind
from sensorstream.server.listening import StartingServer
from sensorstream.settings.settings import LimitSettings
from sensorstream.settings.settings_file import load_settings
from tests.waiting import eventually


def get(url: str, path: str) -> httpx.Response | None:
    try:
        return httpx.get(f"{url}{path}", trust_env=False, timeout=300)
    except httpx.TransportError:
        return None


@pytest.mark.usefixtures("own_interpreters")
def test_a_start_that_lasts_is_answered_for(
    new_workspace: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = new_workspace()
    with ServerProcess(config) as process:
        process.url()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    database = load_settings(config).history.url
    with closing(psycopg2.connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute("lock table store.pipeline in access exclusive mode")
        with ServerProcess(config, port=int(url.rpartition(":")[2])) as process:
            eventually(lambda: get(url, "/healthz"))
            alive, ready = get(url, "/healthz"), get(url, "/readyz")
            assert alive is not None
            assert ready is not None
            assert (alive.status_code, alive.json()["status"]) == (200, "alive")
            assert (ready.status_code, ready.headers["Retry-After"]) == (503, "5")
            assert ready.json()["parts"]["start"]["detail"] == "opening the history"
            refused = httpx.post(f"{url}/messages", content=b"<a/>", trust_env=False)
            assert refused.status_code == 503
            connection.rollback()
            assert process.url() == url
            eventually(lambda: (ready := get(url, "/readyz")) and ready.status_code == 200)


def test_an_entry_that_takes_too_long_fails_the_health_of_the_start() -> None:
    with bind("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        told = {"ailment": lambda: "entry 7 for 99 s", "doing": lambda: "recovering 41 %"}
        with StartingServer(listener, LimitSettings(), None, after=0, **told):
            eventually(lambda: get(url, "/healthz"))
            sick, ready = get(url, "/healthz"), get(url, "/readyz")
            assert sick is not None
            assert ready is not None
            assert (sick.status_code, sick.json()["detail"]) == (503, "entry 7 for 99 s")
            assert ready.json()["detail"] == "the server starts: recovering 41 %"
        # The socket still listens: who comes now waits for the server.
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=300):
            pass


def test_a_quick_start_listens_with_the_server_alone() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        told = {"ailment": lambda: "", "doing": lambda: ""}
        with StartingServer(listener, LimitSettings(), None, after=600, **told):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=300)
