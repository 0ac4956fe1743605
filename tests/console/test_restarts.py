"""Pages that stay open while the server goes away and comes back."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from selenium import webdriver

from sensorstream import Client
from tests.console.browsing import open_page, send_face, shown
from tests.console.conftest import Keyed
from tests.integration.serving import init, serving

Eventually = Callable[[Callable[[], object]], None]
NAME = "urn:x:kept"
QUERY = f"""PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <{NAME}> AS SELECT RSTREAM ?p {{ ?p a :Human }}"""


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return int(found.getsockname()[1])


def stopped(browser: webdriver.Chrome) -> bool:
    """Whether the page says that it has no connection."""
    return bool(
        browser.execute_script(
            "return document.getElementById('popup')?.getAttribute('aria-hidden') === 'false'"
        )
    )


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_open_pages_go_on_by_themselves_after_a_restart(
    tmp_path: Path, browser: webdriver.Chrome, eventually: Eventually, by: signal.Signals
) -> None:
    folder, port = tmp_path / "tracking", free_port()
    init(folder)
    first = browser.current_window_handle
    keyed = Keyed(f"http://127.0.0.1:{port}", "")
    with serving(folder, port) as (process, _), Client(keyed.url) as client:
        client.register(QUERY)
        send_face(client, 1)
        open_page(browser, keyed, "/")
        eventually(lambda: "taken in\n1\n" in shown(browser))
        browser.switch_to.new_window("tab")
        second = browser.current_window_handle
        open_page(browser, keyed, f"/query?name={NAME}")
        eventually(lambda: "human-1" in shown(browser) and "Last report at" in shown(browser))
        process.send_signal(by)
        process.wait(60)
    try:
        eventually(lambda: stopped(browser))
        with serving(folder, port), Client(keyed.url) as client:
            eventually(lambda: "State\nrunning" in shown(browser) and not stopped(browser))
            send_face(client, 22)
            eventually(lambda: "human-22" in shown(browser) and "Last report" in shown(browser))
            browser.switch_to.window(first)
            eventually(lambda: "journal" in shown(browser).lower() and not stopped(browser))
            send_face(client, 33)
            held = client.window()["total"]
            eventually(lambda: f"individuals\n{held}\n" in shown(browser))
    finally:
        browser.switch_to.window(second)
        browser.close()
        browser.switch_to.window(first)
        browser.get("about:blank")
        browser.get_log("browser")  # type: ignore[no-untyped-call]
